// Tests a watch on a path of a real file system: every way in which a file appears, changes and vanishes.

import assert from 'node:assert/strict';
import fileSystem, {
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileIdentity, PathWatch } from '../../src/actors/path-watch.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';

const DEADLINE_MS = 60_000;
/** A slow poll (path-watch.ts) with this period never begins during a test. No timer can be longer. */
const NEVER_MS = 2 ** 31 - 1;
const SHORT_POLL_MS = 5;
/** The watch waits this long for further changes before it reports one. */
const SETTLE_MS = 0;

/** A watch on `path` until the test ends. */
class WatchUnderTest {
  /** The identity of the file at the last report; undefined if there was no file. */
  #reported: string | undefined;
  /** The value of `#reported` when `reports` last resolved. */
  #known: string | undefined;

  constructor(t: TestContext, path: string, slowPollMs = NEVER_MS) {
    this.#reported = fileIdentity(path);
    this.#known = this.#reported;
    const report = (): void => {
      this.#reported = fileIdentity(path);
    };
    const watch = new PathWatch(path, report, SETTLE_MS, slowPollMs);
    t.after(() => watch.close());
  }

  /** Resolves when the watch has reported a change of the file's identity. */
  async reports(what: string): Promise<void> {
    await until(`the watch reports ${what}`, () => this.#reported !== this.#known, DEADLINE_MS);
    this.#known = this.#reported;
  }
}

function makeFile(path: string, text = ''): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function replaceFile(path: string): void {
  writeFileSync(`${path}.new`, '');
  renameSync(`${path}.new`, path);
}

describe('the watch of a path reports when a file', () => {
  for (const below of ['.', 'a', 'a/b', 'a/b/c']) {
    test(`appears at ${below}/file in a folder that was empty before`, async (t) => {
      const path = join(temporaryFolder(t), below, 'file');
      const watch = new WatchUnderTest(t, path);

      makeFile(path);
      await watch.reports('the new file');
    });
  }

  test('is replaced, is rewritten, is removed, and returns', async (t) => {
    const path = join(temporaryFolder(t), 'file');
    makeFile(path);
    const watch = new WatchUnderTest(t, path);

    replaceFile(path);
    await watch.reports('the replacement');

    writeFileSync(path, 'longer');
    await watch.reports('the longer text');

    unlinkSync(path);
    await watch.reports('that the file is gone');

    replaceFile(path);
    await watch.reports('that the file is back');
  });

  test('returns after its directory was removed, or was renamed', async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'a', 'b', 'file');
    makeFile(path);
    const watch = new WatchUnderTest(t, path);

    rmSync(join(folder, 'a'), { recursive: true });
    await watch.reports('that the file is gone');
    makeFile(path);
    await watch.reports('that the file is back');

    renameSync(join(folder, 'a', 'b'), join(folder, 'old'));
    await watch.reports('that the file is gone with its directory');
    makeFile(path);
    await watch.reports('that the file is back again');

    replaceFile(path);
    await watch.reports('the replacement');
  });

  test('appears in a directory that was removed and made again at once', async (t) => {
    const path = join(temporaryFolder(t), 'a', 'file');
    mkdirSync(dirname(path));
    const watch = new WatchUnderTest(t, path);
    rmSync(dirname(path), { recursive: true });
    // During this wait the watch may already notice that the directory is gone.
    await new Promise((resolve) => setImmediate(resolve));
    makeFile(path);
    await watch.reports('the new file');
  });

  test('changes in a directory that was removed and made again at once', async (t) => {
    // The new directory may get the inode number of the old one, or another number. Several rounds make both
    // cases likely.
    for (let round = 0; round < 5; round += 1) {
      const path = join(temporaryFolder(t), 'a', 'file');
      makeFile(path);
      const watch = new WatchUnderTest(t, path);
      rmSync(dirname(path), { recursive: true });
      makeFile(path, 'new');
      await watch.reports('the new file');
      replaceFile(path);
      await watch.reports('the replacement');
    }
  });

  test('is rewritten behind a symbolic link, or becomes another file because the link changes', async (t) => {
    // Each of the two changes is reported by the next poll at the latest.
    const folder = temporaryFolder(t);
    for (const version of ['v1', 'v2']) makeFile(join(folder, version, 'file'), version);
    symlinkSync('v1', join(folder, 'now'));
    const watch = new WatchUnderTest(t, join(folder, 'now', 'file'), SHORT_POLL_MS);

    symlinkSync('v2', join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'now'));
    await watch.reports('the file of the other directory');

    writeFileSync(join(folder, 'v2', 'file'), 'longer');
    await watch.reports('the longer text');
  });

  test('is rewritten through another hard link', async (t) => {
    // No watch of the kernel reports this, so the next poll has to notice it.
    const folder = temporaryFolder(t);
    makeFile(join(folder, 'elsewhere', 'file'));
    mkdirSync(join(folder, 'here'));
    linkSync(join(folder, 'elsewhere', 'file'), join(folder, 'here', 'file'));
    const watch = new WatchUnderTest(t, join(folder, 'here', 'file'), SHORT_POLL_MS);

    writeFileSync(join(folder, 'elsewhere', 'file'), 'longer');
    await watch.reports('the longer text');
  });
});

test('a watch that the kernel has ended is set again at the next poll', async (t) => {
  const watchMock = t.mock.method(fileSystem, 'watch');
  // path-watch.ts imports `watch` by its name. Only this call puts the mock in the place of such an import.
  syncBuiltinESMExports();
  t.after(() => {
    watchMock.mock.restore();
    syncBuiltinESMExports();
  });
  const path = join(temporaryFolder(t), 'file');
  new WatchUnderTest(t, path, SHORT_POLL_MS);
  watchMock.mock.calls[0]?.result?.emit('error', new Error('ended'));
  await until('there is another watch', () => watchMock.mock.callCount() === 2);
});

test('a watch that is closed reports nothing', async (t) => {
  const path = join(temporaryFolder(t), 'file');
  const reportsOfClosed: string[] = [];
  const slowPollMs = 1;
  const closed = new PathWatch(path, () => reportsOfClosed.push('a change'), SETTLE_MS, slowPollMs);
  const open = new WatchUnderTest(t, path);
  makeFile(path);
  closed.close();
  await open.reports('the file');
  unlinkSync(path);
  await open.reports('that the file is gone');
  assert.deepEqual(reportsOfClosed, []);
});
