// JSON out of a broker's hands, bounded before it is parsed: what is nested too deeply cannot be written again. Pure.

/** A retained text may have as much (docs/home-assistant.md, "Commands"), and a command as much as a route's body. */
const BYTES_MAX = 65_536;
const LEVELS_MAX = 32;

/** Undefined: it is no JSON, or more than is looked at. */
export function boundedJson(text: string): unknown {
  if (Buffer.byteLength(text) > BYTES_MAX || isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isTooDeep(text: string): boolean {
  let level = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') isInString = !isInString;
    else if (isInString) at += char === '\\' ? 1 : 0;
    else if (char === '{' || char === '[') level += 1;
    else if (char === '}' || char === ']') level -= 1;
    if (level > LEVELS_MAX) return true;
  }
  return false;
}
