// Tests which covers are served and which are not (docs/players.md, "Covers"), how many requests for covers
// may be open, and how long a request waits.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
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
const UID_OF_OTHER_USER = 65_534;
/** This is the largest size of a cover (`COVER_MAX_BYTES` in cover.ts). */
const MAX_BYTES = 8 << 20;

const folder = temporaryFolder({ after });
const uid = process.getuid?.() ?? 0;

function createFile(name: string, content: Uint8Array, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode });
  return path;
}

function createLink(name: string, target: string): string {
  symlinkSync(target, join(folder, name));
  return join(folder, name);
}

function createFifo(name: string): string {
  execFileSync('mkfifo', [join(folder, name)]);
  return join(folder, name);
}

/** Creates a PNG of this size: `truncateSync` also makes a file longer, with zeros. */
function createImageOf(sizeBytes: number, name: string): string {
  const path = createFile(name, PNG);
  truncateSync(path, sizeBytes);
  return path;
}

const urlOf = (path: string): string => pathToFileURL(path).href;
const readCover = (url: string, cachedTag?: string) => coverOf(url, uid, cachedTag);

const IMAGES: readonly (readonly [type: string, beginning: string])[] = [
  ['image/png', PNG.toString('hex')],
  ['image/jpeg', 'ffd8ffe000104a46'],
  ['image/gif', '474946383761'],
  ['image/gif', '474946383961'],
  ['image/webp', '524946461a000000574542505650382000'],
];
for (const [type, beginning] of IMAGES) {
  test(`bytes that begin with ${beginning} are served as ${type}, from a file and a data: URL`, async () => {
    const bytes = Buffer.from(beginning, 'hex');
    // The name has a `%41`, which must not be decoded to `A`.
    const url = urlOf(createFile(`ünïcode %41 ${beginning}`, bytes));
    const base64 = bytes.toString('base64');
    const percentEscapes = bytes.toString('hex').replace(/../g, (digits) => `%${digits}`);
    const spellings = [
      url,
      url.replace('file://', 'file://localhost'),
      url.replace('file', 'FILE'),
      `data:x;base64,${base64}`,
      `DATA:image/x;charset=utf-8;name="a";base64,${encodeURIComponent(base64)}`,
      `data:,${percentEscapes}`,
    ];
    for (const spelling of spellings) {
      const cover = await readCover(spelling);
      assert.ok(cover !== undefined && cover !== 'unchanged' && 'bytes' in cover, spelling);
      assert.equal(cover.type, type);
      assert.deepEqual(Buffer.from(cover.bytes), bytes);
      assert.equal(await readCover(spelling, cover.tag), 'unchanged');
    }
  });
}

test('a cover whose file name is not UTF-8 is served', async () => {
  const path = Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9])]);
  writeFileSync(path, PNG);
  assert.ok((await readCover(`file://${folder}/caf%E9`)) !== undefined);
});

for (const name of ['Who?', 'a#b', '?', 'a?#b', 'c d?#e']) {
  test(`a cover below the folder ${name} is served, even if its URL has no escapes`, async () => {
    mkdirSync(join(folder, name));
    const path = createFile(join(name, 'cover ü.png'), PNG);
    assert.ok((await readCover(`file://${path}`)) !== undefined);
    assert.ok((await readCover(urlOf(path))) !== undefined);
  });
}

test('a cover whose URL has a query or a fragment behind the path is served', async () => {
  const url = urlOf(createFile('revision', PNG));
  for (const rest of ['?1', '#1', '?1#2']) assert.ok((await readCover(url + rest)) !== undefined, rest);
});

test('a cover on the web is a redirect', async () => {
  assert.deepEqual(await readCover('https://i.scdn.co/image/1'), { location: 'https://i.scdn.co/image/1' });
  // The location becomes a header of the answer, so it must not contain a line break.
  assert.deepEqual(await readCover('http://a/\r\nX: y'), { location: 'http://a/X:%20y' });
});

