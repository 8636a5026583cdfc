// Decides which covers of players may be served, and reads them (docs/players.md, "Covers"). A player chooses
// the path and the whole network can ask, so no image is served that others on the node may not read. Covers
// on the node are read one at a time, because a disk that does not answer blocks one of the process's few
// file threads.

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

/**
 * The time from the request to the answer. A fetch from the web comes after that and has its own deadline.
 */
const ANSWER_MAX_MS = 4_000;
/** There are at most 32 players, so more requests that wait mean that the disk does not answer. */
const WAITING_MAX = 32;

/** Fetches from the web at one time. Each may keep a whole cover in memory. */
const FETCHES_MAX = 4;
/** Web addresses whose last fetch is remembered, so that several pages with one cover cause one fetch. */
const REMEMBERED_MAX = 32;
/** The time is short because some radio stations change the picture behind one address. */
const REMEMBERED_MS = 60_000;

const NO_COVER = failure('no-cover', 'The player names no image that may be served');

type CoverPlayer = Pick<Player, 'facts' | 'owner'>;

/** Fetches a cover from the web; undefined if that fails. Never rejects, and has a deadline of its own. */
export type FetchCover = (url: string) => Promise<ImageAnswer | undefined>;

/** Answers requests for the covers of players. */
export class CoverReader {
  readonly #bus: Caller<'players'>;
  readonly #clock: Clock;
  readonly #webCovers: WebCovers | undefined;
  readonly #turns = new Turns();
  /** How many requests run or wait for their turn, without fetches from the web. */
  #waiting = 0;

  /** `fetch`: undefined if the node fetches no covers, and redirects clients to the web instead. */
  constructor(bus: Caller<'players'>, clock: Clock, fetch?: FetchCover) {
    this.#bus = bus;
    this.#clock = clock;
    this.#webCovers = fetch && new WebCovers(clock, fetch);
  }

