// Checks that this machine has what a test needs. A test that cannot run is skipped, and gives the reason in
// one line. With TONEARM_REQUIRE_ALL=1, as in CI, such a test is not skipped, but runs and fails.

import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';

export interface Requirements {
  /** Programs that must be found in PATH. */
  readonly programs?: readonly string[];
  /** Debian packages without a program, each with the path of one of its files. */
  readonly packages?: Readonly<Record<string, string>>;
  /** True if the test must run as the user root. */
  readonly root?: boolean;
}

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      // The program is not in this folder, or this user may not run it.
      return false;
    }
  });
}

/** Returns the reason why a test must be skipped; false if all is there, or if nothing may be skipped. */
export function skipReason({ programs = [], packages = {}, root = false }: Requirements): string | false {
  if (process.env['TONEARM_REQUIRE_ALL'] === '1') return false;
  const missingPrograms = programs.filter((program) => !isInstalled(program));
  const missingPackages = Object.keys(packages).filter((name) => !existsSync(packages[name] ?? ''));
  const missing = [...missingPrograms, ...missingPackages];
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  if (root && process.getuid?.() !== 0) return 'needs root';
  return false;
}

type Declare = (title: string, run: (t: TestContext) => Promise<void> | void) => void;

/** `test` of node:test, for files in which no test can run without `requirements`. */
export function testsNeeding(requirements: Requirements): Declare {
  const skip = skipReason(requirements);
  return skip === false ? test : (title, run) => void test(title, { skip }, run);
}