const WITHOUT_COVER: readonly (readonly [what: string, makeUrl: () => string])[] = [
  ['a text that is no URL', () => 'cover.png'],
  ['an empty text', () => ''],
  ['a script', () => 'javascript:alert(1)'],
  ['an object of the browser', () => 'blob:http://a/1'],
  ['a file that is not there', () => urlOf(join(folder, 'none'))],
  ['a file of another host', () => urlOf(createFile('host', PNG)).replace('file://', 'file://host')],
  ['a file name with a NUL', () => `${urlOf(createFile('nul', PNG))}%00`],
  ['a directory', () => urlOf(folder)],
  ['/etc/passwd', () => 'file:///etc/passwd'],
  ['a device', () => 'file:///dev/zero'],
  ['a file of the kernel', () => 'file:///proc/self/environ'],
  ['a link whose name has a question mark', () => `file://${createLink('link?', createFile('marked', PNG))}`],
  ['a file of text', () => urlOf(createFile('text', Buffer.from('not an image, but long enough')))],
  ['a sound that begins as WebP does', () => urlOf(createFile('wav', Buffer.from('RIFF\0\0\0\0WAVEfmt ')))],
  ['the first seven bytes of a PNG', () => urlOf(createFile('half', PNG.subarray(0, 7)))],
  ['an image after another byte', () => urlOf(createFile('late', Buffer.concat([Buffer.alloc(1), PNG])))],
  ['an empty file', () => urlOf(createFile('empty', Buffer.alloc(0)))],
  ['an SVG file', () => urlOf(createFile('svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')))],
  ['a link to /etc/passwd', () => urlOf(createLink('passwd', '/etc/passwd'))],
  ['a link to an image', () => urlOf(createLink('link', createFile('linked', PNG)))],
  ['a FIFO', () => urlOf(createFifo('fifo'))],
  ['a PNG that is too large', () => urlOf(createImageOf(MAX_BYTES + 1, 'large'))],
  ['an address that is too long for a header', () => `https://a.example/${'b'.repeat(2048)}`],
  ['an address of 15 MB', () => `https://a.example/${'b'.repeat(15_000_000)}`],
  ['data: without a comma', () => 'data:image/png;base64'],
  ['data: that is no image', () => 'data:image/png;base64,AAAA'],
  ['data: with 10 MB', () => `data:image/png;base64,${PNG_OF_10_MB.toString('base64')}`],
];
for (const [what, makeUrl] of WITHOUT_COVER) {
  test(`no cover is served from ${what}`, async () => assert.equal(await readCover(makeUrl()), undefined));
}

test('a cover of the largest size is served', async () => {
  const cover = await readCover(urlOf(createImageOf(MAX_BYTES, 'largest')));
  assert.ok(cover !== undefined && cover !== 'unchanged' && 'bytes' in cover);
  assert.equal(cover.bytes.length, MAX_BYTES);
});

const needsRoot = { skip: uid !== 0 && 'needs root' };
test('a cover of another user is served only if every user may read it', needsRoot, async () => {
  const path = createFile('others', PNG, 0o600);
  chownSync(path, UID_OF_OTHER_USER, UID_OF_OTHER_USER);
  assert.equal(await readCover(urlOf(path)), undefined);
  chmodSync(path, 0o640);
  assert.equal(await readCover(urlOf(path)), undefined);
  chmodSync(path, 0o644);
  assert.ok((await readCover(urlOf(path))) !== undefined);
});

test('a cover that shrinks while it is read is not served', async (t) => {
  const path = createFile('shrinking', Buffer.concat([PNG, Buffer.alloc(1 << 20, 0x55)]));
  // Node.js does not export the class of file handles, so the test takes its prototype from a file handle.
  const handle = await open(path);
  await handle.close();
  const fileHandlePrototype = Object.getPrototypeOf(handle) as typeof handle;
  const { read } = fileHandlePrototype;
  // The file shrinks after each read.
  const readAndShrink = async function (this: typeof handle, ...args: Parameters<typeof read>) {
    const result = await read.apply(this, args);
    truncateSync(path, 4096);
    return result;
  };
  t.mock.method(fileHandlePrototype, 'read', readAndShrink);
  assert.equal(await readCover(urlOf(path)), undefined);
});

