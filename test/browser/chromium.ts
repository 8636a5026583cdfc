// Starts a real Chromium for tests, with a profile of its own and without requests of its own. Playwright
// drives it. The tests that run in several browser engines (engines.ts) drive it by WebDriver (W3C).

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContextOptions, chromium } from 'playwright-core';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { DEADLINE_MS } from '../until.js';
import { openDrivenBrowser } from './driver.js';
import type { Browser } from './webdriver.js';

const PROGRAM = '/usr/bin/chromium';

/** These keep the browser from making requests of its own. */
const NO_OWN_REQUESTS = [
  '--no-first-run',
  '--disable-sync',
  '--disable-background-networking',
  '--disable-component-update',
];
/** Root needs --no-sandbox. */
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', ...NO_OWN_REQUESTS];

export type OpenBrowser = Awaited<ReturnType<typeof openChromium>>;

export async function openChromium(options: BrowserContextOptions = {}) {
  // Chromium also writes to TMPDIR, to its home folder, and at times beside its profile.
  const folder = mkdtempSync(join(tmpdir(), 'chromium-'));
  const env = { ...process.env, TMPDIR: folder, HOME: folder };
  const launchOptions = { ...options, executablePath: PROGRAM, args: ARGUMENTS, env };
  const context = await chromium.launchPersistentContext(join(folder, 'profile'), launchOptions);
  context.setDefaultTimeout(DEADLINE_MS);
  /** Ends the browser and removes everything that it wrote. */
  const close = async (): Promise<void> => {
    await context.close();
    // Chromium's helper processes end later, and may write to the folder until then.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  return { context, close };
}

export const chromiumSkipReason = (): string | false =>
  skipReason({ programs: ['chromium', 'chromedriver'] });

/** Starts a Chromium with its driver, the program chromedriver, which takes the commands of WebDriver. */
export async function openDrivenChromium({ isDark = false } = {}): Promise<Browser> {
  const folder = temporaryFolder();
  const darkArguments = isDark ? ['--force-dark-mode'] : [];
  const args = [
    ...ARGUMENTS,
    ...darkArguments,
    '--headless',
    '--lang=en-GB',
    `--user-data-dir=${join(folder, 'profile')}`,
  ];
  const browser = await openDrivenBrowser({
    program: 'chromedriver',
    folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      TMPDIR: folder,
      HOME: folder,
      LANG: 'C.UTF-8',
    },
    capabilities: { 'goog:chromeOptions': { binary: PROGRAM, args } },
  });
  return {
    close: browser.close,
    send: (command, parameters) =>
      // The size is emulated, because a window of Chromium is at least 500 pixels wide.
      command === 'setSize'
        ? browser.sendOwn('/goog/cdp/execute', {
            cmd: 'Emulation.setDeviceMetricsOverride',
            params: { deviceScaleFactor: 1, mobile: false, ...parameters },
          })
        : browser.send(command, parameters),
  };
}
