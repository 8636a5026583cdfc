// A folder of a test's own, which goes with it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made = new Set<string>();

const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/**
 * A test's hooks run in the order in which they were set: what is stopped after its folder is gone may make
 * the folder again.
 */
process.on('exit', () => {
  for (const folder of made) remove(folder);
});

/**
 * A sound server of the test may still write into the folder. The hook must not throw then: the hooks behind
 * it, which stop that server, would not run, and the process would never end.
 */
function removeUnlessInUse(folder: string): void {
  try {
    remove(folder);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY')) throw error;
  }
}

/**
 * `t`: a test, or `node:test` itself for a folder of all tests of a file. Without one the folder goes with
 * the process.
 */
export function temporaryFolder(t?: { after(act: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-test-'));
  made.add(folder);
  t?.after(() => removeUnlessInUse(folder));
  return folder;
}
