// Answers requests for the covers of players. Those on the node are read one at a time, because a disk that does not answer blocks one of
// the process's few file threads. cover.ts decides which images may be served.

import { type Clock, within } from '../../clock.js';
import type { Answer, CoverAnswer } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { Bus } from '../bus/bus.js';
import { coverOf, type ImageAnswer } from './cover.js';
import type { Player } from './player.js';

/** From the request to the answer; fetching from the web comes on top. */
const ANSWER_MAX_MS = 4_000;
/** The maximum number of players: more requests mean that the disk does not answer. */
const WAITING_MAX = 32;

/** Fetches at a time: each may hold a whole cover. */
const FETCHES_MAX = 4;
/** Addresses in the web of which it is known for a while what came of them, so that several pages that show one cover cost one fetch. */
const KNOWN_MAX = 32;
/** Some radio stations change the picture behind one address. */
const KNOWN_MS = 60_000;

const NONE = failure('no-cover', 'The player names no image that may be served');

/** The player that names a cover. */
type CoverPlayer = Pick<Player, 'facts' | 'owner'>;

/** Undefined if the cover cannot be had. Never rejects, and ends by itself. */
export type FetchCover = (url: string) => Promise<ImageAnswer | undefined>;

interface KnownCover {
  /** Undefined if the last attempt failed. */
  readonly tag: string | undefined;
  readonly until: number;
}

export class CoverReader {
  readonly #bus: Pick<Bus<'players'>, 'call'>;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();
  readonly #fetch: FetchCover | undefined;
  #waiting = 0;
  #fetches = 0;
  readonly #known = new Map<string, KnownCover>();

  /** Without `fetch`, clients are sent to covers on the web. */
  constructor(bus: Pick<Bus<'players'>, 'call'>, clock: Clock, fetch?: FetchCover) {
    this.#bus = bus;
    this.#clock = clock;
    this.#fetch = fetch;
  }

  async answer(player: CoverPlayer, held: string | undefined): Promise<Answer> {
    const answer = await this.#named(player, held);
    const cover = answer.ok ? answer.cover : undefined;
    if (this.#fetch === undefined || typeof cover !== 'object' || !('location' in cover)) return answer;
    return { ok: true, cover: await this.#fetched(this.#fetch, cover.location, held) };
  }

  /** `held` is the tag of a cover whose bytes the caller has: the gateway keeps them. */
  async #fetched(fetch: FetchCover, url: string, held: string | undefined): Promise<CoverAnswer> {
    const elsewhere = { location: url };
    const known = this.#known.get(url);
    if (known !== undefined && this.#clock.monotonic() < known.until) {
      if (known.tag === undefined) return elsewhere;
      if (known.tag === held) return 'held';
    }
    if (this.#fetches >= FETCHES_MAX) return elsewhere;
    this.#fetches += 1;
    const cover = await fetch(url);
    this.#fetches -= 1;
    this.#known.delete(url);
    this.#known.set(url, { tag: cover?.tag, until: this.#clock.monotonic() + KNOWN_MS });
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
    if (cover === undefined) return elsewhere;
    return cover.tag === held ? 'held' : cover;
  }

  async #named(player: CoverPlayer, held: string | undefined): Promise<Answer> {
    const { artUrl, hasLongArtUrl } = player.facts.metadata;
    if (artUrl === undefined && !hasLongArtUrl) return NONE;
    const late = failure('timeout', 'The cover cannot be read now');
    if (this.#waiting >= WAITING_MAX) return late;
    this.#waiting += 1;
    const reading = this.#last.then(() => this.#read(player, artUrl, held));
    this.#last = reading.finally(() => {
      this.#waiting -= 1;
    });
    return (await within(this.#clock, ANSWER_MAX_MS, reading)) ?? late;
  }

  async #read(player: CoverPlayer, artUrl: string | undefined, held: string | undefined): Promise<Answer> {
    const url = artUrl ?? (await this.#longUrl(player));
    const cover: CoverAnswer | undefined =
      url === undefined ? undefined : await coverOf(url, held, process.getuid?.() ?? 0);
    return cover === undefined ? NONE : { ok: true, cover };
  }

  /** The URL with an embedded image, read from the player each time: it is not kept, so that many of them need no memory. */
  async #longUrl({ owner }: CoverPlayer): Promise<string | undefined> {
    const options = { path: PLAYER_PATH, deadlineMs: ANSWER_MAX_MS };
    const { getAll } = playerMethods(owner);
    const outcome = await this.#bus.call(getAll, [PLAYER_INTERFACE], options);
    const metadata: unknown = outcome.ok ? outcome.value['Metadata'] : undefined;
    if (typeof metadata !== 'object' || metadata === null || !('mpris:artUrl' in metadata)) return undefined;
    const url = metadata['mpris:artUrl'];
    return typeof url === 'string' ? url : undefined;
  }
}
