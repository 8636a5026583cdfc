// Checks that this machine has what a test needs. A test that cannot run gives the reason in one line; where
// nothing may be left out (TONEARM_REQUIRE_ALL=1, as in CI), it runs and fails.

import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';

export interface Requirements {
  /** Programs that must be found in PATH. */
  readonly programs?: readonly string[];
  /** Debian packages without a program, each by a file of it. */
  readonly packages?: Readonly<Record<string, string>>;
  readonly root?: boolean;
}

function found(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      // Not in this folder, or not ours to run: the answer is no either way.
      return false;
    }
  });
}

/** For the `skip` option of a test: the reason, or false when all is there or nothing may be skipped. */
export function lacks({ programs = [], packages = {}, root = false }: Requirements): string | false {
  if (process.env['TONEARM_REQUIRE_ALL'] === '1') return false;
  const absent = Object.keys(packages).filter((name) => !existsSync(packages[name] ?? ''));
  const missing = [...programs.filter((program) => !found(program)), ...absent];
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  if (root && process.getuid?.() !== 0) return 'needs root';
  return false;
}

type Declare = (title: string, run: (t: TestContext) => Promise<void> | void) => void;

/** node:test's `test`, for files in which none can run without these. */
export function testsNeeding(requirements: Requirements): Declare {
  const skip = lacks(requirements);
  return skip === false ? test : (title, run) => void test(title, { skip }, run);
}
