// Tests the search for the sound server's cookie, and the wait for the server's socket. path-watch.test.ts
// tests the watch by which the wait notices a change of the socket.

import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import {
  COOKIE_BYTES,
  cookiePaths,
  readCookie,
  waitForSocket,
} from '../../../src/actors/audio/server-files.js';
import { fileIdentity } from '../../../src/actors/path-watch.js';
import { temporaryFolder } from '../../temporary-folder.js';

/** The longest time of a timer. No test lasts so long. */
const NEVER_MS = 2 ** 31 - 1;
/** A wait that does not end must fail its test. */
const DEADLINE = { timeout: 60_000 };

function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
}

function replaceFile(path: string): void {
  createFile(`${path}.new`);
  renameSync(`${path}.new`, path);
}

const doNothing = (): void => undefined;

type ChangeOfFile = (path: string) => void;

interface WaitRow {
  readonly what: string;
  readonly before: ChangeOfFile;
  /** True by default. If false, the file that `before` has made counts as new. */
  readonly isKnown?: boolean;
  readonly during: ChangeOfFile;
  /** The longest time of the wait. It is short in the rows in which only the time ends the wait. */
  readonly delayMs: number;
  /** True if the file ends the wait, false if the time does. */
  readonly ends: boolean;
}

const WAITS: readonly WaitRow[] = [
  { what: 'the socket appears', before: doNothing, during: createFile, delayMs: NEVER_MS, ends: true },
  { what: 'the socket is replaced', before: createFile, during: replaceFile, delayMs: NEVER_MS, ends: true },
  {
    what: 'the socket appeared before the wait',
    before: createFile,
    isKnown: false,
    during: doNothing,
    delayMs: NEVER_MS,
    ends: true,
  },
  { what: 'the socket stays the same', before: createFile, during: doNothing, delayMs: 20, ends: false },
  { what: 'the socket goes', before: createFile, during: (path) => rmSync(path), delayMs: 50, ends: false },
];

describe('the wait for a socket', DEADLINE, () => {
  for (const { what, before, isKnown = true, during, delayMs, ends } of WAITS) {
    test(`${ends ? 'ends when' : 'does not end early if'} ${what}`, async (t) => {
      const path = join(temporaryFolder(t), 'a', 'native');
      before(path);
      const identityBefore = isKnown ? fileIdentity(path) : undefined;
      const stop = new AbortController();
      t.after(() => stop.abort());
      const waited = waitForSocket([{ path, identityBefore }], delayMs, stop.signal);
      during(path);
      assert.equal(await waited, ends);
    });
  }

  test('ends when the wait is cancelled, even if it was cancelled before it began', async (t) => {
    const socket = { path: join(temporaryFolder(t), 'native'), identityBefore: undefined };
    const stop = new AbortController();
    const waited = waitForSocket([socket], NEVER_MS, stop.signal);
    stop.abort();
    assert.equal(await waited, false);
    assert.equal(await waitForSocket([socket], NEVER_MS, AbortSignal.abort()), false);
  });
});

/** The byte with which a file is filled. It shows which file was read. */
const fillByteOf = (path: string): number => path.length;

/** Makes a home directory with files. `sizes` has the size of each file, by its path in the directory. */
function makeHome(t: TestContext, sizes: Readonly<Record<string, number>>): string {
  const home = temporaryFolder(t);
  for (const [path, size] of Object.entries(sizes)) {
    mkdirSync(join(home, dirname(path)), { recursive: true });
    writeFileSync(join(home, path), Buffer.alloc(size, fillByteOf(path)));
  }
  return home;
}

describe('the cookie is searched for', () => {
  test('in the configuration directory, then in the home directory', () =>
    assert.deepEqual(cookiePaths({}, '/pi'), ['/pi/.config/pulse/cookie', '/pi/.pulse-cookie']));

  test('first at PULSE_COOKIE, which may be relative to the directory of the usual cookie', () => {
    const env = { XDG_CONFIG_HOME: '/etc/pi' };
    assert.equal(cookiePaths({ ...env, PULSE_COOKIE: '/c' }, '/h')[0], '/c');
    assert.equal(cookiePaths({ ...env, PULSE_COOKIE: 'c' }, '/h')[0], '/etc/pi/pulse/c');
    assert.equal(cookiePaths(env, '/h')[0], '/etc/pi/pulse/cookie');
  });

  test('only in places that the environment names, if there is no home', () => {
    assert.deepEqual(cookiePaths({}, ''), []);
    assert.deepEqual(cookiePaths({ PULSE_COOKIE: '/c' }, ''), ['/c']);
    // Without a home this place would depend on the working directory.
    assert.deepEqual(cookiePaths({ PULSE_COOKIE: 'c' }, ''), []);
    assert.deepEqual(cookiePaths({ XDG_CONFIG_HOME: '/etc/pi' }, ''), ['/etc/pi/pulse/cookie']);
  });
});

describe('among the cookie files', () => {
  const first = '.config/pulse/cookie';
  const second = '.pulse-cookie';
  const rows: readonly (readonly [
    what: string,
    sizes: Readonly<Record<string, number>>,
    expectedPath: string | undefined,
  ])[] = [
    ['the first one counts', { [first]: COOKIE_BYTES, [second]: COOKIE_BYTES }, first],
    ['a missing one is passed over', { [second]: COOKIE_BYTES }, second],
    [
      'a cookie that is too long is passed over',
      { [first]: COOKIE_BYTES + 1, [second]: COOKIE_BYTES },
      second,
    ],
    ['no cookie is found where there is no file', {}, undefined],
  ];
  for (const [what, sizes, expectedPath] of rows) {
    test(what, async (t) => {
      const cookie = await readCookie(cookiePaths({}, makeHome(t, sizes)));
      const expectedBytes =
        expectedPath === undefined ? undefined : new Uint8Array(COOKIE_BYTES).fill(fillByteOf(expectedPath));
      assert.deepEqual(cookie && new Uint8Array(cookie), expectedBytes);
    });
  }
});
