// Writes small files: a write is whole or not there at all. Reading them is small-file.ts.

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../small-file.js';

/** Only a regular file that is made by this very call: a FIFO would wait for a reader, for ever, and a link lead elsewhere. */
const FRESH =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_NONBLOCK;

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
    await withFile(fresh, FRESH, async (file) => {
      await file.writeFile(text);
      await file.sync();
    });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
  // The rename itself lies in the directory.
  await withFile(directory, constants.O_RDONLY, (file) => file.sync());
}

/**
 * Makes what is missing of a directory and those above it, for the owner only. Rejects with the system's error. Not Node's
 * `recursive`: that never returns where a directory exists and can hold no other (seen with /proc, Node 20).
 */
export async function makeDirectories(directory: string): Promise<void> {
  if (await exists(directory)) return;
  if (dirname(directory) !== directory) await makeDirectories(dirname(directory));
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    // Somebody else made it in the meantime: a file in its place is found by whoever uses it.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return false;
  }
}

async function withFile(
  path: string,
  flags: number,
  use: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    await use(file);
  } finally {
    await file.close();
  }
}
