// Parses JSON from a broker within bounds: text nested too deeply could not be written again. Pure.

/** The bound of a retained text (docs/home-assistant.md, "Commands"); for a command it is that of a route's body. */
const BYTES_MAX = 65_536;
const LEVELS_MAX = 32;

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
