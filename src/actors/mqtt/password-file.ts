// Finds what is odd about a password file. Editors and shells add bytes to it that nobody sees, and the
// broker only refuses the password. The content itself never gets into a text for people. Pure.

const LINE_END_AT_END = /\r?\n$/;
const BYTE_ORDER_MARK = '\ufeff';

/** Each with a test of the text without its last line end. */
const ODDITIES: readonly (readonly [what: string, isSo: (text: string) => boolean])[] = [
  ['it is empty', (text) => text === ''],
  ['it begins with a byte order mark', (text) => text.startsWith(BYTE_ORDER_MARK)],
  ['it has more than one line', (text) => /[\r\n]/.test(text)],
  ['it begins or ends with a blank', (text) => /^\ufeff?[^\S\r\n\ufeff]|[^\S\r\n\ufeff]$/.test(text)],
];

/** Editors end a file with a line feed; no password ends in one. */
export function passwordIn(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString().replace(LINE_END_AT_END, '');
}

/** Empty for an ordinary password. */
export function odditiesOf(bytes: Uint8Array): readonly string[] {
  const isWide = bytes.includes(0) || startsWith(bytes, 0xff, 0xfe) || startsWith(bytes, 0xfe, 0xff);
  if (isWide) return ['it is written in UTF-16'];
  const text = passwordIn(bytes);
  const isUtf8 = Buffer.from(Buffer.from(bytes).toString()).equals(bytes);
  const found = ODDITIES.filter(([, isSo]) => isSo(text)).map(([what]) => what);
  return isUtf8 ? found : [...found, 'it is not written in UTF-8'];
}

function startsWith(bytes: Uint8Array, ...beginning: readonly number[]): boolean {
  return beginning.every((byte, at) => bytes[at] === byte);
}
