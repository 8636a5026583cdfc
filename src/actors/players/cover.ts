// The covers of players (docs/players.md, "Covers"): decides which may be served, and reads them. A player
// chooses the path and the whole network can ask, so only images that every user of the node may read are
// served. Those on the node are read one at a time, because a disk that does not answer blocks one of the
// process's few file threads.

import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { type Clock, within } from '../../host/clock.js';
import type { Answer, CoverAnswer } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { success } from '../../protocol/actor/result.js';
import { PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { Caller } from '../bus/bus.js';
import { percentDecoded } from '../text.js';
import { Turns } from '../turns.js';
import { isDataUrl } from './metadata.js';
import type { Player } from './player.js';

/** The time from the request to the answer, without a fetch from the web. */
const ANSWER_MAX_MS = 4_000;
/** There are at most 32 players, so more requests mean that the disk does not answer. */
const WAITING_MAX = 32;

/** Fetches at a time. Each may keep a whole cover in memory. */
const FETCHES_MAX = 4;
/**
 * Addresses on the web whose last fetch is remembered, so that several pages that show one cover cost one
 * fetch.
 */
const TRIED_MAX = 32;
/** The time is short because some radio stations change the picture behind one address. */
const TRIED_MS = 60_000;

const NONE = failure('no-cover', 'The player names no image that may be served');

type CoverPlayer = Pick<Player, 'facts' | 'owner'>;

/** Undefined if the cover cannot be fetched. Never rejects, and ends within a time of its own. */
export type FetchCover = (url: string) => Promise<ImageAnswer | undefined>;

/** Answers requests for the covers of players. */
export class CoverReader {
  readonly #bus: Caller<'players'>;
  readonly #clock: Clock;
  /** Undefined if clients are sent to covers on the web. */
  readonly #web: WebCovers | undefined;
  readonly #turns = new Turns();
  /** Requests whose cover is being read, or waits for its turn. */
  #waiting = 0;

  /** `fetch`: undefined if the node fetches no covers. */
  constructor(bus: Caller<'players'>, clock: Clock, fetch?: FetchCover) {
    this.#bus = bus;
    this.#clock = clock;
    this.#web = fetch && new WebCovers(clock, fetch);
  }

  /** `cachedTag` is the tag of a cover whose bytes the caller has: the gateway keeps them. */
  async answer(player: CoverPlayer, cachedTag: string | undefined): Promise<Answer> {
    const answer = await this.#named(player, cachedTag);
    const cover = answer.ok ? answer.value.cover : undefined;
    if (this.#web === undefined || typeof cover !== 'object' || !('location' in cover)) return answer;
    return success({ cover: await this.#web.cover(cover.location, cachedTag) });
  }

  /** The cover that the player names; one on the web as its address. */
  async #named(player: CoverPlayer, cachedTag: string | undefined): Promise<Answer> {
    const { artUrl, hasLongArtUrl } = player.facts.metadata;
    if (artUrl === undefined && !hasLongArtUrl) return NONE;
    const late = failure('timeout', 'The cover cannot be read now');
    if (this.#waiting >= WAITING_MAX) return late;
    this.#waiting += 1;
    const reading = this.#turns
      .run(() => this.#read(player, artUrl, cachedTag))
      .finally(() => {
        this.#waiting -= 1;
      });
    return (await within(this.#clock, ANSWER_MAX_MS, reading)) ?? late;
  }

  async #read(
    player: CoverPlayer,
    artUrl: string | undefined,
    cachedTag: string | undefined,
  ): Promise<Answer> {
    const url = artUrl ?? (await longUrl(this.#bus, player));
    const cover = url === undefined ? undefined : await coverOf(url, process.getuid?.() ?? 0, cachedTag);
    return cover === undefined ? NONE : success({ cover });
  }
}

/** Fetches covers from the web, and remembers for a while which addresses it has tried. */
class WebCovers {
  readonly #clock: Clock;
  readonly #fetch: FetchCover;
  /** By address. Without a tag if the last attempt failed. */
  readonly #tried = new Map<string, { readonly tag: string | undefined; readonly until: number }>();
  #fetches = 0;

  constructor(clock: Clock, fetch: FetchCover) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  /** The image, or its address for the client if it cannot be fetched now. */
  async cover(url: string, cachedTag: string | undefined): Promise<CoverAnswer> {
    const redirect = { location: url };
    const last = this.#tried.get(url);
    if (last !== undefined && this.#clock.monotonic() < last.until) {
      if (last.tag === undefined) return redirect;
      if (last.tag === cachedTag) return 'unchanged';
    }
    if (this.#fetches >= FETCHES_MAX) return redirect;
    this.#fetches += 1;
    const cover = await this.#fetch(url).finally(() => {
      this.#fetches -= 1;
    });
    this.#remember(url, cover?.tag);
    if (cover === undefined) return redirect;
    return cover.tag === cachedTag ? 'unchanged' : cover;
  }

  #remember(url: string, tag: string | undefined): void {
    this.#tried.delete(url);
    this.#tried.set(url, { tag, until: this.#clock.monotonic() + TRIED_MS });
    const [oldest] = this.#tried.keys();
    if (this.#tried.size > TRIED_MAX && oldest !== undefined) this.#tried.delete(oldest);
  }
}

/**
 * The URL with an embedded image, read from the player each time: it is not kept, so that many of them need
 * no memory.
 */
async function longUrl(bus: Caller<'players'>, { owner }: CoverPlayer): Promise<string | undefined> {
  const options = { path: PLAYER_PATH, deadlineMs: ANSWER_MAX_MS };
  const outcome = await bus.call(playerMethods(owner).getAll, [PLAYER_INTERFACE], options);
  const metadata: unknown = outcome.ok ? outcome.value['Metadata'] : undefined;
  if (typeof metadata !== 'object' || metadata === null || !('mpris:artUrl' in metadata)) return undefined;
  const url = metadata['mpris:artUrl'];
  return typeof url === 'string' ? url : undefined;
}

export const COVER_MAX_BYTES = 8 << 20;
/** The URL becomes a header of the answer, whole. */
const LOCATION_MAX_CHARACTERS = 2048;
/** A path whose URL is longer cannot be opened. */
const URL_MAX_UNITS = 16 * 1024;
const TAG_CHARACTERS = 22;
/** The length of the longest signature below. */
const MAGIC_BYTES = 12;

/** Opens no link, does not wait for the writer of a FIFO, and makes no terminal that of this process. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export type ImageAnswer = Extract<CoverAnswer, { readonly bytes: Uint8Array }>;

const BEGINNINGS: readonly (readonly [type: string, pattern: RegExp])[] = [
  ['image/jpeg', /^ffd8ff/],
  ['image/png', /^89504e470d0a1a0a/],
  ['image/gif', /^47494638(?:37|39)61/],
  ['image/webp', /^52494646.{8}57454250/],
];

/**
 * Undefined if nothing may be served; the network must not learn why. `cachedTag` is the tag of the cover
 * that the caller has, and `uid` the user of this process. Never rejects.
 */
export async function coverOf(
  url: string,
  uid: number,
  cachedTag?: string,
): Promise<CoverAnswer | undefined> {
  if (isDataUrl(url)) return dataCover(url, cachedTag);
  if (url.length > URL_MAX_UNITS || !URL.canParse(url)) return undefined;
  const { protocol, host, pathname, href } = new URL(url);
  if (protocol === 'http:' || protocol === 'https:')
    return href.length > LOCATION_MAX_CHARACTERS ? undefined : { location: href };
  if (protocol !== 'file:' || (host !== '' && host !== 'localhost')) return undefined;
  return fileCover(percentDecoded(pathname), uid, cachedTag);
}

function dataCover(url: string, cachedTag: string | undefined): CoverAnswer | undefined {
  const comma = url.indexOf(',');
  if (comma < 0) return undefined;
  const bytes = percentDecoded(url.slice(comma + 1));
  const isBase64 = /;\s*base64\s*$/i.test(url.slice(0, comma));
  const cover = imageOf(isBase64 ? Buffer.from(bytes.toString('latin1'), 'base64') : bytes);
  return cover !== undefined && cover.tag === cachedTag ? 'unchanged' : cover;
}

export function imageOf(bytes: Buffer): ImageAnswer | undefined {
  const type = typeOf(bytes);
  if (type === undefined || bytes.length > COVER_MAX_BYTES) return undefined;
  return { tag: tagOf(bytes), type, bytes: Uint8Array.from(bytes) };
}

async function fileCover(path: Buffer, uid: number, cachedTag?: string): Promise<CoverAnswer | undefined> {
  try {
    // Opening a device can have an effect on it.
    if (!(await lstat(path)).isFile()) return undefined;
    const file = await open(path, FLAGS);
    return await openedCover(file, uid, cachedTag).finally(() => file.close());
  } catch {
    return undefined;
  }
}

async function openedCover(
  file: FileHandle,
  uid: number,
  cachedTag?: string,
): Promise<CoverAnswer | undefined> {
  const stats = await file.stat({ bigint: true });
  const isOurs = stats.uid === BigInt(uid);
  const isForAll = (stats.mode & BigInt(constants.S_IROTH)) !== 0n;
  if (!stats.isFile() || stats.size > COVER_MAX_BYTES || !(isOurs || isForAll)) return undefined;
  const tag = tagOf(imageIdentity(stats));
  if (tag === cachedTag) return 'unchanged';
  const bytes = new Uint8Array(Number(stats.size));
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  const type = typeOf(Buffer.from(bytes.buffer));
  if (type === undefined || bytesRead < bytes.length) return undefined;
  // The file may have been written to or cut meanwhile.
  const after = await file.stat({ bigint: true });
  return tagOf(imageIdentity(after)) === tag ? { tag, type, bytes } : undefined;
}

function imageIdentity({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): Buffer {
  return Buffer.from([dev, ino, size, mtimeNs, ctimeNs].join(' '));
}

/** Equal tags mean equal bytes. The tag does not reveal its input. */
function tagOf(identity: Buffer): string {
  return createHash('sha256').update(identity).digest('base64url').slice(0, TAG_CHARACTERS);
}

function typeOf(bytes: Buffer): string | undefined {
  const beginning = bytes.toString('hex', 0, MAGIC_BYTES);
  return BEGINNINGS.find(([, pattern]) => pattern.test(beginning))?.[0];
}
