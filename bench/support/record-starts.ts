// Walks a captured list of sink inputs by its tags alone. It shares nothing with the code under test.

/** Where each sink input begins in the payload of a list's frame. */
export function recordStarts(payload: Buffer): number[] {
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
  let at = 10;
  while (at < payload.length) {
    starts.push(at);
    // A record ends with the N that closes its format's properties: the first N after an f.
    for (let inFormat = false, ended = false; !ended; ) {
      const tag = String.fromCharCode(payload.readUInt8(at));
      inFormat ||= tag === 'f';
      ended = inFormat && tag === 'N';
      if (tag === 't') at = payload.indexOf(0, at) + 1;
      else if (tag === 'x') at += 5 + payload.readUInt32BE(at + 1);
      else if (tag === 'v') at += 2 + 4 * payload.readUInt8(at + 1);
      else if (tag === 'm') at += 2 + payload.readUInt8(at + 1);
      else at += sizes[tag] ?? Number.NaN;
    }
  }
  return starts;
}
