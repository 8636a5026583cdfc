// Serves the covers of players: asks the backend for the current cover at each request, and caches the newest
// bytes of each player. No image is decoded: the backend decides what is an image and may be served.

import type { CoverAnswer } from '../protocol/actor/commands.js';
import type { Backends } from '../protocol/actor/messages.js';
import { type Result, success } from '../protocol/actor/result.js';
import { type Problem, problemReply } from './problem.js';
import { type HttpReply, isMatch, REVALIDATE } from './reply.js';

/** For all players together; one cover has at most 8 MiB. */
const KEPT_MAX_BYTES = 16 << 20;

type KeptCover = Extract<CoverAnswer, { readonly bytes: Uint8Array }>;
type CoverResult = Result<Exclude<CoverAnswer, 'unchanged'>, Problem>;

export class Covers {
  readonly #backends: Backends;
  readonly #kept = new Map<string, KeptCover>();
  /** Concurrent requests for the same cover share one answer. */
  readonly #pending = new Map<string, Promise<CoverResult>>();

  constructor(backends: Backends) {
    this.#backends = backends;
  }

  /** `ifNoneMatch` is the header's text, '' when absent. */
  async reply(player: string, ifNoneMatch: string): Promise<HttpReply> {
    const pending =
      this.#pending.get(player) ?? this.#fetch(player).finally(() => this.#pending.delete(player));
    this.#pending.set(player, pending);
    const found = await pending;
    if (!found.ok) return problemReply(found.error);
    const cover = found.value;
    if ('location' in cover)
      return { status: 307, headers: [['Location', cover.location], REVALIDATE], body: '' };
    const etag = `"${cover.tag}"`;
    const validators = [['ETag', etag], REVALIDATE] as const;
    if (ifNoneMatch !== '' && isMatch(ifNoneMatch, etag)) return { status: 304, headers: validators };
    // Without `nosniff` a browser might show an image as a page, and run its script. With the policy such a
    // page can do nothing.
    const headers = [
      ['Content-Type', cover.type],
      ['X-Content-Type-Options', 'nosniff'],
      ['Content-Security-Policy', "default-src 'none'; sandbox"],
      ...validators,
    ] as const;
    return { status: 200, headers, body: cover.bytes };
  }

  async #fetch(player: string): Promise<CoverResult> {
    const cached = this.#kept.get(player);
    const command = { do: 'cover', player, ...(cached && { cachedTag: cached.tag }) } as const;
    const answer = await this.#backends.ask('players', command);
    this.#kept.delete(player);
    if (!answer.ok) return answer;
    const cover = answer.value.cover === 'unchanged' ? cached : answer.value.cover;
    if (cover === undefined) throw new Error('The backend answered without a cover');
    if ('bytes' in cover) this.#keep(player, cover);
    return success(cover);
  }

  /** Drops the covers that were requested least recently, such as those of players that have gone. */
  #keep(player: string, cover: KeptCover): void {
    this.#kept.set(player, cover);
    let keptBytes = 0;
    for (const { bytes } of this.#kept.values()) keptBytes += bytes.byteLength;
    for (const [oldest, { bytes }] of this.#kept) {
      if (keptBytes <= KEPT_MAX_BYTES) return;
      this.#kept.delete(oldest);
      keptBytes -= bytes.byteLength;
    }
  }
}