/** Calls `act` before each opening of a file. */
function beforeOpening(t: TestContext, act: () => void): void {
  const realOpen = promises.open as (...args: unknown[]) => Promise<unknown>;
  t.mock.method(promises, 'open', (...args: unknown[]) => {
    act();
    return realOpen(...args);
  });
  // cover.ts imports `open` by its name. Only this call puts the mock in the place of such an import.
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

const createLinkToImage = (name: string) => createLink(name, createFile('behind', PNG));
for (const [what, create] of Object.entries({ 'a link': createLinkToImage, 'a FIFO': createFifo })) {
  test(`a cover that becomes ${what} between its check and its opening is not served`, async (t) => {
    const path = createFile('swapped', PNG);
    t.after(() => rmSync(path));
    beforeOpening(t, () => {
      rmSync(path);
      create('swapped');
    });
    assert.equal(await readCover(urlOf(path)), undefined);
  });
}

test('a cover that is no regular file is not opened, because opening a device can have an effect', async (t) => {
  let openings = 0;
  beforeOpening(t, () => {
    openings += 1;
  });
  for (const path of ['/dev/zero', folder]) assert.equal(await readCover(urlOf(path)), undefined);
  assert.equal(openings, 0);
  assert.ok((await readCover(urlOf(createFile('opened', PNG)))) !== undefined);
  assert.equal(openings, 1);
});

/** The largest number of open requests: one cover is being read, and the other requests wait. */
const OPEN_REQUESTS_MAX = 32;
/**
 * This cover is a data: URL that is too long to be kept (`KEPT_URL_MAX_UNITS` in metadata.ts). So each
 * request for the cover reads the URL from the player.
 */
const METADATA = { 'mpris:artUrl': `data:,${'x'.repeat(10_000)}` };
const PLAYER = { owner: ':1.7', facts: withPlayerProperties(NOTHING_KNOWN, { Metadata: METADATA }) };

test('while the reading of one cover hangs, at most 32 requests are open, and each of them is answered with a timeout after 4 s', async () => {
  const clock = new ManualClock();
  let calls = 0;
  const call = () => {
    calls += 1;
    return new Promise<never>(() => undefined);
  };
  const covers = new CoverReader({ call }, clock);
  const answers = Array.from({ length: OPEN_REQUESTS_MAX }, () => covers.answer(PLAYER, undefined));
  assert.equal(faultOf(await covers.answer(PLAYER, undefined)), 'timeout', 'one request too many');
  await until('the first cover is being read', () => calls > 0);
  assert.equal(calls, 1);

  clock.advance(3_999);
  assert.equal(clock.timers, OPEN_REQUESTS_MAX, 'no request is answered yet');
  clock.advance(1);
  const faults = (await Promise.all(answers)).map(faultOf);
  assert.deepEqual(new Set(faults), new Set(['timeout']));
});

test('a request does not count among the open requests after its reading has thrown', async () => {
  let mustThrow = true;
  const call = async (): Promise<never> => {
    if (mustThrow) throw new Error('a defect');
    return { ok: true, value: { Metadata: { 'mpris:artUrl': urlOf(createFile('whole', PNG)) } } } as never;
  };
  const covers = new CoverReader({ call }, new ManualClock());
  for (let attempt = 0; attempt <= OPEN_REQUESTS_MAX; attempt += 1)
    await assert.rejects(covers.answer(PLAYER, undefined), /a defect/);

  mustThrow = false;
  assert.equal((await covers.answer(PLAYER, undefined)).ok, true);
});
