// Starts a program, and measures how long it takes to answer `GET /audio` with 200, and how much CPU. The
// program is the daemon, or the least program of its kind: uWebSockets.js with threads, which listens when
// each thread has sent a message.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ENTRY } from '../../test/contract/daemon.js';
import type { Environment } from '../../test/sound/program.js';
import { freePort } from '../../test/tools/free-port.js';
import { cpuMs } from './figures.js';

const DEADLINE_MS = 30_000;

const THREAD = `
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', () => undefined);
  parentPort.postMessage(0);`;
const BARE = `
  const { Worker } = require('node:worker_threads');
  const [, uws, port, threads] = process.argv;
  const app = require(uws).App().get('/*', (response) => response.end());
  let silent = Number(threads);
  for (let at = 0; at < Number(threads); at += 1)
    new Worker(${JSON.stringify(THREAD)}, { eval: true }).once('message', () => {
      silent -= 1;
      if (silent === 0) app.listen('127.0.0.1', Number(port), () => undefined);
    });`;

/**
 * The daemon has all four backends. Those that need a bus find none, and the first answer does not wait for
 * them.
 */
export interface Startable {
  readonly port: number;
  /** Arguments for Node that run the daemon on this port. */
  readonly daemonArguments: readonly string[];
  /** A folder that the daemon may keep compiled code in; it does not exist yet. */
  readonly codeCache: string;
  /** Arguments for Node that run the least program on this port, with at least one thread. */
  bareArguments(threads: number): readonly string[];
  remove(): void;
}

export async function prepareStart(): Promise<Startable> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-start-'));
  const config = join(directory, 'config.yaml');
  const upgrade = `upgrade: {enabled: true, resultFile: ${directory}/result.json}`;
  writeFileSync(config, `api: {port: ${port}}\nlogLevel: error\npower: {enabled: true}\n${upgrade}\n`);
  // The build puts packaging/native-uws.cjs in the place of this package. So the least program chooses among
  // the same binaries as the daemon.
  const uws = createRequire(import.meta.url).resolve('uWebSockets.js');
  return {
    port,
    daemonArguments: [ENTRY, '--allow-root', '--config', config],
    codeCache: join(directory, 'code'),
    bareArguments: (threads) => ['-e', BARE, '--', uws, String(port), String(threads)],
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export interface Started {
  readonly pid: number;
  /** From spawn to the answer. */
  readonly ms: number;
  /** CPU time of its threads until then. */
  readonly cpuMs: number;
  end(): Promise<void>;
}

/**
 * Resolves with true when `GET /audio` is answered with 200 now. Resolves with false if the connection fails,
 * or is closed without an answer.
 */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(DEADLINE_MS, () => socket.destroy());
    // Every failure closes the connection.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(false));
    socket.on('data', (head) => {
      resolve(head.toString('latin1').startsWith('HTTP/1.1 200 '));
      socket.destroy();
    });
    socket.write('GET /audio HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  });
}

/**
 * Starts a program, and sends a request every `pollMs` until it answers. Requests cost work, also while the
 * daemon listens but cannot answer yet. The program is killed at the latest when this process ends.
 * @throws {Error} if the program ends without an answer, or there is none within DEADLINE_MS
 */
export async function firstAnswer(
  [program = '', ...args]: readonly string[],
  env: Environment,
  port: number,
  pollMs: number,
): Promise<Started> {
  const begun = performance.now();
  const child = spawn(program, args, { env, stdio: 'ignore' });
  const exit = once(child, 'exit');
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const end = async (): Promise<void> => {
    kill();
    await exit;
    process.off('exit', kill);
  };
  while (!(await answers(port))) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const isLate = performance.now() - begun > DEADLINE_MS;
    if (hasEnded || isLate) {
      await end();
      throw new Error(hasEnded ? 'the program has ended without an answer' : 'no answer');
    }
    await pause(pollMs);
  }
  const pid = child.pid ?? 0;
  return { pid, ms: performance.now() - begun, cpuMs: cpuMs(pid), end };
}
