// Answers requests for the covers of players. Those on the node are read one at a time, because a disk that does not answer blocks one of
// the process's few file threads. cover.ts decides which images may be served.

import { type Clock, within } from '../../clock.js';
import type { Answer, CoverAnswer } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { Caller } from '../bus/bus.js';
import { inTurn } from '../turns.js';
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

/** Answers a request; `held` is the tag of a cover whose bytes the caller has: the gateway keeps them. */
type AnswerCover = (player: CoverPlayer, held: string | undefined) => Promise<Answer>;

/** Without `fetch`, clients are sent to covers on the web. */
export function coverReader(bus: Caller<'players'>, clock: Clock, fetch?: FetchCover): AnswerCover {
  const readNext = inTurn();
  let waiting = 0;
  const named: AnswerCover = async (player, held) => {
    const { artUrl, hasLongArtUrl } = player.facts.metadata;
    if (artUrl === undefined && !hasLongArtUrl) return NONE;
    const late = failure('timeout', 'The cover cannot be read now');
    if (waiting >= WAITING_MAX) return late;
    waiting += 1;
    const reading = readNext(async (): Promise<Answer> => {
      const url = artUrl ?? (await longUrl(bus, player));
      const cover = url === undefined ? undefined : await coverOf(url, held, process.getuid?.() ?? 0);
      waiting -= 1;
      return cover === undefined ? NONE : { ok: true, cover };
    });
    return (await within(clock, ANSWER_MAX_MS, reading)) ?? late;
  };
  if (fetch === undefined) return named;
  const fetched = webCovers(clock, fetch);
  return async (player, held) => {
    const answer = await named(player, held);
    const cover = answer.ok ? answer.cover : undefined;
    if (typeof cover !== 'object' || !('location' in cover)) return answer;
    return { ok: true, cover: await fetched(cover.location, held) };
  };
}

/** The function that has a cover fetched, unless it is known what comes of that. */
function webCovers(clock: Clock, fetch: FetchCover) {
  const known = new Map<string, KnownCover>();
  let fetches = 0;
  return async (url: string, held: string | undefined): Promise<CoverAnswer> => {
    const elsewhere = { location: url };
    const last = known.get(url);
    if (last !== undefined && clock.monotonic() < last.until) {
      if (last.tag === undefined) return elsewhere;
      if (last.tag === held) return 'held';
    }
    if (fetches >= FETCHES_MAX) return elsewhere;
    fetches += 1;
    const cover = await fetch(url);
    fetches -= 1;
    known.delete(url);
    known.set(url, { tag: cover?.tag, until: clock.monotonic() + KNOWN_MS });
    const [oldest] = known.keys();
    if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest);
    if (cover === undefined) return elsewhere;
    return cover.tag === held ? 'held' : cover;
  };
}

/** The URL with an embedded image, read from the player each time: it is not kept, so that many of them need no memory. */
async function longUrl(bus: Caller<'players'>, { owner }: CoverPlayer): Promise<string | undefined> {
  const options = { path: PLAYER_PATH, deadlineMs: ANSWER_MAX_MS };
  const outcome = await bus.call(playerMethods(owner).getAll, [PLAYER_INTERFACE], options);
  const metadata: unknown = outcome.ok ? outcome.value['Metadata'] : undefined;
  if (typeof metadata !== 'object' || metadata === null || !('mpris:artUrl' in metadata)) return undefined;
  const url = metadata['mpris:artUrl'];
  return typeof url === 'string' ? url : undefined;
}
