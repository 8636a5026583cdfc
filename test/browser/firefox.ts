// Starts a real Firefox for tests, without a screen and with a profile of its own. It takes WebDriver's
// commands by Firefox's own protocol, Marionette: each message is its length, a colon, and JSON. geckodriver
// would only translate the commands, and Debian lacks it.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { type Browser, CAPABILITIES, COMMANDS } from './webdriver.js';

const COLON = ':'.charCodeAt(0);

/**
 * With these preferences Firefox makes no requests of its own, opens no page, has a mouse, and lets a style
 * change its window.
 */
const PREFERENCES = {
  'marionette.port': 0,
  'toolkit.legacyUserProfileCustomizations.stylesheets': true,
  'services.settings.server': 'data:,#remote-settings-dummy/v1',
  'browser.startup.page': 0,
  'browser.aboutwelcome.enabled': false,
  'toolkit.telemetry.enabled': false,
  'ui.primaryPointerCapabilities': 6,
  'intl.accept_languages': 'en-GB',
} as const;

/** The window has nothing but the page, and may be as narrow as a phone. */
const STYLE = ':root { min-width: 0 !important; } #navigator-toolbox { display: none !important; }';

export const lacksFirefox = (): string | false => lacks({ programs: ['firefox-esr'] });

type Answer = readonly [type: 1, id: number, error: { readonly message: string } | null, result: unknown];

class Marionette {
  readonly #socket: Socket;
  readonly #answers = new Map<number, (answer: Answer) => void>();
  #received = Buffer.alloc(0);
  #lastId = 0;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    // A command on a lost connection gets no answer, so the test's deadline ends the test.
    this.#socket.on('error', () => undefined);
  }

  send(name: string, parameters: object): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const text = JSON.stringify([0, id, name, parameters]);
    this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => {
      this.#answers.set(id, ([, , error, result]) => {
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
      if (Array.isArray(message)) this.#answers.get(Number(message[1]))?.(message as unknown as Answer);
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
        TMPDIR: process.env['TMPDIR'] ?? '/tmp',
        LANG: 'C.UTF-8',
      },
      log: join(profile, 'log'),
    },
  );
  const portFile = join(profile, 'MarionetteActivePort');
  const port = await until(
    'Firefox listens',
    () => existsSync(portFile) && Number(readFileSync(portFile, 'utf8')),
  );
  const marionette = new Marionette(port);
  await marionette.send('WebDriver:NewSession', { capabilities: { alwaysMatch: CAPABILITIES } });
  return {
    send: async (command, parameters = {}) => {
      const [name] = COMMANDS[command];
      const result = await marionette.send(`WebDriver:${name}`, parameters);
      const isWrapped = typeof result === 'object' && result !== null && 'value' in result;
      return isWrapped ? result.value : result;
    },
    close: async () => {
      marionette.close();
      await firefox.end();
    },
  };
}
