// Lists the browser engines in which tests drive the page by WebDriver (W3C). All engines are from Debian.

import { chromiumSkipReason, openDrivenChromium } from './chromium.js';
import { firefoxSkipReason, openFirefox } from './firefox.js';
import { type Browser, WebDriverPage } from './webdriver.js';
import { openWebKit, webKitSkipReason } from './webkit.js';

export interface Engine {
  readonly name: string;
  readonly skipReason: () => string | false;
  readonly open: (scheme: { readonly isDark: boolean }) => Promise<Browser>;
  /** False if the driver accepts a touch, but the touch has no effect, as with WebKitGTK's driver. */
  readonly hasTouch: boolean;
}

interface OtherEngine extends Engine {
  /**
   * True if the browser keeps a page that a person leaves, and its button Back shows the kept page. Firefox
   * keeps no page that has an open request, such as an event stream.
   */
  readonly keepsPages: boolean;
}

/** All engines except Chromium. Most files of this folder test in Chromium only. */
export const ENGINES: readonly OtherEngine[] = [
  { name: 'Firefox', skipReason: firefoxSkipReason, open: openFirefox, hasTouch: true, keepsPages: false },
  { name: 'WebKit', skipReason: webKitSkipReason, open: openWebKit, hasTouch: false, keepsPages: true },
];

const CHROMIUM: Engine = {
  name: 'Chromium',
  skipReason: chromiumSkipReason,
  open: openDrivenChromium,
  hasTouch: true,
};

export const EVERY_ENGINE: readonly Engine[] = [CHROMIUM, ...ENGINES];

export async function openEngine({ open, hasTouch }: Engine, isDark = false) {
  const browser = await open({ isDark });
  return { page: new WebDriverPage(browser, hasTouch), close: browser.close };
}
