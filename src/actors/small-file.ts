// Reads small files: never blocks on a pipe, swallows no huge file. It writes nothing.

import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** `bytes` have their memory to themselves, so that sending them to another thread takes nothing else along. */
export type FileBytes =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly problem: string; readonly missing: boolean };

/** How long whoever cannot do without a file waits for it: a disk that sleeps takes seconds to turn again. */
export const READ_MAX_MS = 4_000;

const PART_MAX_BYTES = 64 * 1024;

/** At most `maxBytes` + 1 bytes of a regular file: one too many tells the caller that it is too large. Never rejects. */
export async function readSmallFile(path: string, maxBytes: number): Promise<FileBytes> {
  try {
    return await readRegular(path, maxBytes + 1);
  } catch (error) {
    return problemOf(error);
  }
}

async function readRegular(path: string, maxBytes: number): Promise<FileBytes> {
  // Without O_NONBLOCK, opening a FIFO waits for a writer, and holds one of the few threads that the process has for files.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return { ok: false, problem: `it is ${kindOf(stats)}`, missing: false };
    return { ok: true, bytes: await bytesOf(file, maxBytes) };
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
