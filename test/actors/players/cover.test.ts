// Tests which covers may be served, which are missing (docs/players.md, "Covers"), and how long a request
// waits for one.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import promises, { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { CoverReader, coverOf } from '../../../src/actors/players/cover.js';
import { NOTHING_KNOWN, withPlayerProperties } from '../../../src/actors/players/facts.js';
import { ManualClock } from '../../manual-clock.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const PNG_OF_10_MB = Buffer.concat([PNG, Buffer.alloc(10 << 20)]);
const OTHERS_UID = 65_534;
const MAX_BYTES = 8 << 20;

const folder = temporaryFolder({ after });
const uid = process.getuid?.() ?? 0;

function file(name: string, content: Uint8Array, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode });
  return path;
}

function link(name: string, to: string): string {
  symlinkSync(to, join(folder, name));
  return join(folder, name);
}

function fifo(name: string): string {
  execFileSync('mkfifo', [join(folder, name)]);
  return join(folder, name);
}

function large(name: string, bytes: number): string {
  const path = file(name, PNG);
  truncateSync(path, bytes);
  return path;
}

const urlOf = (path: string): string => pathToFileURL(path).href;
const cover = (url: string, cachedTag?: string) => coverOf(url, uid, cachedTag);

const IMAGES: readonly (readonly [type: string, beginning: string])[] = [
  ['image/png', PNG.toString('hex')],
  ['image/jpeg', 'ffd8ffe000104a46'],
  ['image/gif', '474946383761'],
  ['image/gif', '474946383961'],
  ['image/webp', '524946461a000000574542505650382000'],
];
for (const [type, beginning] of IMAGES) {
  test(`a file that begins with ${beginning} is ${type}, in a data: URL too`, async () => {
    const bytes = Buffer.from(beginning, 'hex');
    const url = urlOf(file(`ünïcode %41 ${beginning}`, bytes));
    for (const one of [
      url,
      url.replace('file://', 'file://localhost'),
      url.replace('file', 'FILE'),
      `data:x;base64,${bytes.toString('base64')}`,
      `DATA:image/x;charset=utf-8;name="a";base64,${encodeURIComponent(bytes.toString('base64'))}`,
      `data:,${bytes.toString('hex').replace(/../g, '%$&')}`,
    ]) {
      const found = await cover(one);
      assert.ok(found !== undefined && found !== 'unchanged' && 'bytes' in found, one);
      assert.equal(found.type, type);
      assert.deepEqual(Buffer.from(found.bytes), bytes);
      assert.equal(await cover(one, found.tag), 'unchanged');
    }
  });
}

test('a cover whose file name is not UTF-8 is served', async () => {
  const path = Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9])]);
  writeFileSync(path, PNG);
  assert.ok((await cover(`file://${folder}/caf%E9`)) !== undefined);
});

test('a cover on the web is a redirect', async () => {
  assert.deepEqual(await cover('https://i.scdn.co/image/1'), { location: 'https://i.scdn.co/image/1' });
  assert.deepEqual(await cover('http://a/\r\nX: y'), { location: 'http://a/X:%20y' });
});

const NONE: readonly (readonly [what: string, url: () => string])[] = [
  ['no URL', () => 'cover.png'],
  ['nothing', () => ''],
  ['a script', () => 'javascript:alert(1)'],
  ['an object of the browser', () => 'blob:http://a/1'],
  ['a file that is not there', () => urlOf(join(folder, 'none'))],
  ['a file of another host', () => urlOf(file('host', PNG)).replace('file://', 'file://host')],
  ['a NUL in the name', () => `${urlOf(file('nul', PNG))}%00`],
  ['a directory', () => urlOf(folder)],
  ['/etc/passwd', () => 'file:///etc/passwd'],
  ['a device', () => 'file:///dev/zero'],
  ['a file of the kernel', () => 'file:///proc/self/environ'],
  ['a text', () => urlOf(file('text', Buffer.from('not an image, but long enough')))],
  ['a sound that begins as WebP does', () => urlOf(file('wav', Buffer.from('RIFF\0\0\0\0WAVEfmt ')))],
  ['half of a beginning', () => urlOf(file('half', PNG.subarray(0, 7)))],
  ['an image behind a byte', () => urlOf(file('late', Buffer.concat([Buffer.alloc(1), PNG])))],
  ['an empty file', () => urlOf(file('empty', Buffer.alloc(0)))],
  ['a drawing', () => urlOf(file('svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')))],
  ['a link to /etc/passwd', () => urlOf(link('passwd', '/etc/passwd'))],
  ['a link to an image', () => urlOf(link('link', file('linked', PNG)))],
  ['a FIFO', () => urlOf(fifo('fifo'))],
  ['a PNG that is too large', () => urlOf(large('large', MAX_BYTES + 1))],
  ['an address that no header should hold', () => `https://a.example/${'b'.repeat(2048)}`],
  ['an address of 15 MB', () => `https://a.example/${'b'.repeat(15_000_000)}`],
  ['data: without a comma', () => 'data:image/png;base64'],
  ['data: that is no image', () => 'data:image/png;base64,AAAA'],
  ['data: with 10 MB', () => `data:image/png;base64,${PNG_OF_10_MB.toString('base64')}`],
];
for (const [what, url] of NONE) {
  test(`no cover is served from ${what}`, async () => assert.equal(await cover(url()), undefined));
}

