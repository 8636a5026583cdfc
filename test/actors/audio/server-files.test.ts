// The places of the sound server's cookie, row by row; files that are not a cookie; the end of the wait for a
// socket. The watch itself: path-watch.test.ts.

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

const NEVER_MS = 2 ** 31 - 1;
/** A wait that does not end must fail its test. */
const DEADLINE = { timeout: 60_000 };

function make(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
}

function replace(path: string): void {
  make(`${path}.new`);
  renameSync(`${path}.new`, path);
}

const nothing = (): void => undefined;

/**
 * Steps before and during the wait; whether the waiter knows what lies there; its longest time; whether the
 * file ends it.
 */
type Wait = readonly [what: string, first: Act, isKnown: boolean, then: Act, delayMs: number, ends: boolean];
type Act = (path: string) => void;
const WAITS: readonly Wait[] = [
  ['it appears', nothing, true, make, NEVER_MS, true],
  ['it is replaced', make, true, replace, NEVER_MS, true],
  ['it appeared before', make, false, nothing, NEVER_MS, true],
  ['it is still the same', make, true, nothing, 20, false],
  ['it goes', make, true, (path) => rmSync(path), 50, false],
];

describe('the wait for a socket', DEADLINE, () => {
  for (const [what, first, isKnown, then, delayMs, ends] of WAITS) {
    test(`${ends ? 'ends when' : 'lasts though'} ${what}`, async (t) => {
      const path = join(temporaryFolder(t), 'a', 'native');
      first(path);
      const before = isKnown ? fileIdentity(path) : undefined;
      const stop = new AbortController();
      t.after(() => stop.abort());
      const waited = waitForSocket([{ path, identityBefore: before }], delayMs, stop.signal);
      then(path);
      assert.equal(await waited, ends);
    });
  }

  test('ends when it is cancelled, even if it was cancelled before it began', async (t) => {
    const socket = { path: join(temporaryFolder(t), 'native'), identityBefore: undefined };
    const stop = new AbortController();
    const waited = waitForSocket([socket], NEVER_MS, stop.signal);
    stop.abort();
    assert.equal(await waited, false);
    assert.equal(await waitForSocket([socket], NEVER_MS, AbortSignal.abort()), false);
  });
});

function home(t: TestContext, files: Readonly<Record<string, number>>): string {
  const folder = temporaryFolder(t);
  for (const [name, size] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), Buffer.alloc(size, name.length));
  }
  return folder;
}

describe('the cookie is searched for', () => {
  test('in the configuration directory, then in the home directory', () =>
    assert.deepEqual(cookiePaths({}, '/pi'), ['/pi/.config/pulse/cookie', '/pi/.pulse-cookie']));

  test('first at PULSE_COOKIE, which may be relative to the configuration directory', () => {
    const env = { XDG_CONFIG_HOME: '/etc/pi' };
    assert.equal(cookiePaths({ ...env, PULSE_COOKIE: '/c' }, '/h')[0], '/c');
    assert.equal(cookiePaths({ ...env, PULSE_COOKIE: 'c' }, '/h')[0], '/etc/pi/c');
    assert.equal(cookiePaths(env, '/h')[0], '/etc/pi/pulse/cookie');
  });

  test('without a home only where the environment names it, and never in the working directory', () => {
    assert.deepEqual(cookiePaths({}, ''), []);
    assert.deepEqual(cookiePaths({ PULSE_COOKIE: '/c' }, ''), ['/c']);
    assert.deepEqual(cookiePaths({ PULSE_COOKIE: 'c' }, ''), []);
    assert.deepEqual(cookiePaths({ XDG_CONFIG_HOME: '/etc/pi' }, ''), ['/etc/pi/pulse/cookie']);
  });
});

describe('among the cookie files', () => {
  const usual = '.config/pulse/cookie';
  const older = '.pulse-cookie';
  const rows: readonly (readonly [string, Readonly<Record<string, number>>, string | undefined])[] = [
    ['the first one counts', { [usual]: COOKIE_BYTES, [older]: COOKIE_BYTES }, usual],
    ['a missing one is passed over', { [older]: COOKIE_BYTES }, older],
    ['a cookie that is too long is passed over', { [usual]: 257, [older]: COOKIE_BYTES }, older],
    ['there is no cookie', {}, undefined],
  ];
  for (const [what, files, expected] of rows) {
    test(what, async (t) => {
      const cookie = await readCookie(cookiePaths({}, home(t, files)));
      const expectedBytes =
        expected === undefined ? undefined : new Uint8Array(COOKIE_BYTES).fill(expected.length);
      assert.deepEqual(cookie && new Uint8Array(cookie), expectedBytes);
    });
  }
});
