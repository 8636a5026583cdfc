// Where the cookie is looked for, and which files are no cookie.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { COOKIE_BYTES, cookiePaths, readCookie } from '../../../src/actors/audio/cookie.js';

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

  test('a directory in its place is passed over', async (t) => {
    const folder = home(t, { [`${usual}/x`]: 1, [older]: COOKIE_BYTES });
    assert.equal((await readCookie(cookiePaths({}, folder)))?.length, COOKIE_BYTES);
  });
});
