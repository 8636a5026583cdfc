// The browsers for which the page and the client are made. All of them are of 2022. The build translates
// newer syntax for them, and the check of the bundles refuses what one of them lacks (browser-check.mjs).
// The page's document names them for people with an older browser. A test removes from Chromium what one of
// them lacks (test/browser/older-browser.ts).

/** The versions in a row of browser-features.json have this order. `target` is esbuild's and MDN's name. */
export const BROWSERS = [
  { name: 'Chromium', target: 'chrome', version: '100' },
  { name: 'Firefox', target: 'firefox', version: '100' },
  { name: 'Safari', target: 'safari', version: '15.4' },
];

export const TARGETS = BROWSERS.map(({ target, version }) => target + version);

/** `Chromium 100, Firefox 100, Safari 15.4`. */
export const BROWSERS_TEXT = BROWSERS.map(({ name, version }) => `${name} ${version}`).join(', ');
