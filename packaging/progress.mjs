// Output of a test run: lines that stay, and on a terminal one line below them that changes.

const IS_TERMINAL = process.stdout.isTTY === true;
const ERASE_LINE = '\r\x1b[K';
const begun = Date.now();
const progressTexts = new Map();

export const seconds = (sinceMs) => `${((Date.now() - sinceMs) / 1000).toFixed(1)} s`;

function draw() {
  if (!IS_TERMINAL) return;
  const parts = [...progressTexts].map(([name, text]) => `${name}: ${text}`);
  const line = parts.length === 0 ? '' : `${parts.join(', ')} (${seconds(begun)})`;
  process.stdout.write(ERASE_LINE + line.slice(0, process.stdout.columns - 1));
}

/** Prints lines that stay. */
export function print(text) {
  process.stdout.write(`${IS_TERMINAL ? ERASE_LINE : ''}${text}\n`);
  draw();
}

/** Shows how far the work `name` is. Without a text the work is done, and no longer shown. */
export function showProgress(name, text) {
  if (text === undefined) progressTexts.delete(name);
  else progressTexts.set(name, text);
  draw();
}
