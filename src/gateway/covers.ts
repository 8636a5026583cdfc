// Serves the covers of players. At each request the backend decides what may be served. Each player's newest
// cover is cached, as far as the bound allows.

import { type Clock, within } from '../host/clock.js';
import { SharedWork } from '../host/turns.js';
import type { CoverAnswer, PlayersCommand } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import type { Backends } from '../protocol/actor/messages.js';
import { type Result, success } from '../protocol/actor/result.js';
import { type Problem, problemReply } from './problem.js';
import { type HttpReply, isMatch, REVALIDATE } from './reply.js';

/** The bound is 16 MiB for all players together; one cover has at most 8 MiB. */
const CACHED_MAX_BYTES = 16 << 20;
/**
 * The longest time from a request to its answer. It includes the wait until an earlier question to the
 * backend ends.
 */
const REPLY_MAX_MS = 10_000;

const TIMEOUT = failure('timeout', 'The cover cannot be read now');

type CoverCommand = Extract<PlayersCommand, { readonly do: 'cover' }>;
type CachedCover = Extract<CoverAnswer, { readonly bytes: Uint8Array }>;
type CoverResult = Result<Exclude<CoverAnswer, 'unchanged'>, Problem>;

export class Covers {
  readonly #backends: Backends;
  readonly #clock: Clock;
  /** By player, the least recently requested cover first. */
  readonly #cached = new Map<string, CachedCover>();
  /** By player, the questions to the backend that are under way or due. */
  readonly #questions = new Map<string, SharedWork<CoverResult>>();

  constructor(backends: Backends, clock: Clock) {
    this.#backends = backends;
    this.#clock = clock;
  }

  /** `ifNoneMatch` is the header's text, '' when absent. */
  async reply(player: string, ifNoneMatch: string): Promise<HttpReply> {
    const found = (await within(this.#clock, REPLY_MAX_MS, this.#newest(player))) ?? TIMEOUT;
    if (!found.ok) return problemReply(found.error);
    const cover = found.value;
    if ('location' in cover)
      return { status: 307, headers: [['Location', cover.location], REVALIDATE], body: '' };
    const etag = `"${cover.tag}"`;
    const validators = [['ETag', etag], REVALIDATE] as const;
    if (ifNoneMatch !== '' && isMatch(ifNoneMatch, etag)) return { status: 304, headers: validators };
    // Without `nosniff` a browser might show an image as a page, and run its script. Under the policy below,
    // such a page can load nothing and run no script.
    const headers = [
      ['Content-Type', cover.type],
      ['X-Content-Type-Options', 'nosniff'],
      ['Content-Security-Policy', "default-src 'none'; sandbox"],
      ...validators,
    ] as const;
    return { status: 200, headers, body: cover.bytes };
  }

  /**
   * Resolves with the answer to a question that begins after the call, because a question that began earlier
   * may get the cover of an earlier track. All calls during one question share the next question.
   */
  async #newest(player: string): Promise<CoverResult> {
    const question = this.#questions.get(player) ?? new SharedWork(() => this.#fetch(player));
    this.#questions.set(player, question);
    try {
      return await question.run();
    } finally {
      if (question.isIdle) this.#questions.delete(player);
    }
  }

  async #fetch(player: string): Promise<CoverResult> {
    const cached = this.#cached.get(player);
    const command: CoverCommand =
      cached === undefined ? { do: 'cover', player } : { do: 'cover', player, cachedTag: cached.tag };
    const answer = await this.#backends.ask('players', command);
    // `#cached` must have the most recently requested cover last. So the cached cover is deleted here, and
    // `#cache` adds the player's cover at the end, even if it is unchanged.
    this.#cached.delete(player);
    if (!answer.ok) return answer;
    const cover = answer.value.cover === 'unchanged' ? cached : answer.value.cover;
    if (cover === undefined) throw new Error('The backend answered without a cover');
    if ('bytes' in cover) this.#cache(player, cover);
    return success(cover);
  }

  /**
   * Adds the cover. If the cached covers exceed the bound, those that were requested least recently are
   * deleted. In this way the covers of removed players disappear, too.
   */
  #cache(player: string, cover: CachedCover): void {
    this.#cached.set(player, cover);
    let cachedBytes = 0;
    for (const { bytes } of this.#cached.values()) cachedBytes += bytes.byteLength;
    for (const [leastRecentPlayer, { bytes }] of this.#cached) {
      if (cachedBytes <= CACHED_MAX_BYTES) return;
      this.#cached.delete(leastRecentPlayer);
      cachedBytes -= bytes.byteLength;
    }
  }
}
