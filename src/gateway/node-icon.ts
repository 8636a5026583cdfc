// Puts the node's name into the page's manifest, and gives manifest and icons a colour that follows from the
// name. So the icons of different nodes usually differ on a home screen.

import { extname } from 'node:path';

/**
 * The hues of two nodes are equal or at least this many degrees apart, because people hardly notice a smaller
 * difference.
 */
const STEP_DEGREES = 30;
/** The hash stays below this number, so that `hash * 31` can always be computed exactly. */
const HASH_PRIME = 1_000_003;
const NAME_PLACEHOLDER = '{name}';

/** Each function makes one kind of file for the node with the name `nodeName`. The keys are file endings. */
const MAKERS: Readonly<Record<string, (file: Buffer, nodeName: string) => Buffer>> = {
  '.png': (file, nodeName) => recolouredPng(file, hueDegreesFor(nodeName)),
  '.svg': (file, nodeName) => Buffer.from(recolouredText(file.toString(), hueDegreesFor(nodeName))),
  '.webmanifest': (file, nodeName) => {
    const recoloured = recolouredText(file.toString(), hueDegreesFor(nodeName));
    // The replacement is a function, because in a replacement text `$&` and the like have a special meaning.
    return Buffer.from(recoloured.replaceAll(NAME_PLACEHOLDER, () => textWithinQuotes(nodeName)));
  },
};

/** Undefined for a file that is the same on every node. */
export function fileForNode(fileName: string, file: Buffer, nodeName: string): Buffer | undefined {
  return MAKERS[extname(fileName)]?.(file, nodeName);
}

function hueDegreesFor(name: string): number {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % HASH_PRIME;
  return (hash * STEP_DEGREES) % 360;
}

function textWithinQuotes(name: string): string {
  return JSON.stringify(name).slice(1, -1);
}

type Recolour = (red: number, green: number, blue: number) => readonly number[];

/**
 * The parts of a colour are 0..255. The vector (red, green, blue) is rotated around the axis (1, 1, 1) by
 * Rodrigues' formula. A grey is on the axis, because its parts are equal, so it stays as it is. The new red
 * is the sum of `ownWeight` times red, `nextWeight` times green, and `afterNextWeight` times blue. The new
 * green uses the same weights for green, blue and red, and the new blue uses them for blue, red and green.
 */
function rotation(degrees: number): Recolour {
  const radians = (degrees * Math.PI) / 180;
  const sharedWeight = (1 - Math.cos(radians)) / 3;
  const ownWeight = Math.cos(radians) + sharedWeight;
  const nextWeight = sharedWeight - Math.sin(radians) / Math.sqrt(3);
  const afterNextWeight = sharedWeight + Math.sin(radians) / Math.sqrt(3);
  const rotatedPart = (own: number, next: number, afterNext: number): number => {
    const rotated = own * ownWeight + next * nextWeight + afterNext * afterNextWeight;
    return Math.min(255, Math.max(0, Math.round(rotated)));
  };
  return (red, green, blue) => [
    rotatedPart(red, green, blue),
    rotatedPart(green, blue, red),
    rotatedPart(blue, red, green),
  ];
}

/** The colours in the text are `#rrggbb`. */
function recolouredText(text: string, degrees: number): string {
  const recolour = rotation(degrees);
  const partIn = (hex: string): number => Number.parseInt(hex, 16);
  const pattern = /#([\da-f]{2})([\da-f]{2})([\da-f]{2})\b/g;
  return text.replace(pattern, (_all, red: string, green: string, blue: string) => {
    const parts = recolour(partIn(red), partIn(green), partIn(blue));
    return `#${Buffer.from(parts).toString('hex')}`;
  });
}

/** A PNG file consists of a signature and chunks. */
const SIGNATURE_BYTES = 8;
/** A chunk consists of the length of its data, its type, the data, and a check sum (PNG, section 5.3). */
const LENGTH_BYTES = 4;
/** The head of a chunk is the length and the type. */
const HEAD_BYTES = 8;
const SUM_BYTES = 4;
/** A colour of the palette: red, green and blue. */
const COLOUR_BYTES = 3;

/** Only the palette is changed, so nothing has to be decompressed. */
function recolouredPng(file: Buffer, degrees: number): Buffer {
  const recolour = rotation(degrees);
  const png = Buffer.from(file);
  let chunkStart = SIGNATURE_BYTES;
  while (chunkStart + HEAD_BYTES < png.length) {
    const typeStart = chunkStart + LENGTH_BYTES;
    const dataStart = chunkStart + HEAD_BYTES;
    const sumStart = dataStart + png.readUInt32BE(chunkStart);
    if (png.toString('latin1', typeStart, dataStart) === 'PLTE') {
      for (let index = dataStart; index < sumStart; index += COLOUR_BYTES)
        png.set(recolour(png[index] ?? 0, png[index + 1] ?? 0, png[index + 2] ?? 0), index);
      png.writeInt32BE(checkSum(png.subarray(typeStart, sumStart)), sumStart);
    }
    chunkStart = sumStart + SUM_BYTES;
  }
  return png;
}

/**
 * CRC-32, with the polynomial 0xedb88320 (PNG, annex D). Node.js has a `crc32` only from 20.15 on, and
 * tonearm runs on every version of Node.js 20.
 */
function checkSum(bytes: Buffer): number {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum;
}
