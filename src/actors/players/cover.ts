// Decides whether a player's cover may be served, and reads it (docs/players.md, "Covers"). The player chooses the path and the whole
// network can ask, so only images that every user of the node may read are served.

import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import type { CoverAnswer } from '../../protocol/actor/commands.js';
import { percentDecoded } from '../text.js';
import { isDataUrl } from './metadata.js';

export const COVER_MAX_BYTES = 8 << 20;
/** The URL becomes a header of the answer, whole. */
const LOCATION_MAX_CHARACTERS = 2048;
/** A path whose URL is longer cannot be opened. */
const URL_MAX_UNITS = 16 * 1024;
const TAG_CHARACTERS = 22;
/** The length of the longest signature below. */
const MAGIC_BYTES = 12;

/** Opens no link, does not wait for a FIFO's writer, and takes no terminal as ours. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export type ImageAnswer = Extract<CoverAnswer, { readonly bytes: Uint8Array }>;

const BEGINNINGS: readonly (readonly [type: string, pattern: RegExp])[] = [
  ['image/jpeg', /^ffd8ff/],
  ['image/png', /^89504e470d0a1a0a/],
  ['image/gif', /^47494638(?:37|39)61/],
  ['image/webp', /^52494646.{8}57454250/],
];

/**
 * Undefined if nothing may be served; the network must not learn why. `held` is the tag of a cover whose bytes the caller has. `uid` is
 * ours. Never rejects. A data: URL may be as long as a message.
 */
export async function coverOf(
  url: string,
  held: string | undefined,
  uid: number,
): Promise<CoverAnswer | undefined> {
  if (isDataUrl(url)) return dataCover(url, held);
  if (url.length > URL_MAX_UNITS || !URL.canParse(url)) return undefined;
  const { protocol, host, pathname, href } = new URL(url);
  if (protocol === 'http:' || protocol === 'https:')
    return href.length > LOCATION_MAX_CHARACTERS ? undefined : { location: href };
  if (protocol !== 'file:' || (host !== '' && host !== 'localhost')) return undefined;
  return fileCover(percentDecoded(pathname), held, uid);
}

function dataCover(url: string, held: string | undefined): CoverAnswer | undefined {
  const comma = url.indexOf(',');
  const text = url.slice(comma + 1);
  if (comma < 0) return undefined;
  const isBase64 = /;\s*base64\s*$/i.test(url.slice(0, comma));
  const bytes = isBase64
    ? Buffer.from(percentDecoded(text).toString('latin1'), 'base64')
    : percentDecoded(text);
  const cover = imageOf(bytes);
  return cover !== undefined && cover.tag === held ? 'held' : cover;
}

/** Undefined if the bytes are no image that may be served. */
export function imageOf(bytes: Buffer): ImageAnswer | undefined {
  const type = typeOf(bytes);
  if (type === undefined || bytes.length > COVER_MAX_BYTES) return undefined;
  return { tag: tagOf(bytes), type, bytes: Uint8Array.from(bytes) };
}

async function fileCover(
  path: Buffer,
  held: string | undefined,
  uid: number,
): Promise<CoverAnswer | undefined> {
  try {
    // Opening a device can have an effect on it.
    if (!(await lstat(path)).isFile()) return undefined;
    const file = await open(path, FLAGS);
    try {
      return await openedCover(file, held, uid);
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

async function openedCover(
  file: FileHandle,
  held: string | undefined,
  uid: number,
): Promise<CoverAnswer | undefined> {
  const stats = await file.stat({ bigint: true });
  const isOurs = stats.uid === BigInt(uid);
  const isForAll = (stats.mode & BigInt(constants.S_IROTH)) !== 0n;
  if (!stats.isFile() || stats.size > COVER_MAX_BYTES || !(isOurs || isForAll)) return undefined;
  const tag = tagOf(imageIdentity(stats));
  if (tag === held) return 'held';
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
