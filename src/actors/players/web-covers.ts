// Decides when a cover on the web is fetched, and when the client is sent there instead. It remembers for a short time what came of an
// address, so that several pages that show one cover cost one request; the bytes are kept by the gateway.

import type { Clock } from '../../clock.js';
import type { CoverAnswer } from '../../protocol/actor/commands.js';
import type { ImageAnswer } from './cover.js';

/** Each may hold a whole cover. */
const FETCHES_MAX = 4;
/** The maximum number of players. */
const KNOWN_MAX = 32;
/** Some radio stations change the picture behind one address. */
const KNOWN_MS = 60_000;

/** Undefined if the cover cannot be had. Never rejects, and ends by itself. */
export type FetchCover = (url: string) => Promise<ImageAnswer | undefined>;

interface CachedCover {
  /** Undefined if the last attempt failed. */
  readonly tag: string | undefined;
  readonly until: number;
}

export class WebCovers {
  readonly #fetch: FetchCover;
  readonly #clock: Clock;
  readonly #known = new Map<string, CachedCover>();
  #underWay = 0;

  constructor(fetch: FetchCover, clock: Clock) {
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /** `held` is the tag of a cover whose bytes the caller has. */
  async read(url: string, held: string | undefined): Promise<CoverAnswer> {
    const known = this.#known.get(url);
    const isFresh = known !== undefined && this.#clock.monotonic() < known.until;
    if (isFresh && known.tag === undefined) return { location: url };
    if (isFresh && known.tag === held) return 'held';
    if (this.#underWay >= FETCHES_MAX) return { location: url };
    this.#underWay += 1;
    const cover = await this.#fetch(url);
    this.#underWay -= 1;
    this.#remember(url, cover?.tag);
    if (cover === undefined) return { location: url };
    return cover.tag === held ? 'held' : cover;
  }

  #remember(url: string, tag: string | undefined): void {
    this.#known.delete(url);
    this.#known.set(url, { tag, until: this.#clock.monotonic() + KNOWN_MS });
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
  }
}
