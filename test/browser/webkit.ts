// A real WebKit for tests: WebKitGTK's MiniBrowser on a virtual screen.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { openDrivenBrowser } from './driver.js';
import type { Browser } from './webdriver.js';

/** The browser in the package libwebkit2gtk-4.1-0. */
const BROWSER = '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser';
/** Width, height and bits per pixel. */
const SCREEN = '1920x1200x24';

/** Makes the browser's own buttons so small that the window can be as narrow as a phone. */
const STYLE = `* { padding: 0; margin: 0; min-width: 0; border-width: 0; font-size: 1px; }
  image { -gtk-icon-transform: scale(0.1); }`;

export const webKitSkipReason = (): string | false =>
  skipReason({ programs: ['WebKitWebDriver', 'Xvfb'], packages: { 'libwebkit2gtk-4.1-0': BROWSER } });

/** Starts a virtual screen. Resolves with its program, and with the value for the variable DISPLAY. */
async function startScreen(folder: string) {
  const log = join(folder, 'screen');
  const screen = startProgram('Xvfb', ['-displayfd', '1', '-screen', '0', SCREEN, '-nolisten', 'tcp'], {
    env: { PATH: process.env['PATH'] ?? '' },
    log,
  });
  // With `-displayfd 1`, Xvfb writes the number of its display to standard output, and so into the log.
  const number = await until('the screen is there', () => /^\d+$/m.exec(readFileSync(log, 'utf8'))?.[0]);
  return { screen, display: `:${number}` };
}

export async function openWebKit({ isDark = false } = {}): Promise<Browser> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, '.config/gtk-3.0'), { recursive: true });
  writeFileSync(join(folder, '.config/gtk-3.0/gtk.css'), STYLE);
  const { screen, display } = await startScreen(folder);
  const args = isDark ? ['--automation', '--dark-mode'] : ['--automation'];
  const browser = await openDrivenBrowser({
    program: 'WebKitWebDriver',
    folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      TMPDIR: folder,
      HOME: folder,
      XDG_RUNTIME_DIR: folder,
      DISPLAY: display,
      // WebKit's processes need no sandbox here, and root cannot make one.
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
      LIBGL_ALWAYS_SOFTWARE: '1',
      LANG: 'C.UTF-8',
    },
    capabilities: { 'webkitgtk:browserOptions': { binary: BROWSER, args } },
  });
  return {
    send: browser.send,
    close: async () => {
      await browser.close();
      await screen.end();
    },
  };
}
