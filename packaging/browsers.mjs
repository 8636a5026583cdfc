// The browsers for which the page and the client are made: one list for what the build lowers, what the check
// of the bundles allows (browser-check.mjs), what the document tells older browsers, and what the tests take
// away from Chromium. All of them are of 2022.

/** The versions in a row of browser-features.json have this order. `target` is esbuild's and MDN's name. */
export const BROWSERS = [
  { name: 'Chromium', target: 'chrome', version: '100' },
  { name: 'Firefox', target: 'firefox', version: '100' },
  { name: 'Safari', target: 'safari', version: '15.4' },
];

export const TARGETS = BROWSERS.map(({ target, version }) => target + version);

/** `Chromium 100, Firefox 100, Safari 15.4`. */
export const BROWSERS_TEXT = BROWSERS.map(({ name, version }) => `${name} ${version}`).join(', ');
