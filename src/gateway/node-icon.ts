// Makes the icons and the manifest of the page for this node: with its name, and in a colour that follows
// from the name, so that three rooms are three icons on a home screen.

import { extname } from 'node:path';

/**
 * The colours of two icons are equal or at least this many degrees apart, because eyes see no smaller step.
 */
const STEP_DEGREES = 30;
const NAME_PLACEHOLDER = '{name}';

/** The files that differ from node to node, by their ending. */
const MAKERS: Readonly<Record<string, (file: Buffer, name: string) => Buffer>> = {
  '.png': (file, name) => turnedPng(file, turnFor(name)),
  '.svg': (file, name) => Buffer.from(turnedText(file.toString(), turnFor(name))),
  '.webmanifest': (file, name) =>
    Buffer.from(
      turnedText(file.toString(), turnFor(name)).replaceAll(NAME_PLACEHOLDER, () => jsonText(name)),
    ),
};

/** The file as it is for a node of this name; undefined for a file that is the same on every node. */
export function fileForNode(fileName: string, file: Buffer, name: string): Buffer | undefined {
  return MAKERS[extname(fileName)]?.(file, name);
}

/** The degrees by which the colours of a node of this name are turned. */
function turnFor(name: string): number {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003;
  return (hash * STEP_DEGREES) % 360;
}

/** The name as it stands within the quotes of a JSON text. */
function jsonText(name: string): string {
  return JSON.stringify(name).slice(1, -1);
}

type Turn = (red: number, green: number, blue: number) => readonly number[];

/**
 * Turns a colour around the grey axis; a grey stays as it is. Parts of a colour are 0..255. This is the
 * matrix of a rotation around (1, 1, 1): each row has the same three weights, one place further on.
 */
function turning(degrees: number): Turn {
  const radians = (degrees * Math.PI) / 180;
  const third = (1 - Math.cos(radians)) / 3;
  const ownWeight = Math.cos(radians) + third;
  const nextWeight = third - Math.sin(radians) / Math.sqrt(3);
  const lastWeight = third + Math.sin(radians) / Math.sqrt(3);
  const part = (own: number, next: number, last: number): number => {
    const turned = own * ownWeight + next * nextWeight + last * lastWeight;
    return Math.min(255, Math.max(0, Math.round(turned)));
  };
  return (red, green, blue) => [part(red, green, blue), part(green, blue, red), part(blue, red, green)];
}

function turnedText(text: string, degrees: number): string {
  const turn = turning(degrees);
  return text.replace(/#([\da-f]{2})([\da-f]{2})([\da-f]{2})\b/g, (_all, ...hex: string[]) => {
    const [red = 0, green = 0, blue = 0] = hex.slice(0, 3).map((part) => Number.parseInt(part, 16));
    return `#${Buffer.from(turn(red, green, blue)).toString('hex')}`;
  });
}

const SIGNATURE_BYTES = 8;
/** A chunk has the length of its data, its type, the data, and a check sum (PNG, section 5.3). */
const LENGTH_BYTES = 4;
/** Length and type. */
const HEAD_BYTES = 8;
const SUM_BYTES = 4;

/** Only the palette changes, so that nothing has to be decompressed. */
function turnedPng(file: Buffer, degrees: number): Buffer {
  const turn = turning(degrees);
  const turned = Buffer.from(file);
  let chunk = SIGNATURE_BYTES;
  while (chunk + HEAD_BYTES < turned.length) {
    const type = chunk + LENGTH_BYTES;
    const data = chunk + HEAD_BYTES;
    const sum = data + turned.readUInt32BE(chunk);
    if (turned.toString('latin1', type, data) === 'PLTE') {
      for (let colour = data; colour < sum; colour += 3)
        turned.set(turn(turned[colour] ?? 0, turned[colour + 1] ?? 0, turned[colour + 2] ?? 0), colour);
      turned.writeInt32BE(checkSum(turned.subarray(type, sum)), sum);
    }
    chunk = sum + SUM_BYTES;
  }
  return turned;
}

/** CRC-32 (PNG, annex D). Node has one of its own only from 20.15 on. */
function checkSum(bytes: Buffer): number {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum;
}
