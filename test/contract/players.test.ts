// Covers of players as clients get them (docs/players.md, "Covers"), over a real bus: an image, a redirect,
// or nothing. Another test is about the memory that slow clients cost.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { privateBus } from '../actors/bus/private-bus.js';
import { metadata, ScriptedPlayer } from '../actors/players/scripted-player.js';
import { testsNeeding } from '../tools/requirements.js';
import { until } from '../until.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const COVER = '/players/scripted.instance123/cover';
/** The beginning of a PNG file. The daemon recognizes an image by its first bytes. */
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const pngOf = (paddingBytes: number): Buffer => Buffer.concat([PNG, Buffer.alloc(paddingBytes, 0x55)]);

/** Starts a daemon and a player without a cover. `path` is the path of a file for a cover. */
async function withPlayer(t: TestContext) {
  const bus = await privateBus(t);
  // `mpris` is another name of `players` (docs/configuration.md, "Other names of sections").
  const config = `mpris: {enabled: true}\n${NO_BACKENDS}`;
  const daemon = await Daemon.start({ config, env: { DBUS_SESSION_BUS_ADDRESS: bus.address } }, t);
  const player = await ScriptedPlayer.start(t, bus, 'scripted.instance123');
  const readPlayer = async (): Promise<PlayerRecord | undefined> => {
    const [listed] = await daemon.read<readonly PlayerRecord[]>('/players');
    return listed;
  };
  await until('the player is listed', async () => (await readPlayer()) !== undefined);
  /** Lets the player name this URL as its cover, and waits until the daemon has read it. */
  const nameCover = async (artUrl: string): Promise<void> => {
    // The daemon cuts long values, so the title has only the beginning of the URL.
    const title = artUrl.slice(0, 30);
    player.change({ Metadata: metadata({ 'mpris:artUrl': artUrl, 'xesam:title': title }) });
    await until(
      'the new title is published',
      async () => (await readPlayer())?.metadata?.['xesam:title'] === title,
    );
  };
  return { daemon, nameCover, path: join(daemon.directory, 'cover.png') };
}

test('a cover is an image with its tag, a redirect to the web, or missing', async (t) => {
  const { daemon, nameCover, path } = await withPlayer(t);
  const large = pngOf(5 << 20);
  writeFileSync(path, large);
  assert.equal((await daemon.get(COVER)).status, 404, 'no cover is named yet');

  await nameCover(`file://${path}`);
  const { status, headers } = await daemon.get(COVER);
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'image/png');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['content-security-policy'], "default-src 'none'; sandbox");
  assert.equal(headers['content-length'], String(large.length));
  const response = await fetch(`http://127.0.0.1:${daemon.port}${COVER}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  assert.deepEqual(bytes, large);

  const head = await daemon.send('HEAD', COVER);
  const actual = [head.status, head.text, head.headers['content-length'], head.headers['etag']];
  assert.deepEqual(actual, [200, '', headers['content-length'], headers['etag']]);

  const statusWithTag = async () =>
    (await daemon.get(COVER, { 'If-None-Match': String(headers['etag']) })).status;
  assert.equal(await statusWithTag(), 304);
  writeFileSync(path, PNG);
  assert.equal(await statusWithTag(), 200);

  await nameCover('https://a.example/b.png');
  const web = await daemon.get(COVER);
  assert.deepEqual([web.status, web.headers['location']], [307, 'https://a.example/b.png']);

  // The URLs name a file that is no image, a scheme that is not served, or a directory, or are too long.
  const tooLong = `https://a.example/${'b'.repeat(30_000)}`;
  for (const unusable of [
    'file:///etc/passwd',
    'javascript:alert(1)',
    `file://${daemon.directory}`,
    tooLong,
  ]) {
    await nameCover(unusable);
    assert.equal((await daemon.get(COVER)).status, 404, unusable);
  }

  await nameCover(`data:image/png;base64,${pngOf(1 << 20).toString('base64')}`);
  assert.equal((await daemon.get(COVER)).status, 200);
});

const CLIENTS = 50;
const COVER_BYTES = 8 << 20;
/** Fifty covers would need 400 MB. */
const MEMORY_MAX_MB = 300;

test('fifty clients that do not read a cover cost less memory than fifty covers', async (t) => {
  const { daemon, nameCover, path } = await withPlayer(t);
  writeFileSync(path, pngOf(COVER_BYTES - PNG.length));
  await nameCover(`file://${path}`);
  // Each client asks as soon as it is connected, because a connection without a request is soon closed.
  for (let count = 0; count < CLIENTS; count += 1) {
    const socket = connect(daemon.port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write(`GET ${COVER} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await once(socket, 'readable');
  }
  assert.ok(daemon.memoryMb < MEMORY_MAX_MB, `${daemon.memoryMb} MB`);
});