test('a cover of the largest size is served', async () => {
  const found = await cover(urlOf(large('largest', MAX_BYTES)));
  assert.ok(found !== undefined && found !== 'unchanged' && 'bytes' in found);
  assert.equal(found.bytes.length, MAX_BYTES);
});

const needsRoot = { skip: uid !== 0 && 'needs root' };
test('a cover of another user is served only if every user may read it', needsRoot, async () => {
  const path = file('others', PNG, 0o600);
  chownSync(path, OTHERS_UID, OTHERS_UID);
  assert.equal(await cover(urlOf(path)), undefined);
  chmodSync(path, 0o640);
  assert.equal(await cover(urlOf(path)), undefined);
  chmodSync(path, 0o644);
  assert.ok((await cover(urlOf(path))) !== undefined);
});

test('a cover that shrinks while it is read is not found', async (t) => {
  const path = file('shrinking', Buffer.concat([PNG, Buffer.alloc(1 << 20, 0x55)]));
  const probe = await open(path);
  await probe.close();
  const handles = Object.getPrototypeOf(probe) as typeof probe;
  const { read } = handles;
  // The file shrinks after the first read.
  t.mock.method(handles, 'read', async function (this: typeof probe, ...args: Parameters<typeof read>) {
    const done = await read.apply(this, args);
    truncateSync(path, 4096);
    return done;
  });
  assert.equal(await cover(urlOf(path)), undefined);
});

/** Calls `first` before each opening of a file. */
function beforeOpening(t: TestContext, first: () => void): void {
  const real = promises.open as (...args: unknown[]) => Promise<unknown>;
  t.mock.method(promises, 'open', (...args: unknown[]) => {
    first();
    return real(...args);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

const linked = (name: string) => link(name, file('behind', PNG));
for (const [what, makeIt] of Object.entries({ 'a link': linked, 'a FIFO': fifo })) {
  test(`a cover that becomes ${what} between its check and its opening is not found`, async (t) => {
    const path = file('swapped', PNG);
    t.after(() => rmSync(path));
    beforeOpening(t, () => {
      rmSync(path);
      makeIt('swapped');
    });
    assert.equal(await cover(urlOf(path)), undefined);
  });
}

test('a cover that is no regular file is not opened: a device could act', async (t) => {
  let opened = 0;
  beforeOpening(t, () => {
    opened += 1;
  });
  for (const path of ['/dev/zero', folder]) assert.equal(await cover(urlOf(path)), undefined);
  assert.equal(opened, 0);
  assert.ok((await cover(urlOf(file('opened', PNG)))) !== undefined);
  assert.equal(opened, 1);
});

/** The cover is a data: URL in the metadata, so it must be requested from the player. */
const Metadata = { 'mpris:artUrl': `data:,${'x'.repeat(10_000)}` };
const PLAYER = { owner: ':1.7', facts: withPlayerProperties(NOTHING_KNOWN, { Metadata }) };

test('a cover that hangs is answered after 4 s, one is read at a time, and at most 32 wait', async () => {
  const clock = new ManualClock();
  let calls = 0;
  const call = () => {
    calls += 1;
    return new Promise<never>(() => undefined);
  };
  const covers = new CoverReader({ call }, clock);
  const answers = Array.from({ length: 32 }, () => covers.answer(PLAYER, undefined));
  assert.equal(faultOf(await covers.answer(PLAYER, undefined)), 'timeout');
  await until('the first cover is being read', () => calls > 0);
  assert.equal(calls, 1);
  clock.advance(3_999);
  assert.equal(clock.timers, 32);
  clock.advance(1);
  assert.deepEqual(new Set((await Promise.all(answers)).map(faultOf)), new Set(['timeout']));
});

test('a reading that throws no longer counts among those that wait', async () => {
  let mustThrow = true;
  const call = async (): Promise<never> => {
    if (mustThrow) throw new Error('a defect');
    return { ok: true, value: { Metadata: { 'mpris:artUrl': urlOf(file('whole', PNG)) } } } as never;
  };
  const covers = new CoverReader({ call }, new ManualClock());
  for (let times = 0; times < 33; times += 1)
    await assert.rejects(covers.answer(PLAYER, undefined), /a defect/);
  mustThrow = false;
  assert.equal((await covers.answer(PLAYER, undefined)).ok, true);
});
