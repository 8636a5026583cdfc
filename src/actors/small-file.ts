// Reads and replaces small files. A reading never waits for the writer of a FIFO, and never reads a huge
// file. A file is written whole or not at all.

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, within } from '../host/clock.js';
import { errorText } from '../printable.js';
import { type Failure, failed, type Result, success } from '../protocol/actor/result.js';

export interface SmallFile {
  /** The content. Its buffer has no other data, so the buffer can be transferred to another thread. */
  readonly bytes: Uint8Array;
  /** `st_mode` of stat(2): the type and the permissions. */
  readonly mode: number;
}

export interface UnreadFile {
  /** Why the file has not been read, as a sentence in which `it` is the file. */
  readonly problem: string;
  readonly isMissing: boolean;
}

export type FileResult = Result<SmallFile, UnreadFile>;

/** How long callers wait for a file. A sleeping disk takes seconds to spin up. */
export const FILE_WAIT_MAX_MS = 4_000;

/** The result for a file that could not be read within `FILE_WAIT_MAX_MS`. */
export const READ_TOO_SLOW = unreadFile(`it cannot be read within ${FILE_WAIT_MAX_MS / 1_000} s`);

function unreadFile(problem: string, isMissing = false): Failure<UnreadFile> {
  return failed({ problem, isMissing });
}

/** The result of `reading`, or `READ_TOO_SLOW`. */
export async function readInTime(clock: Clock, reading: Promise<FileResult>): Promise<FileResult> {
  return (await within(clock, FILE_WAIT_MAX_MS, reading)) ?? READ_TOO_SLOW;
}

/** Reads a regular file of at most `maxBytes`. Never rejects. */
export async function readSmallFile(path: string, maxBytes: number): Promise<FileResult> {
  try {
    // Without O_NONBLOCK, the opening of a FIFO would wait for a writer, and would block one of the few
    // threads in which Node.js works on files.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return await readRegular(file, maxBytes).finally(() => file.close());
  } catch (error) {
    const code = codeOf(error);
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR';
    return unreadFile(isMissing ? 'it does not exist' : `it cannot be read (${code})`, isMissing);
  }
}

async function readRegular(file: FileHandle, maxBytes: number): Promise<FileResult> {
  const stats = await file.stat();
  if (!stats.isFile())
    return unreadFile(stats.isDirectory() ? 'it is a directory' : 'it is not a regular file');
  // The size from `stat` is not used, because the file may grow, and files in /proc have the size 0. The
  // buffer has one byte more than the limit: a file that fills the whole buffer is too large.
  const bytes = new Uint8Array(maxBytes + 1);
  const length = await readUntilEnd(file, bytes);
  if (length > maxBytes) return unreadFile(`it is larger than ${maxBytes} bytes`);
  return success({ bytes: bytes.slice(0, length), mode: stats.mode });
}

/**
 * Fills `bytes` from the file's beginning, and returns the number of bytes that were read. In /proc, on a
 * network file system and on FUSE, one read may bring only a part. So only a read of zero bytes means the
 * end.
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
 * Replaces the file. At any time, even after a power cut, the file has either the old text or the new one.
 * Missing directories are made, and only their owner gets access. Rejects with the system's error.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const newPath = `${path}.new`;
  // A process that died before its `rename` may have left a file at `newPath`. This file is removed, because
  // `writeFile` would keep its permissions. If the file is a link, `writeFile` would write to the link's
  // target.
  await rm(newPath, { force: true });
  await writeFile(newPath, text, { mode: 0o600, flush: true });
  await rename(newPath, path);
  // A power cut can undo the rename until the directory is synced.
  const directoryHandle = await open(directory);
  await directoryHandle.sync().finally(() => directoryHandle.close());
}

/** The errno name of a failed system call, or else the error's text. */
export function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : errorText(error);
}
