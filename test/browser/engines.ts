// Lists the engines in which WebDriver tests the page, each in Debian's version.

import { chromiumSkipReason, openDrivenChromium } from './chromium.js';
import { firefoxSkipReason, openFirefox } from './firefox.js';
import { type Browser, WebDriverPage } from './webdriver.js';
import { openWebKit, webKitSkipReason } from './webkit.js';

export interface Engine {
  readonly name: string;
  readonly skipReason: () => string | false;
  readonly open: (scheme: { readonly isDark: boolean }) => Promise<Browser>;
  /** False if a touch has no effect, although the driver accepts it. WebKitGTK's driver is like that. */
  readonly hasTouch: boolean;
}

interface OtherEngine extends Engine {
  /**
   * True if Back shows the page as it was left. Firefox keeps no page that has an open request, such as a
   * stream.
   */
  readonly keepsPages: boolean;
}

/** The engines besides Chromium. Most files of this folder test in Chromium only. */
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
