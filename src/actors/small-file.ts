// Reads and replaces small files: never blocks on a pipe, never reads a huge file, and writes a file whole or not at all.

import { constants, type Stats } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** `bytes` have a buffer of their own, so that transferring them to another thread takes nothing else along. `mode` is that of `stat`. */
export type FileBytes =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly ok: false; readonly problem: string; readonly missing: boolean };

/** How long callers wait for a file that they need: a sleeping disk takes seconds to spin up. */
export const READ_MAX_MS = 4_000;

const PART_MAX_BYTES = 64 * 1024;

/** Reads at most `maxBytes` + 1 bytes of a regular file; the extra byte shows the caller that it is too large. Never rejects. */
export async function readSmallFile(path: string, maxBytes: number): Promise<FileBytes> {
  try {
    return await readRegular(path, maxBytes + 1);
  } catch (error) {
    return fileProblem(error);
  }
}

async function readRegular(path: string, maxBytes: number): Promise<FileBytes> {
  // Without O_NONBLOCK, opening a FIFO waits for a writer and blocks one of the process's few file threads.
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
 * Replaces the file, so that a reader or a power cut finds either the old or the new text, whole. Missing directories are created, for
 * the owner only. Rejects with the system's error; the old file is untouched then.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  await makeDirectories(directory);
  const fresh = `${path}.new`;
  try {
    // A leftover of a process that died here, or somebody else's file.
    await rm(fresh, { force: true });
    // wx: only a new regular file, created by this call. A FIFO would wait for a reader for ever, and a link would lead elsewhere.
    await writeFile(fresh, text, { flag: 'wx', mode: 0o600, flush: true });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
  // The rename is stored in the directory.
  const renamed = await open(directory);
  await renamed.sync().finally(() => renamed.close());
}

/**
 * Creates a directory and its missing parents, for the owner only. Rejects with the system's error. Not Node's `recursive`: that never
 * returns if a directory exists and can hold no other (seen with /proc, Node 20).
 */
export async function makeDirectories(directory: string): Promise<void> {
  const code = await mkdir(directory, { mode: 0o700 }).then(() => undefined, codeOf);
  // If something else is in its place, the later use of the path fails.
  if (code === undefined || code === 'EEXIST') return;
  if (code === 'ENOENT' && dirname(directory) !== directory) await makeDirectories(dirname(directory));
  await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
}

/** The errno name of a failed system call, or else the error's text. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
