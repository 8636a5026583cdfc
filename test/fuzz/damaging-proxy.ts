// A proxy in front of a real sound server or MQTT broker. While it lies, it damages the bytes that the server
// sends: they are changed, lost, doubled, cut or not passed on.

import { type SeverableProxy, startProxy } from '../browser/severable-proxy.js';
import type { SeededRandom } from '../seeded-random.js';

/** The probability that a chunk is damaged while the proxy lies. */
const DAMAGE_PROBABILITY = 0.5;

/** A damaged copy of the chunk: bytes are changed, lost, doubled, added or all replaced. */
export function damage(chunk: Buffer, random: SeededRandom): Buffer {
  const copy = Buffer.from(chunk);
  const place = random.below(chunk.length);
  const damages = [
    () => copy.fill(random.below(256), place, place + 1),
    () => copy.fill(random.pick([0, 0xff, 0x7f]), place, Math.min(place + 4, copy.length)),
    () => copy.subarray(0, place),
    () => copy.subarray(place),
    () => Buffer.concat([copy, copy.subarray(place)]),
    () => Buffer.concat([copy.subarray(0, place), Buffer.from([random.below(256)]), copy.subarray(place)]),
    () => Buffer.from(Array.from({ length: 1 + random.below(64) }, () => random.below(256))),
    () => Buffer.alloc(0),
  ];
  return random.pick(damages)();
}

export class DamagingProxy {
  readonly #random: SeededRandom;
  #proxy: SeverableProxy | undefined;
  #isLying = false;
  #damaged = 0;

  private constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** Listens at `at`, a path or a port, and connects each client to `target`, the server's path or port. */
  static async start(
    random: SeededRandom,
    at: number | string,
    target: number | string,
  ): Promise<DamagingProxy> {
    const proxy = new DamagingProxy(random);
    await proxy.#listen(at, target);
    return proxy;
  }

  /** Chunks that were damaged so far. */
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

  async #listen(at: number | string, target: number | string): Promise<void> {
    this.#proxy = await startProxy(target, at, (chunk) => this.#pass(chunk));
  }

  #pass(chunk: Buffer): Buffer {
    if (!this.#isLying || !this.#random.chance(DAMAGE_PROBABILITY)) return chunk;
    this.#damaged += 1;
    return damage(chunk, this.#random);
  }
}
