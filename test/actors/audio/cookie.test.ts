// Where the cookie is looked for, and which files are no cookie.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { COOKIE_BYTES, CookieReader, cookiePaths, readCookie } from '../../../src/actors/audio/cookie.js';

/** A read that does not end fails its test. */
const DEADLINE = { timeout: 10_000 };
const NEVER_MS = 2 ** 31 - 1;

function home(t: TestContext, files: Readonly<Record<string, number>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-cookie-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, size] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), Buffer.alloc(size, name.length));
  }
  return folder;
}

describe('the cookie is looked for', () => {
  test('in the configuration directory, then in the home directory', () => {
    assert.deepEqual(cookiePaths({}, '/home/pi'), [
      '/home/pi/.config/pulse/cookie',
      '/home/pi/.pulse-cookie',
    ]);
  });

  test('first where PULSE_COOKIE says, which may be relative to the configuration directory', () => {
    const env = { XDG_CONFIG_HOME: '/etc/pi' };
    assert.equal(cookiePaths({ ...env, PULSE_COOKIE: '/c' }, '/h')[0], '/c');
    assert.equal(cookiePaths({ ...env, PULSE_COOKIE: 'c' }, '/h')[0], '/etc/pi/c');
    assert.equal(cookiePaths(env, '/h')[0], '/etc/pi/pulse/cookie');
  });

  test('without a home only where the environment says, and never where the daemon was started', () => {
    assert.deepEqual(cookiePaths({}, ''), []);
    assert.deepEqual(cookiePaths({ PULSE_COOKIE: '/c' }, ''), ['/c']);
    assert.deepEqual(cookiePaths({ PULSE_COOKIE: 'c' }, ''), []);
    assert.deepEqual(cookiePaths({ XDG_CONFIG_HOME: '/etc/pi' }, ''), ['/etc/pi/pulse/cookie']);
  });
});

describe('of the cookie files', () => {
  const usual = '.config/pulse/cookie';
  const older = '.pulse-cookie';
  const rows: readonly (readonly [string, Readonly<Record<string, number>>, string | undefined])[] = [
    ['the first one counts', { [usual]: COOKIE_BYTES, [older]: COOKIE_BYTES }, usual],
    ['a missing one is passed over', { [older]: COOKIE_BYTES }, older],
    ['an empty one is passed over', { [usual]: 0, [older]: COOKIE_BYTES }, older],
    ['one that is too short is passed over', { [usual]: 255, [older]: COOKIE_BYTES }, older],
    ['one that is too long is passed over', { [usual]: 257, [older]: COOKIE_BYTES }, older],
    ['none may be right', { [usual]: 300 }, undefined],
    ['none may be there', {}, undefined],
  ];
  for (const [what, files, expected] of rows) {
    test(what, async (t) => {
      const cookie = await readCookie(cookiePaths({}, home(t, files)));
      const wanted = expected === undefined ? undefined : new Uint8Array(COOKIE_BYTES).fill(expected.length);
      assert.deepEqual(cookie && new Uint8Array(cookie), wanted);
    });
  }

  test('FIFOs in its place are passed over, and keep nobody from other files', DEADLINE, async (t) => {
    const folder = home(t, { [`${usual}.new`]: 1 });
    for (const name of [usual, older]) execFileSync('mkfifo', [join(folder, name)]);
    // As many as the process has threads for files: were they to wait, nobody else could read.
    const reads = Array.from({ length: 16 }, () => readCookie(cookiePaths({}, folder)));
    assert.ok((await readFile('/proc/self/stat')).length > 0);
    for (const cookie of await Promise.all(reads)) assert.equal(cookie, undefined);
  });

  test('a directory in its place is passed over', async (t) => {
    const folder = home(t, { [`${usual}/x`]: 1, [older]: COOKIE_BYTES });
    assert.equal((await readCookie(cookiePaths({}, folder)))?.length, COOKIE_BYTES);
  });
});

describe('the cookie is read', DEADLINE, () => {
  const COOKIE = new Uint8Array(COOKIE_BYTES).fill(7);

  test('once for all who ask while it is read, and anew for those who ask then', async () => {
    let readings = 0;
    const reader = new CookieReader(async () => {
      readings += 1;
      return COOKIE;
    }, NEVER_MS);
    assert.deepEqual(await Promise.all([reader.read(), reader.read()]), [COOKIE, COOKIE]);
    assert.equal(readings, 1);
    await reader.read();
    assert.equal(readings, 2);
  });

  test('in vain, in time, when the reading does not end; and it is not begun a second time', async () => {
    let end: (cookie: Uint8Array) => void = () => undefined;
    const hanging = new Promise<Uint8Array>((resolve) => {
      end = resolve;
    });
    let readings = 0;
    const reader = new CookieReader(() => {
      readings += 1;
      return hanging;
    }, 5);
    assert.equal(await reader.read(), undefined);
    assert.equal(await reader.read(), undefined);
    assert.equal(readings, 1);
    const late = reader.read();
    end(COOKIE);
    assert.equal(await late, COOKIE);
  });
});
