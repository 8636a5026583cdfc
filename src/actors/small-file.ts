// Reads and replaces small files: never blocks on a pipe, swallows no huge file, and what it writes is whole or not there at all.

import { constants, type Stats } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** `bytes` have their memory to themselves, so that sending them to another thread takes nothing else along. `mode` is as `stat` tells it. */
export type FileBytes =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly ok: false; readonly problem: string; readonly missing: boolean };

/** How long whoever cannot do without a file waits for it: a disk that sleeps takes seconds to turn again. */
export const READ_MAX_MS = 4_000;

const PART_MAX_BYTES = 64 * 1024;

/** At most `maxBytes` + 1 bytes of a regular file: one too many tells the caller that it is too large. Never rejects. */
export async function readSmallFile(path: string, maxBytes: number): Promise<FileBytes> {
  try {
    return await readRegular(path, maxBytes + 1);
  } catch (error) {
    return fileProblem(error);
  }
}

async function readRegular(path: string, maxBytes: number): Promise<FileBytes> {
  // Without O_NONBLOCK, opening a FIFO waits for a writer, and holds one of the few threads that the process has for files.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return { ok: false, problem: `it is ${kindOfFile(stats)}`, missing: false };
    return { ok: true, bytes: await bytesOf(file, maxBytes), mode: stats.mode };
  } finally {
    await file.close();
  }
}

async function bytesOf(file: FileHandle, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let left = maxBytes;
  while (left > 0) {
    const part = new Uint8Array(Math.min(left, PART_MAX_BYTES));
    const { bytesRead } = await file.read(part, 0, part.length, null);
    if (bytesRead === 0) break;
    parts.push(part.subarray(0, bytesRead));
    left -= bytesRead;
  }
  return new Uint8Array(Buffer.concat(parts));
}

function kindOfFile(stats: Stats): string {
  return stats.isDirectory() ? 'a directory' : 'not a regular file';
}

function fileProblem(error: unknown): FileBytes {
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return { ok: false, problem: 'it does not exist', missing: true };
  return { ok: false, problem: `it cannot be read (${code})`, missing: false };
}

/**
 * Replaces the file, so that a reader or a power cut finds either the old or the new text, whole. Directories that are
 * missing are made, for the owner only. Rejects with the system's error; the old file is untouched then.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  await makeDirectories(directory);
  const fresh = `${path}.new`;
  try {
    // Left behind by a death in the middle, or put there by somebody.
    await rm(fresh, { force: true });
    // wx: only a regular file that is made by this very call. A FIFO would wait for a reader, for ever, and a link lead elsewhere.
    await writeFile(fresh, text, { flag: 'wx', mode: 0o600, flush: true });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
  // The rename itself lies in the directory.
  const renamed = await open(directory);
  await renamed.sync().finally(() => renamed.close());
}

/**
 * Makes what is missing of a directory and those above it, for the owner only. Rejects with the system's error. Not Node's
 * `recursive`: that never returns where a directory exists and can hold no other (seen with /proc, Node 20).
 */
export async function makeDirectories(directory: string): Promise<void> {
  const code = await mkdir(directory, { mode: 0o700 }).then(() => undefined, codeOf);
  // Something else in its place is found by whoever uses it.
  if (code === undefined || code === 'EEXIST') return;
  if (code === 'ENOENT' && dirname(directory) !== directory) await makeDirectories(dirname(directory));
  await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
}

/** The errno name of a failed system call, or what else went wrong. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
