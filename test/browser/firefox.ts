// Starts a real Firefox for tests, without a screen and with a profile of its own. Firefox takes the commands
// of WebDriver (W3C) by a protocol of its own, Marionette. A message is the length of its JSON, a colon, and
// the JSON. Debian lacks geckodriver, the program that translates WebDriver's HTTP to Marionette.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { type Browser, CAPABILITIES, COMMANDS } from './webdriver.js';

const COLON = ':'.charCodeAt(0);

const FREE_PORT = 0;
/** The sum of Firefox's bits for a fine pointer (2), and for a pointer that can hover (4). */
const MOUSE = 6;

/**
 * With these preferences Firefox listens on a free port, lets `STYLE` change its window, makes no requests of
 * its own, opens no page at its start, reports a mouse to pages, and prefers British English.
 */
const PREFERENCES = {
  'marionette.port': FREE_PORT,
  'toolkit.legacyUserProfileCustomizations.stylesheets': true,
  'services.settings.server': 'data:,#remote-settings-dummy/v1',
  'browser.startup.page': 0,
  'browser.aboutwelcome.enabled': false,
  'toolkit.telemetry.enabled': false,
  'ui.primaryPointerCapabilities': MOUSE,
  'intl.accept_languages': 'en-GB',
} as const;

/** With this style the window has nothing but the page, and may be as narrow as a phone. */
const STYLE = ':root { min-width: 0 !important; } #navigator-toolbox { display: none !important; }';

export const firefoxSkipReason = (): string | false => skipReason({ programs: ['firefox-esr'] });

/** The type of a message that is a command. An answer has the type 1. */
const COMMAND = 0;

type Answer = readonly [type: 1, id: number, error: { readonly message: string } | null, result: unknown];

class Marionette {
  readonly #socket: Socket;
  readonly #onAnswer = new Map<number, (answer: Answer) => void>();
  #received = Buffer.alloc(0);
  #lastId = 0;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    // No error is reported here. A pending command then gets no answer, so the test fails at the deadline of
    // the test runner.
    this.#socket.on('error', () => undefined);
  }

  send(name: string, parameters: object): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const text = JSON.stringify([COMMAND, id, name, parameters]);
    this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => {
      this.#onAnswer.set(id, ([, , error, result]) => {
        if (error === null) resolve(result);
        else reject(new Error(`${name}: ${error.message}`));
      });
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const colon = this.#received.indexOf(COLON);
      if (colon < 0) return;
      const end = colon + 1 + Number(this.#received.toString('utf8', 0, colon));
      if (this.#received.length < end) return;
      const message: unknown = JSON.parse(this.#received.subarray(colon + 1, end).toString('utf8'));
      this.#received = this.#received.subarray(end);
      // The first message is a greeting, which is no array.
      if (Array.isArray(message)) this.#onAnswer.get(Number(message[1]))?.(message as unknown as Answer);
    }
  }
}

export async function openFirefox({ isDark = false } = {}): Promise<Browser> {
  const profile = temporaryFolder();
  mkdirSync(join(profile, 'chrome'));
  writeFileSync(join(profile, 'chrome/userChrome.css'), STYLE);
  const preferences = { ...PREFERENCES, 'ui.systemUsesDarkTheme': isDark ? 1 : 0 };
  const lines = Object.entries(preferences).map(
    ([key, value]) => `user_pref(${JSON.stringify(key)}, ${JSON.stringify(value)});`,
  );
  writeFileSync(join(profile, 'user.js'), lines.join('\n'));
  const firefox = startProgram(
    'firefox-esr',
    ['-headless', '-marionette', '-no-remote', '-profile', profile],
    {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: profile,
        TMPDIR: profile,
        LANG: 'C.UTF-8',
      },
      log: join(profile, 'log'),
    },
  );
  const portFile = join(profile, 'MarionetteActivePort');
  const port = await until(
    'Firefox listens',
    // Firefox creates the file before it writes the port, and `Number('')` is 0.
    () => (existsSync(portFile) && Number(readFileSync(portFile, 'utf8'))) || undefined,
  );
  const marionette = new Marionette(port);
  await marionette.send('WebDriver:NewSession', { capabilities: { alwaysMatch: CAPABILITIES } });
  return {
    send: async (command, parameters = {}) => {
      const [name] = COMMANDS[command];
      const result = await marionette.send(`WebDriver:${name}`, parameters);
      // The results of some commands are in an object with the member `value`.
      const isWrapped = typeof result === 'object' && result !== null && 'value' in result;
      return isWrapped ? result.value : result;
    },
    close: async () => {
      marionette.close();
      await firefox.end();
    },
  };
}
