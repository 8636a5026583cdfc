// Media players as clients see them (docs/players.md, "What is shown"): records, events, commands and refusals, over a real bus.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Variant } from 'dbus-next';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { type PrivateBus, privateBus } from '../actors/bus/private-bus.js';
import { metadata, ScriptedPlayer } from '../actors/players/scripted-player.js';
import type { EventConsumer } from '../consumer/consumer.js';
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

async function plays(
  t: TestContext,
  bus: PrivateBus,
  properties?: Readonly<Record<string, Variant>>,
): Promise<ScriptedPlayer> {
  const player = await ScriptedPlayer.start(bus.address, 'scripted.instance123', properties);
  t.after(() => player.leave());
  return player;
}

async function listed(daemon: Daemon, name: string): Promise<PlayerRecord> {
  return until(`${name} is listed`, async () =>
    (await players(daemon)).find(({ bus_name: each }) => each === name),
  );
}

test('a player is in the list, in events and in commands, from its start to its end', async (t) => {
  const { bus, daemon } = await node(t);
  const stream = await daemon.events('?backend=mpris&snapshot=1');
  const player = await plays(t, bus, {
    Metadata: metadata({ 'xesam:title': 'One\n\u0001\u{1f3b5}', 'xesam:artist': ['A', 'B'] }),
  });
  const record = await listed(daemon, SCRIPTED);
  assert.deepEqual(record.metadata, { 'xesam:artist': 'A, B', 'xesam:title': 'One\n\u0001\u{1f3b5}' });
  const server = await daemon.read<{ readonly backends: { readonly mpris: boolean } }>('/server');
  assert.equal(server.backends.mpris, true);
  assert.equal((await daemon.post('/players/scripted%2Einstanc%65123/play')).status, 202);
  assert.equal((await daemon.post(`/players/${SCRIPTED}/volume`, { volume: 0.25 })).status, 202);
  assert.ok(player.calls.includes('Play') && player.calls.includes('Set Volume 0.25'));
  player.change({ PlaybackStatus: new Variant('s', 'Playing'), CanGoNext: new Variant('b', false) });
  await until('the song plays', () => stream.model.players.get(SCRIPTED)?.['playback_status'] === 'Playing');
  await until('the position is sent', () => stream.events.some(({ type }) => type === 'player.position'));
  await until('the stream has sent what the route answers', async () => {
    assert.deepEqual([...stream.model.players.values()], await players(daemon));
    return true;
  });
  const late = await daemon.events('?snapshot=1');
  await until('the snapshot has the player', () => late.model.players.has(SCRIPTED));
  player.misbehaves.set('Stop', { error: 'org.mpris.MediaPlayer2.Unwilling' });
  const refusals = await Promise.all(
    ['scripted.instance123/next', 'other/play', 'scripted.instance123/stop'].map((path) =>
      daemon.post(`/players/${path}`),
    ),
  );
  assert.equal(refusals.map(({ status }) => status).join(), '403,404,502');
  assert.match(refusals[2]?.text ?? '', /not today \(org\.mpris\.MediaPlayer2\.Unwilling\)/);
  player.leave();
  await until('the player is gone from the list', async () => (await players(daemon)).length === 0);
  await until('the player is gone from the stream', () => stream.model.players.size === 0);
  const types = stream.events.map(({ type }) => type).filter((type) => type.startsWith('player.'));
  assert.deepEqual([types[0], types.at(-1)], ['player.added', 'player.removed']);
  assert.deepEqual(JSON.parse(stream.events.at(-1)?.data ?? ''), { bus_name: SCRIPTED });
});

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
  assert.deepEqual(
    [head.status, head.text, head.headers['content-length'], head.headers['etag']],
    [200, '', headers['content-length'], headers['etag']],
  );
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

test('a stream that excludes positions has none, and one that resumes gets those it missed', async (t) => {
  const { bus, daemon } = await node(t);
  const [without, away] = await Promise.all(
    ['?backend=mpris&exclude=player.position', '?backend=mpris'].map((query) => daemon.events(query)),
  );
  assert.ok(without !== undefined && away !== undefined);
  const player = await plays(t, bus);
  const volume = (value: number): ((stream: EventConsumer) => boolean) => {
    return ({ model }) => model.players.get(SCRIPTED)?.['volume'] === value;
  };
  await away.until(volume(0.5), 'its coming');
  away.close();
  player.seeked(30_000_000);
  player.change({ Volume: new Variant('d', 0.6) });
  await without.until(volume(0.6), 'the volume');
  const seen = away.events.length;
  await away.reconnect();
  const missed = (): readonly string[] => away.events.slice(seen).map(({ type }) => type);
  await away.until(
    (stream) => volume(0.6)(stream) && missed().includes('player.position'),
    'what was missed',
  );
  assert.ok(!missed().includes('player.added'), missed().join());
  const told = without.events.map(({ type }) => type);
  assert.ok(told.includes('player.updated') && !told.includes('player.position'), told.join());
});

test('fifty clients that do not read a cover cost less memory than fifty covers', async (t) => {
  const { bus, daemon } = await node(t);
  const path = join(daemon.directory, 'cover.png');
  writeFileSync(path, Buffer.concat([PNG, Buffer.alloc((8 << 20) - PNG.length, 0x55)]));
  await plays(t, bus, { Metadata: metadata({ 'mpris:artUrl': `file://${path}` }) });
  await listed(daemon, SCRIPTED);
  const sockets = Array.from({ length: 50 }, () => connect(daemon.port, '127.0.0.1'));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (const socket of sockets) {
    socket.on('error', () => undefined);
    socket.write('GET /players/scripted.instance123/cover HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'readable');
  }
  assert.ok(daemon.memoryMb < 300, `${daemon.memoryMb} MB, where fifty covers are 400`);
});
