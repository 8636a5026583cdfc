// A proxy in front of a real sound server or MQTT broker. While the proxy lies, it damages the bytes that
// the server sends (`damage`).

import { type SeverableProxy, startProxy } from '../browser/severable-proxy.js';
import type { SeededRandom } from '../seeded-random.js';

/** The probability that a chunk is damaged while the proxy lies. */
const DAMAGE_PROBABILITY = 0.5;

/** A damaged copy of the chunk: bytes are changed, lost, doubled, added or all replaced. */
export function damage(chunk: Buffer, random: SeededRandom): Buffer {
  const copy = Buffer.from(chunk);
  const place = random.below(chunk.length);
  const before = copy.subarray(0, place);
  const after = copy.subarray(place);
  // Four bytes may be a length. If all of them are 0, 0xff or 0x7f, the length is zero or very large.
  const damages = {
    oneByteChanges: () => copy.fill(random.below(256), place, place + 1),
    fourBytesChange: () => copy.fill(random.pick([0, 0xff, 0x7f]), place, Math.min(place + 4, copy.length)),
    endIsLost: () => before,
    beginningIsLost: () => after,
    endIsDoubled: () => Buffer.concat([copy, after]),
    oneByteIsAdded: () => Buffer.concat([before, Buffer.from([random.below(256)]), after]),
    allIsReplaced: () => Buffer.from(Array.from({ length: 1 + random.below(64) }, () => random.below(256))),
    allIsLost: () => Buffer.alloc(0),
  };
  return random.pick(Object.values(damages))();
}

export class DamagingProxy {
  readonly #random: SeededRandom;
  #proxy: SeverableProxy | undefined;
  #isLying = false;
  #damaged = 0;

  private constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Listens at `address`, and connects each client to the server at `target`. Each is a path or a port. */
  static async start(
    random: SeededRandom,
    address: number | string,
    target: number | string,
  ): Promise<DamagingProxy> {
    const proxy = new DamagingProxy(random);
    await proxy.#listen(address, target);
    return proxy;
  }

  /** The number of chunks that were damaged so far. */
  get damaged(): number {
    return this.#damaged;
  }

  lie(): void {
    this.#isLying = true;
  }

  /** Ends all connections, and passes on everything from now on. */
  becomeHonest(): void {
    this.#isLying = false;
    this.#proxy?.sever();
  }

  async close(): Promise<void> {
    await this.#proxy?.close();
  }

  async #listen(address: number | string, target: number | string): Promise<void> {
    this.#proxy = await startProxy(target, address, (chunk) => this.#pass(chunk));
  }

  #pass(chunk: Buffer): Buffer {
    if (!this.#isLying || !this.#random.chance(DAMAGE_PROBABILITY)) return chunk;
    this.#damaged += 1;
    return damage(chunk, this.#random);
  }
}
