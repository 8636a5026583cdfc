// Answers requests for the covers of players. Those on the node are read one at a time, because a disk that does not answer blocks one of
// the process's few file threads. cover.ts decides which images may be served.

import { type Clock, within } from '../../clock.js';
import type { Answer, CoverAnswer } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { PlayersBus } from '../bus/bus.js';
import { coverOf } from './cover.js';
import type { Player } from './player.js';
import type { WebCovers } from './web-covers.js';

/** From the request to the answer; fetching from the web comes on top. */
const ANSWER_MAX_MS = 4_000;
/** The maximum number of players: more requests mean that the disk does not answer. */
const WAITING_MAX = 32;

const NONE = failure('no-cover', 'The player names no image that may be served');

/** The player that names a cover. */
type CoverPlayer = Pick<Player, 'facts' | 'owner'>;

export class CoverReader {
  readonly #bus: Pick<PlayersBus, 'call'>;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();
  readonly #web: WebCovers | undefined;
  #waiting = 0;

  /** Without `web`, clients are sent to covers on the web. */
  constructor(bus: Pick<PlayersBus, 'call'>, clock: Clock, web?: WebCovers) {
    this.#bus = bus;
    this.#clock = clock;
    this.#web = web;
  }

  async answer(player: CoverPlayer, held: string | undefined): Promise<Answer> {
    const lastAt = this.#clock.monotonic() + ANSWER_MAX_MS;
    for (;;) {
      const { artUrl } = player.facts.metadata;
      const answer = await this.#named(player, held);
      const cover = answer.ok ? answer.cover : undefined;
      if (this.#web === undefined || typeof cover !== 'object' || !('location' in cover)) return answer;
      const fetched = await this.#web.read(cover.location, held);
      // While the web answers slowly, the player may have gone to another track.
      const isOld = player.facts.metadata.artUrl !== artUrl;
      if (!isOld || this.#clock.monotonic() >= lastAt) return { ok: true, cover: fetched };
    }
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
