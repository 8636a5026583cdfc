// Decides which covers of players may be served, and reads these covers (docs/players.md, "Covers"). A player
// chooses the path of its cover, and the whole network can request the cover. So a file is served only if it
// belongs to the daemon's user, or if all users may read it.

import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { type Clock, within } from '../../host/clock.js';
import { Turns } from '../../host/turns.js';
import type { Answer, CoverAnswer } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { success } from '../../protocol/actor/result.js';
import { PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { BusCaller } from '../bus/bus.js';
import { readUntilEnd } from '../small-file.js';
import { percentDecoded } from '../text.js';
import { isDataUrl } from './metadata.js';
import type { Player } from './player.js';

/**
 * The longest time until the answer to a request, without the time of a fetch from the web. The fetch comes
 * last, and has a deadline of its own.
 */
const ANSWER_MAX_MS = 4_000;
/**
 * A request that was answered with a timeout stays open until the disk or the player answers. Without such a
 * request, this bound refuses nothing: there are at most 32 players (backend.ts), and the gateway has at most
 * one unanswered request for each player (gateway/covers.ts).
 */
const OPEN_REQUESTS_MAX = 32;

/** At most this many fetches from the web run at one time. Each may keep a whole cover in memory. */
const FETCHES_MAX = 4;
/**
 * The last fetch of a web address is remembered, for at most this many addresses. So several pages that
 * display the same cover cause only one fetch.
 */
const REMEMBERED_MAX = 32;
/** This time is short, because some radio stations change the picture behind one address. */
const REMEMBERED_MS = 60_000;

export const COVER_MAX_BYTES = 8 << 20;
/** A web address becomes a header of the answer. A header must not be too long. */
const LOCATION_MAX_CHARACTERS = 2048;
/**
 * Only a `data:` URL may be longer. A path has at most 4096 bytes (PATH_MAX), and each byte may become `%XX`
 * in the URL. So the system cannot open the path in a longer `file:` URL.
 */
const URL_MAX_UNITS = 16 * 1024;
/** Each character has 6 bits of the hash. With 132 bits, two covers never get the same tag by chance. */
const TAG_CHARACTERS = 22;

/** With these flags, `open` refuses a link, does not wait for a FIFO, and gives the process no terminal. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** The beginning of a WebP file is the longest: `RIFF`, four bytes of the file's length, and `WEBP`. */
const LONGEST_BEGINNING_BYTES = 12;
/** The beginnings of images, as two hexadecimal digits per byte. A GIF begins with `GIF87a` or `GIF89a`. */
const IMAGE_TYPES = [
  { type: 'image/jpeg', beginning: /^ffd8ff/ },
  { type: 'image/png', beginning: /^89504e470d0a1a0a/ },
  { type: 'image/gif', beginning: /^47494638(?:37|39)61/ },
  { type: 'image/webp', beginning: /^52494646.{8}57454250/ },
] as const;

const NO_COVER = failure('no-cover', 'The player names no image that may be served');

export type ImageAnswer = Extract<CoverAnswer, { readonly bytes: Uint8Array }>;
type CoverPlayer = Pick<Player, 'facts' | 'owner'>;

/** Fetches a cover from the web; undefined if that fails. Never rejects, and has a deadline of its own. */
export type FetchCover = (url: string) => Promise<ImageAnswer | undefined>;

export class CoverReader {
  readonly #bus: BusCaller<'players'>;
  readonly #clock: Clock;
  readonly #webCovers: WebCovers | undefined;
  /**
   * Covers are read one at a time. So a disk that does not answer blocks only one of the few threads that the
   * process has for files.
   */
  readonly #turns = new Turns();
  /** How many requests run or wait for their turn. A request that waits for the web does not count. */
  #openRequests = 0;

  /** `fetchCover`: undefined if the node fetches no covers, and redirects clients to the web instead. */
  constructor(bus: BusCaller<'players'>, clock: Clock, fetchCover?: FetchCover) {
    this.#bus = bus;
    this.#clock = clock;
    this.#webCovers = fetchCover === undefined ? undefined : new WebCovers(clock, fetchCover);
  }

  /** `cachedTag`: the tag of the player's cover that the gateway has cached; undefined if there is none. */
  async answer(player: CoverPlayer, cachedTag: string | undefined): Promise<Answer> {
    const answer = await this.#answerWithoutWeb(player, cachedTag);
    const cover = answer.ok ? answer.value.cover : undefined;
    const isOnWeb = typeof cover === 'object' && 'location' in cover;
    if (!isOnWeb || this.#webCovers === undefined) return answer;
    return success({ cover: await this.#webCovers.cover(cover.location, cachedTag) });
  }

  /** Answers with the cover that the player names, or with its address if the cover is on the web. */
  async #answerWithoutWeb(player: CoverPlayer, cachedTag: string | undefined): Promise<Answer> {
    const { artUrl, hasLongArtUrl } = player.facts.metadata;
    if (artUrl === undefined && !hasLongArtUrl) return NO_COVER;
    const timeout = failure('timeout', 'The cover cannot be read now');
    if (this.#openRequests >= OPEN_REQUESTS_MAX) return timeout;
    this.#openRequests += 1;
    const reading = this.#turns
      .run(() => this.#read(player, artUrl, cachedTag))
      .finally(() => {
        this.#openRequests -= 1;
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
  /** In monotonic ms. */
  readonly forgetAtMs: number;
}

class WebCovers {
  readonly #clock: Clock;
  readonly #fetchCover: FetchCover;
  /** The oldest fetch is first. */
  readonly #lastFetchByUrl = new Map<string, LastFetch>();
  #runningFetches = 0;

  constructor(clock: Clock, fetchCover: FetchCover) {
    this.#clock = clock;
    this.#fetchCover = fetchCover;
  }

  /** If the image cannot be fetched now, the answer is its address, to which the client is redirected. */
  async cover(url: string, cachedTag: string | undefined): Promise<CoverAnswer> {
    const redirect = { location: url };
    const last = this.#lastFetchByUrl.get(url);
    // Only the tag is remembered, not the image. So an image whose tag is not `cachedTag` is fetched again.
    if (last !== undefined && this.#clock.monotonic() < last.forgetAtMs) {
      if (last.tag === undefined) return redirect;
      if (last.tag === cachedTag) return 'unchanged';
    }
    if (this.#runningFetches >= FETCHES_MAX) return redirect;
    this.#runningFetches += 1;
    const cover = await this.#fetchCover(url).finally(() => {
      this.#runningFetches -= 1;
    });
    this.#remember(url, cover?.tag);
    if (cover === undefined) return redirect;
    return cover.tag === cachedTag ? 'unchanged' : cover;
  }

  #remember(url: string, tag: string | undefined): void {
    // A key that is set again keeps its place in a map, so it is deleted first.
    this.#lastFetchByUrl.delete(url);
    this.#lastFetchByUrl.set(url, { tag, forgetAtMs: this.#clock.monotonic() + REMEMBERED_MS });
    const [oldest] = this.#lastFetchByUrl.keys();
    if (this.#lastFetchByUrl.size > REMEMBERED_MAX && oldest !== undefined)
      this.#lastFetchByUrl.delete(oldest);
  }
}

/**
 * The player's facts have no long URL, because most long URLs contain the image (`data:`). So each request
 * reads the URL from the player.
 */
async function readLongUrl(bus: BusCaller<'players'>, { owner }: CoverPlayer): Promise<string | undefined> {
  const options = { path: PLAYER_PATH, deadlineMs: ANSWER_MAX_MS };
  const properties = await bus.call(playerMethods(owner).getAll, [PLAYER_INTERFACE], options);
  const metadata: unknown = properties.ok ? properties.value['Metadata'] : undefined;
  if (typeof metadata !== 'object' || metadata === null || !('mpris:artUrl' in metadata)) return undefined;
  const url = metadata['mpris:artUrl'];
  return typeof url === 'string' ? url : undefined;
}

/**
 * Returns the cover at the URL; undefined if no cover may be served. The reason is not returned, because the
 * network must not learn it. `ownUid`: the user of this process. `cachedTag`: the tag of the cached cover.
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
  const cover = await fileCover(percentDecoded(pathname), ownUid, cachedTag);
  // MPD's mpDris2 does not escape its paths: `file:///music/Who?/front.jpg` may mean the directory `Who?`,
  // but its `pathname` is only `/music/Who`. So the whole path after the host is tried, too.
  const wholePath = href.slice(`file://${host}`.length);
  if (cover !== undefined || wholePath === pathname) return cover;
  return fileCover(percentDecoded(wholePath), ownUid, cachedTag);
}

/** The image in a `data:` URL, in base64 (`data:image/png;base64,...`) or with percent escapes. */
function dataCover(url: string, cachedTag: string | undefined): CoverAnswer | undefined {
  const comma = url.indexOf(',');
  if (comma < 0) return undefined;
  const content = percentDecoded(url.slice(comma + 1));
  const isBase64 = /;\s*base64\s*$/i.test(url.slice(0, comma));
  const bytes = isBase64 ? Buffer.from(content.toString('latin1'), 'base64') : content;
  const cover = imageOf(bytes);
  return cover !== undefined && cover.tag === cachedTag ? 'unchanged' : cover;
}

/** Undefined if the bytes are no image of a known type, or more than `COVER_MAX_BYTES`. */
export function imageOf(bytes: Buffer): ImageAnswer | undefined {
  const type = imageTypeOf(bytes);
  if (type === undefined || bytes.length > COVER_MAX_BYTES) return undefined;
  return { tag: tagOf(bytes), type, bytes: Uint8Array.from(bytes) };
}

async function fileCover(path: Buffer, ownUid: number, cachedTag?: string): Promise<CoverAnswer | undefined> {
  try {
    // Only a regular file is opened, because the opening of a device can have an effect on the device.
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
  const isAllowed = isOwn || isReadableByAll;
  // The open file is checked again, because somebody may have replaced the file after `lstat`.
  if (!stats.isFile() || stats.size > COVER_MAX_BYTES || !isAllowed) return undefined;
  const tag = tagOf(identityOfStats(stats));
  if (tag === cachedTag) return 'unchanged';
  const bytes = new Uint8Array(Number(stats.size));
  const readLength = await readUntilEnd(file, bytes);
  const type = imageTypeOf(Buffer.from(bytes.buffer));
  if (type === undefined || readLength < bytes.length) return undefined;
  // If somebody has written to the file during the reading, the bytes may come from two images.
  const statsAfterwards = await file.stat({ bigint: true });
  const isSameFile = tagOf(identityOfStats(statsAfterwards)) === tag;
  return isSameFile ? { tag, type, bytes } : undefined;
}

/** Bytes that are different after the file has been replaced or written to. */
function identityOfStats({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): Buffer {
  return Buffer.from([dev, ino, size, mtimeNs, ctimeNs].join(' '));
}

/**
 * `identity`: the bytes of an image, or what `identityOfStats` returns for its file. Equal tags mean equal
 * images. A tag does not reveal the identity.
 */
function tagOf(identity: Buffer): string {
  return createHash('sha256').update(identity).digest('base64url').slice(0, TAG_CHARACTERS);
}

function imageTypeOf(bytes: Buffer): string | undefined {
  const beginning = bytes.toString('hex', 0, LONGEST_BEGINNING_BYTES);
  return IMAGE_TYPES.find((image) => image.beginning.test(beginning))?.type;
}
