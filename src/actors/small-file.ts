// Reads and replaces small files: never blocks on a pipe, never reads a huge file, and writes a file whole or
// not at all.

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, within } from '../host/clock.js';
import { errorText } from '../printable.js';
import { type Failure, failed, type Result, success } from '../protocol/actor/result.js';

/**
 * `bytes` have a buffer of their own, so that transferring them to another thread takes nothing else along.
 * `mode` is that of `stat`.
 */
export interface SmallFile {
  readonly bytes: Uint8Array;
  readonly mode: number;
}

export interface UnreadFile {
  /** Why it has not been read, as the end of a sentence about the file. */
  readonly problem: string;
  readonly isMissing: boolean;
}

export type FileResult = Result<SmallFile, UnreadFile>;

/** How long callers wait for a file that they need: a sleeping disk takes seconds to spin up. */
export const READ_MAX_MS = 4_000;

/** The reading of a file that does not come in time. */
export const LATE = unread(`it cannot be read within ${READ_MAX_MS / 1_000} s`);

function unread(problem: string, isMissing = false): Failure<UnreadFile> {
  return failed({ problem, isMissing });
}

export async function inTime(clock: Clock, reading: Promise<FileResult>): Promise<FileResult> {
  return (await within(clock, READ_MAX_MS, reading)) ?? LATE;
}

/** Reads a regular file of at most `maxBytes`. Never rejects. */
export async function readSmallFile(path: string, maxBytes: number): Promise<FileResult> {
  try {
    // Without O_NONBLOCK, opening a FIFO waits for a writer and blocks one of the process's few file threads.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return await readRegular(file, maxBytes).finally(() => file.close());
  } catch (error) {
    const code = codeOf(error);
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR';
    return unread(isMissing ? 'it does not exist' : `it cannot be read (${code})`, isMissing);
  }
}

async function readRegular(file: FileHandle, maxBytes: number): Promise<FileResult> {
  const stats = await file.stat();
  if (!stats.isFile()) return unread(stats.isDirectory() ? 'it is a directory' : 'it is not a regular file');
  // Also a file that grows meanwhile, or has no size, as in /proc, is read up to the limit, and one byte
  // more.
  const bytes = new Uint8Array(maxBytes + 1);
  const length = await readUntilEnd(file, bytes);
  if (length > maxBytes) return unread(`it is larger than ${maxBytes} bytes`);
  return success({ bytes: bytes.slice(0, length), mode: stats.mode });
}

/**
 * One read may bring a part only, as on a network's or a user's file system, and in /proc. Only a read of
 * nothing is the end.
 */
export async function readUntilEnd(file: Pick<FileHandle, 'read'>, bytes: Uint8Array): Promise<number> {
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}

/**
 * Replaces the file: a reader, or a power cut, finds one text whole. New directories are the owner's. Rejects
 * with the system's error.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const fresh = `${path}.new`;
  // A leftover of a process that died here; or a link, which would lead elsewhere.
  await rm(fresh, { force: true });
  await writeFile(fresh, text, { mode: 0o600, flush: true });
  await rename(fresh, path);
  // The rename is stored in the directory.
  const renamed = await open(directory);
  await renamed.sync().finally(() => renamed.close());
}

/** The errno name of a failed system call, or else the error's text. */
export function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : errorText(error);
}
