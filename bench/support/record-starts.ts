// Walks a captured list of sink inputs by its tags alone. It shares nothing with the code under test.

/** Where each sink input begins in the payload of a list's frame. */
export function recordStarts(payload: Buffer): number[] {
  /**
   * The bytes of a value with its type tag, by this tag (src/protocol/pulse/wire.ts). Values of other tags
   * have no fixed size.
   */
  const sizes: Readonly<Record<string, number>> = {
    L: 5,
    B: 2,
    a: 7,
    U: 9,
    V: 5,
    N: 1,
    0: 1,
    1: 1,
    P: 1,
    f: 1,
  };
  const starts: number[] = [];
  // The first record stands behind two values L: the command, and the number of the request.
  let offset = 10;
  while (offset < payload.length) {
    starts.push(offset);
    // A record ends with the N that closes its format's properties: the first N after an f.
    let isInFormat = false;
    let hasEnded = false;
    while (!hasEnded) {
      const tag = String.fromCharCode(payload.readUInt8(offset));
      isInFormat ||= tag === 'f';
      hasEnded = isInFormat && tag === 'N';
      if (tag === 't') offset = payload.indexOf(0, offset) + 1;
      else if (tag === 'x') offset += 5 + payload.readUInt32BE(offset + 1);
      else if (tag === 'v') offset += 2 + 4 * payload.readUInt8(offset + 1);
      else if (tag === 'm') offset += 2 + payload.readUInt8(offset + 1);
      else offset += sizes[tag] ?? Number.NaN;
    }
  }
  return starts;
}
