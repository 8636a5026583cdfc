// Reads the password from the bytes of its file, and finds what is unusual in them, because editors and
// shells add bytes that nobody sees, and the broker only says that the password is wrong. No text for people
// has a part of the password. Pure.

const LINE_END_AT_END = /\r?\n$/;
const BYTE_ORDER_MARK = '\ufeff';

/** `isSo` tests the text without the line end at its end. */
const ODDITIES: readonly (readonly [oddity: string, isSo: (text: string) => boolean])[] = [
  ['it is empty', (text) => text === ''],
  ['it begins with a byte order mark', (text) => text.startsWith(BYTE_ORDER_MARK)],
  ['it has more than one line', (text) => /[\r\n]/.test(text)],
  ['it begins or ends with a blank', (text) => /^\ufeff?[^\S\r\n\ufeff]|[^\S\r\n\ufeff]$/.test(text)],
];

/** The text without a line end at its end, which editors add, and which no password has. */
export function passwordIn(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString().replace(LINE_END_AT_END, '');
}

/**
 * For people: what is unusual in the file, as sentences in which `it` is the file. Empty for an ordinary
 * file.
 */
export function odditiesOf(bytes: Uint8Array): readonly string[] {
  const isUtf16 = bytes.includes(0) || startsWith(bytes, 0xff, 0xfe) || startsWith(bytes, 0xfe, 0xff);
  if (isUtf16) return ['it is written in UTF-16'];
  const password = passwordIn(bytes);
  const oddities = ODDITIES.filter(([, isSo]) => isSo(password)).map(([oddity]) => oddity);
  // Bytes that are not UTF-8 are replaced when they are decoded, so that they come back as other bytes.
  const isUtf8 = Buffer.from(Buffer.from(bytes).toString()).equals(bytes);
  return isUtf8 ? oddities : [...oddities, 'it is not written in UTF-8'];
}

function startsWith(bytes: Uint8Array, ...beginning: readonly number[]): boolean {
  return beginning.every((byte, index) => bytes[index] === byte);
}
