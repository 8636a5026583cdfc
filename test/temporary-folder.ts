// A folder of a test's own, which goes with it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `t`: a test, or `node:test` itself for a folder of all tests of a file. */
export function temporaryFolder(t: { after(act: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
