// Builds packages for tests, as `npm run package` does, into folders of their own.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const run = promisify(execFile);

// build/test/packaging/built-package.js -> the project's root
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Fixed, so that a difference between two builds is one of the builder. */
const BUILD_TIME_S = 1_790_000_000;

export interface Folder {
  readonly path: string;
  remove(): void;
}

export function tempFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'tonearm-packaging-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs the package builder; resolves with what it printed. */
export async function buildPackage(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(BUILD_TIME_S) };
  const { stdout } = await run(process.execPath, [join(ROOT, 'packaging/package.mjs'), ...args], { env });
  return stdout;
}
