// Reads the password from the bytes of its file, and decides what is unusual in these bytes. The texts for
// people contain no part of the password. Pure.

const LAST_LINE_END = /\r?\n$/;
const BYTE_ORDER_MARK = '\ufeff';

/** Line ends and the byte order mark do not count as blanks here, although `\s` matches them. */
const BLANK = /(?![\r\n\ufeff])\s/.source;
/** This matches ` secret` and `secret `, and also ` secret` behind a byte order mark. */
const BLANK_AT_AN_END = new RegExp(`^\\ufeff?${BLANK}|${BLANK}$`);

interface Oddity {
  readonly text: string;
  readonly isIn: (password: string) => boolean;
}

const ODDITIES: readonly Oddity[] = [
  { text: 'it is empty', isIn: (password) => password === '' },
  { text: 'it begins with a byte order mark', isIn: (password) => password.startsWith(BYTE_ORDER_MARK) },
  { text: 'it has more than one line', isIn: (password) => /[\r\n]/.test(password) },
  { text: 'it begins or ends with a blank', isIn: (password) => BLANK_AT_AN_END.test(password) },
];

/** Removes the line end that editors add to the last line, because it does not belong to the password. */
export function passwordIn(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString().replace(LAST_LINE_END, '');
}

/**
 * Sentences for people, in which `it` is the file. An ordinary file has none. Editors and shells add bytes
 * that nobody sees, and the broker only says that the password is wrong.
 */
export function odditiesOf(bytes: Uint8Array): readonly string[] {
  // In UTF-16 each ASCII character has a zero byte, and most such files begin with a byte order mark.
  const isUtf16 = bytes.includes(0) || startsWith(bytes, 0xff, 0xfe) || startsWith(bytes, 0xfe, 0xff);
  if (isUtf16) return ['it is written in UTF-16'];
  const password = passwordIn(bytes);
  const oddities = ODDITIES.filter(({ isIn }) => isIn(password)).map(({ text }) => text);
  // The decoder replaces bytes that are not UTF-8. So these bytes differ when the text is encoded again.
  const decoded = Buffer.from(bytes).toString();
  const isUtf8 = Buffer.from(decoded).equals(bytes);
  return isUtf8 ? oddities : [...oddities, 'it is not written in UTF-8'];
}

function startsWith(bytes: Uint8Array, ...beginning: readonly number[]): boolean {
  return beginning.every((byte, index) => bytes[index] === byte);
}
