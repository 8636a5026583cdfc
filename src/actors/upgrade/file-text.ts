// Reads and writes small files: a read never blocks on a pipe or swallows a huge file, a write is whole or not there at all.

import { constants, mkdirSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export type FileBytes =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly problem: string; readonly missing: boolean };

/** At most `maxBytes` + 1 bytes of a regular file: one too many tells the caller that it is too large. */
export async function readSmallFile(path: string, maxBytes: number): Promise<FileBytes> {
  let file: FileHandle | undefined;
  try {
    // Without O_NONBLOCK opening a FIFO would wait for a writer, for ever.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) return { ok: false, problem: `it is ${kindOf(stats)}`, missing: false };
    return { ok: true, bytes: await bytesOf(file, maxBytes + 1) };
  } catch (error) {
    return problemOf(error);
  } finally {
    await file?.close();
  }
}

async function bytesOf(file: FileHandle, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let left = maxBytes;
  while (left > 0) {
    const part = new Uint8Array(Math.min(left, 64 * 1024));
    const { bytesRead } = await file.read(part, 0, part.length, null);
    if (bytesRead === 0) break;
    parts.push(part.subarray(0, bytesRead));
    left -= bytesRead;
  }
  return Buffer.concat(parts);
}

function kindOf(stats: Stats): string {
  return stats.isDirectory() ? 'a directory' : 'not a regular file';
}

function problemOf(error: unknown): FileBytes {
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return { ok: false, problem: 'it does not exist', missing: true };
  return { ok: false, problem: `it cannot be read (${code})`, missing: false };
}

/** The errno name of a failed system call, or what else went wrong. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/**
 * Replaces the file, so that a reader or a power cut finds either the old or the new text, whole. Directories that are
 * missing are made, for the owner only. Rejects with the system's error; the old file is untouched then.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  makeDirectories(directory);
  const fresh = `${path}.new`;
  try {
    await withFile(fresh, 'w', async (file) => {
      await file.writeFile(text);
      await file.sync();
    });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
  // The rename itself lies in the directory.
  await withFile(directory, 'r', (file) => file.sync());
}

/**
 * Makes what is missing of a directory and those above it, for the owner only. Throws the system's error. Not Node's
 * `recursive`: that never returns where a directory exists and can hold no other (seen with /proc, Node 20).
 */
export function makeDirectories(directory: string): void {
  if (statSync(directory, { throwIfNoEntry: false }) !== undefined) return;
  if (dirname(directory) !== directory) makeDirectories(dirname(directory));
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    // Somebody else made it in the meantime: a file in its place is found by whoever uses it.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

async function withFile(
  path: string,
  flags: string,
  use: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await use(file);
  } finally {
    await file.close();
  }
}
