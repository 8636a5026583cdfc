// Media players as clients see them (docs/players.md, "What is shown"): records, events, commands and refusals, over a real bus.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Variant } from 'dbus-next';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { type PrivateBus, privateBus } from '../actors/bus/private-bus.js';
import { metadata, ScriptedPlayer } from '../actors/players/scripted-player.js';
import { testsNeeding } from '../tools/requirements.js';
import { until } from '../until.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const CONFIG = `mpris: {enabled: true}\n${NO_BACKENDS}`;

async function node(t: TestContext): Promise<{ bus: PrivateBus; daemon: Daemon }> {
  const bus = await privateBus(t);
  const daemon = await Daemon.start({ config: CONFIG, env: { DBUS_SESSION_BUS_ADDRESS: bus.address } }, t);
  await daemon.backend('players', 'up');
  return { bus, daemon };
}

function players(daemon: Daemon): Promise<readonly PlayerRecord[]> {
  return daemon.read('/players');
}

const SCRIPTED = 'org.mpris.MediaPlayer2.scripted.instance123';
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

const plays = (t: TestContext, bus: PrivateBus, properties?: Readonly<Record<string, Variant>>) =>
  ScriptedPlayer.start(t, bus, 'scripted.instance123', properties);

async function listed(daemon: Daemon, name: string): Promise<PlayerRecord> {
  return until(`${name} is listed`, async () =>
    (await players(daemon)).find(({ bus_name: each }) => each === name),
  );
}

test('a cover is an image with its tag, a redirect to the web, or missing', async (t) => {
  const { bus, daemon } = await node(t);
  const path = join(daemon.directory, 'cover.png');
  const large = Buffer.concat([PNG, Buffer.alloc(5 << 20, 0x55)]);
  writeFileSync(path, large);
  const player = await plays(t, bus);
  await listed(daemon, SCRIPTED);
  const url = '/players/scripted.instance123/cover';
  assert.equal((await daemon.get(url)).status, 404);
  const names = async (artUrl: string): Promise<void> => {
    player.change({ Metadata: metadata({ 'mpris:artUrl': artUrl, 'xesam:title': artUrl.slice(0, 30) }) });
    await until(
      'the new title is shown',
      async () => (await listed(daemon, SCRIPTED)).metadata?.['xesam:title'] === artUrl.slice(0, 30),
    );
  };
  await names(`file://${path}`);
  const { status, headers } = await daemon.get(url);
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'image/png');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['content-security-policy'], "default-src 'none'; sandbox");
  assert.equal(headers['content-length'], String(large.length));
  const whole = await fetch(`http://127.0.0.1:${daemon.port}${url}`);
  assert.deepEqual(Buffer.from(await whole.arrayBuffer()), large);
  const head = await daemon.send('HEAD', url);
  const shown = [head.status, head.text, head.headers['content-length'], head.headers['etag']];
  assert.deepEqual(shown, [200, '', headers['content-length'], headers['etag']]);
  const unchanged = await daemon.get(url, { 'If-None-Match': String(headers['etag']) });
  assert.equal(unchanged.status, 304);
  writeFileSync(path, PNG);
  assert.equal((await daemon.get(url, { 'If-None-Match': String(headers['etag']) })).status, 200);
  await names('https://a.example/b.png');
  const web = await daemon.get(url);
  assert.deepEqual([web.status, web.headers['location']], [307, 'https://a.example/b.png']);
  const long = `https://a.example/${'b'.repeat(30_000)}`;
  for (const none of ['file:///etc/passwd', 'javascript:alert(1)', `file://${daemon.directory}`, long]) {
    await names(none);
    assert.equal((await daemon.get(url)).status, 404, none);
  }
  await names(`data:image/png;base64,${Buffer.concat([PNG, Buffer.alloc(1 << 20)]).toString('base64')}`);
  assert.equal((await daemon.get(url)).status, 200);
});

test('fifty clients that do not read a cover cost less memory than fifty covers', async (t) => {
  const { bus, daemon } = await node(t);
  const path = join(daemon.directory, 'cover.png');
  writeFileSync(path, Buffer.concat([PNG, Buffer.alloc((8 << 20) - PNG.length, 0x55)]));
  await plays(t, bus, { Metadata: metadata({ 'mpris:artUrl': `file://${path}` }) });
  await listed(daemon, SCRIPTED);
  // Each asks as soon as it is connected: a connection that asks nothing for 10 s is closed.
  for (let count = 0; count < 50; count += 1) {
    const socket = connect(daemon.port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write('GET /players/scripted.instance123/cover HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'readable');
  }
  assert.ok(daemon.memoryMb < 300, `${daemon.memoryMb} MB, where fifty covers are 400`);
});
