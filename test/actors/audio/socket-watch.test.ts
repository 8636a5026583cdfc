// A socket that appears ends the wait. What a watch sees: path-watch.test.ts.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { socketOrDelay } from '../../../src/actors/audio/socket-watch.js';
import { fileIdentity } from '../../../src/actors/path-watch.js';

const NEVER_MS = 2 ** 31 - 1;
/** A wait that does not end fails its test. */
const DEADLINE = { timeout: 15_000 };

function root(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-watch-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Waits for `path` without a delay that would end it; `before` is what lies there unless said otherwise. */
function waitFor(t: TestContext, path: string, before = fileIdentity(path)): Promise<boolean> {
  const stop = new AbortController();
  t.after(() => stop.abort());
  return socketOrDelay([{ path, before }], NEVER_MS, stop.signal);
}

function make(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
}

describe('the wait ends when the socket', DEADLINE, () => {
  test('appears', async (t) => {
    const path = join(root(t), 'native');
    const waited = waitFor(t, path);
    make(path);
    assert.equal(await waited, true);
  });

  test('is replaced', async (t) => {
    const path = join(root(t), 'native');
    make(path);
    const waited = waitFor(t, path);
    make(`${path}.new`);
    renameSync(`${path}.new`, path);
    assert.equal(await waited, true);
  });

  test('was replaced before the wait began', async (t) => {
    const path = join(root(t), 'native');
    make(path);
    assert.equal(await waitFor(t, path, 'another'), true);
  });

  test('appeared before the wait began', async (t) => {
    const path = join(root(t), 'native');
    const before = fileIdentity(path);
    make(path);
    assert.equal(await socketOrDelay([{ path, before }], NEVER_MS, new AbortController().signal), true);
  });

  test('appears in a directory that was missing', async (t) => {
    const path = join(root(t), 'a', 'native');
    const waited = waitFor(t, path);
    make(path);
    assert.equal(await waited, true);
  });

  test('is one of several', async (t) => {
    const folder = root(t);
    const paths = ['a', 'b'].map((name) => join(folder, name, 'native'));
    const stop = new AbortController();
    const waited = socketOrDelay(
      paths.map((path) => ({ path, before: undefined })),
      NEVER_MS,
      stop.signal,
    );
    make(join(folder, 'b', 'native'));
    assert.equal(await waited, true);
  });
});

describe('the wait goes on', DEADLINE, () => {
  test('when other files appear, until the delay is over', async (t) => {
    const path = join(root(t), 'native');
    const waited = socketOrDelay([{ path, before: undefined }], 50, new AbortController().signal);
    make(`${path}.other`);
    make(join(dirname(path), 'pid'));
    assert.equal(await waited, false);
  });

  test('when the same socket is still there', async (t) => {
    const path = join(root(t), 'native');
    make(path);
    assert.equal(
      await socketOrDelay([{ path, before: fileIdentity(path) }], 20, new AbortController().signal),
      false,
    );
  });

  test('when the socket goes', async (t) => {
    const path = join(root(t), 'native');
    make(path);
    const waited = socketOrDelay([{ path, before: fileIdentity(path) }], 50, new AbortController().signal);
    rmSync(path);
    assert.equal(await waited, false);
  });

  test('where nothing can be watched', async () => {
    const stop = new AbortController().signal;
    assert.equal(
      await socketOrDelay([{ path: '/proc/self/no/such/native', before: undefined }], 20, stop),
      false,
    );
  });
});

describe('the wait ends without a socket', DEADLINE, () => {
  test('when it is told to', async (t) => {
    const stop = new AbortController();
    const waited = socketOrDelay(
      [{ path: join(root(t), 'native'), before: undefined }],
      NEVER_MS,
      stop.signal,
    );
    stop.abort();
    assert.equal(await waited, false);
  });

  test('at once when it was told before', async (t) => {
    const path = join(root(t), 'native');
    assert.equal(await socketOrDelay([{ path, before: undefined }], NEVER_MS, AbortSignal.abort()), false);
  });
});
