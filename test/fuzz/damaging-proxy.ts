// A proxy in front of a real sound server or MQTT broker. While it lies, it damages the bytes that the server
// sends: they are changed, lost, doubled, cut or not passed on.

import { startProxy } from '../browser/severable-proxy.js';
import type { SeededRandom } from '../seeded-random.js';

/** The probability that a chunk is damaged while the proxy lies. */
const DAMAGE_PROBABILITY = 0.5;

/** A damaged copy of the chunk: bytes are changed, lost, doubled, added or all replaced. */
export function damage(chunk: Buffer, random: SeededRandom): Buffer {
  const wrong = Buffer.from(chunk);
  const at = random.below(chunk.length);
  const ways = [
    () => wrong.fill(random.below(256), at, at + 1),
    () => wrong.fill(random.pick([0, 0xff, 0x7f]), at, Math.min(at + 4, wrong.length)),
    () => wrong.subarray(0, at),
    () => wrong.subarray(at),
    () => Buffer.concat([wrong, wrong.subarray(at)]),
    () => Buffer.concat([wrong.subarray(0, at), Buffer.from([random.below(256)]), wrong.subarray(at)]),
    () => Buffer.from(Array.from({ length: 1 + random.below(64) }, () => random.below(256))),
    () => Buffer.alloc(0),
  ];
  return random.pick(ways)();
}

/** Listens at `at`, a path or a port, and connects each client to `target`, the server's path or port. */
export async function damagingProxy(random: SeededRandom, at: number | string, target: number | string) {
  let isLying = false;
  let damaged = 0;
  const proxy = await startProxy(target, at, (chunk) => {
    if (!isLying || !random.chance(DAMAGE_PROBABILITY)) return chunk;
    damaged += 1;
    return damage(chunk, random);
  });
  return {
    /** Chunks that were damaged so far. */
    damaged: () => damaged,
    lie: () => {
      isLying = true;
    },
    /** Ends all connections, and passes on everything from now on. */
    becomeHonest: () => {
      isLying = false;
      proxy.sever();
    },
    close: () => proxy.close(),
  };
}
