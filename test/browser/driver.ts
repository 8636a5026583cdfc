// Starts the driver of a browser: a program that takes the commands of WebDriver (W3C) over HTTP. The driver
// starts the browser.

import { join } from 'node:path';
import { type Environment, startProgram } from '../sound/program.js';
import { freePort } from '../tools/free-port.js';
import { send } from '../tools/http.js';
import { until } from '../until.js';
import { type Browser, CAPABILITIES, COMMANDS } from './webdriver.js';

/** A command may wait until a page has loaded. */
const COMMAND_DEADLINE_MS = 60_000;

interface DriverOptions {
  readonly program: string;
  readonly env: Environment;
  /** The folder of the driver's log. */
  readonly folder: string;
  /** Capabilities that only this browser has. */
  readonly capabilities: object;
}

export interface DrivenBrowser extends Browser {
  /** Sends a command that only this browser has, and resolves with the command's value. */
  readonly sendOwn: (path: string, parameters: object) => Promise<unknown>;
}

export async function openDrivenBrowser({
  program,
  env,
  folder,
  capabilities,
}: DriverOptions): Promise<DrivenBrowser> {
  const port = await freePort();
  const driver = startProgram(program, [`--port=${port}`], { env, log: join(folder, 'driver') });
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const content = body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const answer = await send(port, { method, path, deadlineMs: COMMAND_DEADLINE_MS, ...content });
    const { value } = JSON.parse(answer.text) as { value: unknown };
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(value)}`);
    return value;
  };
  await until('the driver answers', () => call('GET', '/status').catch(() => undefined));
  const { sessionId } = (await call('POST', '/session', {
    capabilities: { alwaysMatch: { ...CAPABILITIES, ...capabilities } },
  })) as { sessionId: string };
  const session = `/session/${sessionId}`;
  return {
    send: (command, parameters = {}) => {
      // The first element is the command's name in Firefox's own protocol.
      const [, method, path] = COMMANDS[command];
      return call(method, session + path, method === 'POST' ? parameters : undefined);
    },
    sendOwn: (path, parameters) => call('POST', session + path, parameters),
    close: async () => {
      await call('DELETE', session).catch(() => undefined);
      await driver.end();
    },
  };
}