  /** `cachedTag` is the tag of a cover whose bytes the caller has, because the gateway keeps them. */
  async answer(player: CoverPlayer, cachedTag: string | undefined): Promise<Answer> {
    const answer = await this.#answerWithoutWeb(player, cachedTag);
    const cover = answer.ok ? answer.value.cover : undefined;
    const isOnWeb = typeof cover === 'object' && 'location' in cover;
    if (!isOnWeb || this.#webCovers === undefined) return answer;
    return success({ cover: await this.#webCovers.cover(cover.location, cachedTag) });
  }

  /** The cover that the player names, or its address if it is on the web. */
  async #answerWithoutWeb(player: CoverPlayer, cachedTag: string | undefined): Promise<Answer> {
    const { artUrl, hasLongArtUrl } = player.facts.metadata;
    if (artUrl === undefined && !hasLongArtUrl) return NO_COVER;
    const timeout = failure('timeout', 'The cover cannot be read now');
    if (this.#waiting >= WAITING_MAX) return timeout;
    this.#waiting += 1;
    const reading = this.#turns
      .run(() => this.#read(player, artUrl, cachedTag))
      .finally(() => {
        this.#waiting -= 1;
      });
    return (await within(this.#clock, ANSWER_MAX_MS, reading)) ?? timeout;
  }

  async #read(
    player: CoverPlayer,
    artUrl: string | undefined,
    cachedTag: string | undefined,
  ): Promise<Answer> {
    const url = artUrl ?? (await readLongUrl(this.#bus, player));
    if (url === undefined) return NO_COVER;
    const ownUid = process.getuid?.() ?? 0;
    const cover = await coverOf(url, ownUid, cachedTag);
    return cover === undefined ? NO_COVER : success({ cover });
  }
}

interface LastFetch {
  /** The tag of the cover; undefined if the fetch failed. */
  readonly tag: string | undefined;
  /** When this is forgotten, in monotonic ms. */
  readonly until: number;
}

/** Fetches covers from the web, and remembers for a while the result of the last fetch of each address. */
class WebCovers {
  readonly #clock: Clock;
  readonly #fetch: FetchCover;
  /** By address, the oldest first. */
  readonly #lastFetches = new Map<string, LastFetch>();
  #runningFetches = 0;

  constructor(clock: Clock, fetch: FetchCover) {
    this.#clock = clock;
    this.#fetch = fetch;
  }

  /**
   * The image; `unchanged` if the caller has it; or if it cannot be fetched now, its address, to which the
   * client is redirected.
   */
  async cover(url: string, cachedTag: string | undefined): Promise<CoverAnswer> {
    const redirect = { location: url };
    const last = this.#lastFetches.get(url);
    if (last !== undefined && this.#clock.monotonic() < last.until) {
      if (last.tag === undefined) return redirect;
      if (last.tag === cachedTag) return 'unchanged';
    }
    if (this.#runningFetches >= FETCHES_MAX) return redirect;
    this.#runningFetches += 1;
    const cover = await this.#fetch(url).finally(() => {
      this.#runningFetches -= 1;
    });
    this.#remember(url, cover?.tag);
    if (cover === undefined) return redirect;
    return cover.tag === cachedTag ? 'unchanged' : cover;
  }

  #remember(url: string, tag: string | undefined): void {
    // A map keeps the place of a key that is set again, so the key is deleted to become the newest.
    this.#lastFetches.delete(url);
    this.#lastFetches.set(url, { tag, until: this.#clock.monotonic() + REMEMBERED_MS });
    const [oldest] = this.#lastFetches.keys();
    if (this.#lastFetches.size > REMEMBERED_MAX && oldest !== undefined) this.#lastFetches.delete(oldest);
  }
}

/**
 * A cover's URL that is too long to be kept in memory, because it has the image itself. It is read from the
 * player for each request.
 */
async function readLongUrl(bus: Caller<'players'>, { owner }: CoverPlayer): Promise<string | undefined> {
  const options = { path: PLAYER_PATH, deadlineMs: ANSWER_MAX_MS };
  const properties = await bus.call(playerMethods(owner).getAll, [PLAYER_INTERFACE], options);
  const metadata: unknown = properties.ok ? properties.value['Metadata'] : undefined;
  if (typeof metadata !== 'object' || metadata === null || !('mpris:artUrl' in metadata)) return undefined;
  const url = metadata['mpris:artUrl'];
  return typeof url === 'string' ? url : undefined;
}

export const COVER_MAX_BYTES = 8 << 20;
/** A web address becomes a header of the answer, which must not become too long. */
const LOCATION_MAX_CHARACTERS = 2048;
/** The system opens no path with a longer URL: PATH_MAX is 4096 bytes, and each of them may become `%XX`. */
const URL_MAX_UNITS = 16 * 1024;
const TAG_CHARACTERS = 22;

/** Opens no link, does not wait for the writer of a FIFO, and takes no terminal as that of this process. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export type ImageAnswer = Extract<CoverAnswer, { readonly bytes: Uint8Array }>;

/** The length of the longest pattern below. */
const MAGIC_BYTES = 12;
/** How images begin, in hexadecimal digits. */
const BEGINNINGS: readonly (readonly [type: string, pattern: RegExp])[] = [
  ['image/jpeg', /^ffd8ff/],
  ['image/png', /^89504e470d0a1a0a/],
  ['image/gif', /^47494638(?:37|39)61/],
  ['image/webp', /^52494646.{8}57454250/],
];

/**
 * The cover at a URL. Undefined if none may be served; no reason is given, because the network must not
 * learn it. `ownUid` is the user of this process, and `cachedTag` the tag of the cover that the caller has.
 * Never rejects.
 */
export async function coverOf(
  url: string,
  ownUid: number,
  cachedTag?: string,
): Promise<CoverAnswer | undefined> {
  if (isDataUrl(url)) return dataCover(url, cachedTag);
  if (url.length > URL_MAX_UNITS || !URL.canParse(url)) return undefined;
  const { protocol, host, pathname, href } = new URL(url);
  if (protocol === 'http:' || protocol === 'https:')
    return href.length > LOCATION_MAX_CHARACTERS ? undefined : { location: href };
  const isOnThisNode = host === '' || host === 'localhost';
  if (protocol !== 'file:' || !isOnThisNode) return undefined;
  return fileCover(percentDecoded(pathname), ownUid, cachedTag);
}

/** The image in a `data:` URL, in base64 or with percent escapes. */
function dataCover(url: string, cachedTag: string | undefined): CoverAnswer | undefined {
  const comma = url.indexOf(',');
  if (comma < 0) return undefined;
  const content = percentDecoded(url.slice(comma + 1));
  const isBase64 = /;\s*base64\s*$/i.test(url.slice(0, comma));
  const bytes = isBase64 ? Buffer.from(content.toString('latin1'), 'base64') : content;
  const cover = imageOf(bytes);
  return cover !== undefined && cover.tag === cachedTag ? 'unchanged' : cover;
}

/** Undefined if the bytes are no image of a known type, or too many. */
export function imageOf(bytes: Buffer): ImageAnswer | undefined {
  const type = typeOf(bytes);
  if (type === undefined || bytes.length > COVER_MAX_BYTES) return undefined;
  return { tag: tagOf(bytes), type, bytes: Uint8Array.from(bytes) };
}

async function fileCover(path: Buffer, ownUid: number, cachedTag?: string): Promise<CoverAnswer | undefined> {
  try {
    // A device must not be opened, because that can have an effect on it.
    if (!(await lstat(path)).isFile()) return undefined;
    const file = await open(path, OPEN_FLAGS);
    return await readCover(file, ownUid, cachedTag).finally(() => file.close());
  } catch {
    return undefined;
  }
}

async function readCover(
  file: FileHandle,
  ownUid: number,
  cachedTag?: string,
): Promise<CoverAnswer | undefined> {
  const stats = await file.stat({ bigint: true });
  const isOwn = stats.uid === BigInt(ownUid);
  const isReadableByAll = (stats.mode & BigInt(constants.S_IROTH)) !== 0n;
  // The file may have become another one since `lstat`.
  if (!stats.isFile() || stats.size > COVER_MAX_BYTES || !(isOwn || isReadableByAll)) return undefined;
  const tag = tagOf(fileIdentity(stats));
  if (tag === cachedTag) return 'unchanged';
  const bytes = new Uint8Array(Number(stats.size));
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  const type = typeOf(Buffer.from(bytes.buffer));
  if (type === undefined || bytesRead < bytes.length) return undefined;
  // The file may have been written to while it was read, so that the bytes are of two images.
  const statsAfterwards = await file.stat({ bigint: true });
  const isSameFile = tagOf(fileIdentity(statsAfterwards)) === tag;
  return isSameFile ? { tag, type, bytes } : undefined;
}

/** Bytes that differ once the file has been replaced or written to. */
function fileIdentity({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): Buffer {
  return Buffer.from([dev, ino, size, mtimeNs, ctimeNs].join(' '));
}

/** Equal tags mean equal bytes of the image. A tag does not reveal what it is made of. */
function tagOf(identity: Buffer): string {
  return createHash('sha256').update(identity).digest('base64url').slice(0, TAG_CHARACTERS);
}

function typeOf(bytes: Buffer): string | undefined {
  const beginning = bytes.toString('hex', 0, MAGIC_BYTES);
  return BEGINNINGS.find(([, pattern]) => pattern.test(beginning))?.[0];
}
