// Lists the engines beside Chromium in which the page is tested, each in Debian's version.

import { lacksFirefox, openFirefox } from './firefox.js';
import { type Browser, WebDriverPage } from './webdriver.js';
import { lacksWebKit, openWebKit } from './webkit.js';

export interface Engine {
  readonly name: string;
  readonly lacks: () => string | false;
  readonly open: (scheme: { readonly isDark: boolean }) => Promise<Browser>;
  /** WebKitGTK's driver accepts a touch, and does nothing. */
  readonly hasTouch: boolean;
  /** Back shows the page as it was left. Firefox keeps none that has an open request, such as a stream. */
  readonly keepsPages: boolean;
}

export const ENGINES: readonly Engine[] = [
  { name: 'Firefox', lacks: lacksFirefox, open: openFirefox, hasTouch: true, keepsPages: false },
  { name: 'WebKit', lacks: lacksWebKit, open: openWebKit, hasTouch: false, keepsPages: true },
];

export async function openEngine({ open, hasTouch }: Engine, isDark = false) {
  const browser = await open({ isDark });
  return { page: new WebDriverPage(browser, hasTouch), close: browser.close };
}
