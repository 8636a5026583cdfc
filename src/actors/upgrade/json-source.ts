// Takes an object's JSON text apart without losing how its values are spelled: JSON.parse would turn 1.50 into 1.5, round
// large integers and reorder keys that look like numbers. Works only on text that JSON.parse has accepted. Pure; it never
// recurses, so that nesting of any depth is harmless.

/** One member of an object, with both its key and its value as they stand in the text. */
export interface Member {
  /** Decoded. */
  readonly key: string;
  readonly keySource: string;
  /** Without the white space between tokens. */
  readonly source: string;
}

/** A string, or a run of white space; whatever lies between is punctuation, numbers and words. */
const STRING_OR_SPACE = /"(?:[^"\\]|\\.)*"|[ \t\n\r]+/gs;
const STRING = /"(?:[^"\\]|\\.)*"/sy;

/** The same text without white space between tokens, so that it fits one line. */
export function compact(json: string): string {
  return json.replace(STRING_OR_SPACE, (found) => (found.startsWith('"') ? found : ''));
}

/**
 * The members of the object that `json` is, in their order. A key that stands twice has its last value, as with JSON.parse,
 * at its first place. Undefined when the text is no JSON, or JSON that is no object.
 */
export function membersOf(json: string): readonly Member[] | undefined {
  if (!isObject(json)) return undefined;
  const text = compact(json);
  const members = new Map<string, Member>();
  // Behind the opening brace; each round ends behind a comma or the closing brace.
  for (let at = 1; at < text.length - 1; ) {
    const keyEnd = stringEnd(text, at);
    const keySource = text.slice(at, keyEnd);
    const key = decoded(keySource);
    const end = valueEnd(text, keyEnd + 1);
    members.set(key, { key, keySource, source: text.slice(keyEnd + 1, end) });
    at = end + 1;
  }
  return [...members.values()];
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false; // That it is no JSON is the answer; where exactly it breaks helps nobody.
  }
}

function decoded(source: string): string {
  return String(JSON.parse(source));
}

function stringEnd(text: string, at: number): number {
  STRING.lastIndex = at;
  STRING.test(text);
  return STRING.lastIndex;
}

/** The index of the comma or brace behind the value that begins at `at`. */
function valueEnd(text: string, at: number): number {
  let depth = 0;
  for (let index = at; ; ) {
    const character = text[index];
    if (character === '"') {
      index = stringEnd(text, index);
      continue;
    }
    if (depth === 0 && (character === ',' || character === '}')) return index;
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    index += 1;
  }
}
