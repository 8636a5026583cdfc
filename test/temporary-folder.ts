// Makes a folder for a test, and removes it when the test ends.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const madeFolders = new Set<string>();

const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/**
 * All folders are removed once more when the process ends. A test's hooks run in the order in which they
 * were set. So a hook may remove a folder while a program still uses it, and that program may make the folder
 * again.
 */
process.on('exit', () => {
  for (const folder of madeFolders) remove(folder);
});

/**
 * A sound server of the test may still write into the folder. The hook must not throw then. Otherwise the
 * later hooks, which stop that server, would not run, and the process would never end.
 */
function removeUnlessInUse(folder: string): void {
  try {
    remove(folder);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY')) throw error;
  }
}

/**
 * The folder is removed after the test `t`. If the module `node:test` is passed as `t`, the folder is removed
 * after all tests of the file. Without `t` it is removed when the process ends.
 */
export function temporaryFolder(t?: { after(act: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-test-'));
  madeFolders.add(folder);
  t?.after(() => removeUnlessInUse(folder));
  return folder;
}
