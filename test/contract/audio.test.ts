// Tests the audio routes (docs/http-api.md, "Audio routes") and audio events (docs/events.md, "Events") of
// server, outputs and clients, on real sound servers. The tests check answers, effects at the sound server,
// records, and changes by other programs. actors/audio/names.test.ts tests the names of clients. The rows in
// driven/ test other routes and events.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPulseAudio } from '../sound/servers.js';
import { skipReason } from '../tools/requirements.js';
import {
  AUDIO_ONLY,
  type Client,
  hasValues,
  type Output,
  onEachSoundServer,
  startAudio,
} from './audio-node.js';
import { Daemon } from './daemon.js';

type ReceivedEvents = readonly { readonly type: string; readonly data: string }[];

/** The records in the events of one type, newest last. */
const recordsIn = (received: ReceivedEvents, type: string): readonly (Client & Output)[] =>
  received.flatMap((event) => (event.type === type ? JSON.parse(event.data) : []));

/** The routes below `/audio/server` change the default sink, which is `living`. */
const PATH_BY_SINK = { living: '/audio/server', kitchen: '/audio/outputs/kitchen' };
const rawVolume = (volume: number): number => Math.round(volume * 0x10000);

onEachSoundServer('audio', (node) => {
  test('GET /audio has the same records as the routes of its parts', async () => {
    const { daemon, sound } = node();
    const audio = await node().audio();
    assert.equal(audio.kind, sound.kind);
    assert.deepEqual(await daemon.read('/audio/server'), audio.server);
    // Each path may end with a slash. This path ends with a slash, and so does one path with `mute` below.
    assert.deepEqual(await daemon.read('/audio/outputs/'), audio.outputs);
    assert.deepEqual(await daemon.read('/audio/clients'), audio.clients);
    assert.equal(audio.outputs.map(({ name }) => name).join(), 'living,kitchen');
  });

  for (const [sink, path] of Object.entries(PATH_BY_SINK)) {
    test(`POST ${path}/volume sets the volume, and shifts it by a delta`, async () => {
      await node().change(`${path}/volume`, { volume: 0.5 });
      await node().untilOutput(sink, { volume: 0.5 });
      await node().change(`${path}/volume`, { delta: 0.2 });
      await node().change(`${path}/volume`, { delta: -0.1 });
      await node().untilOutput(sink, { volume: 0.6 });
      await node().change(`${path}/volume`, { delta: 1 });
      await node().untilOutput(sink, { volume: 1 });
    });

    test(`POST ${path}/mute toggles the mute, or sets it to the value of the request`, async () => {
      await node().change(`${path}/mute`);
      await node().untilOutput(sink, { muted: true });
      await node().change(`${path}/mute`, { muted: true });
      await node().change(`${path}/mute`);
      await node().untilOutput(sink, { muted: false });
    });
  }

  test('the daemon publishes a volume above 100 % as it is, and an output keeps its balance at volume 0', async () => {
    await node().sound.pactl('set-sink-volume', 'kitchen', `${rawVolume(1.2)}`, `${rawVolume(0.6)}`);
    await node().untilOutput('kitchen', { volume: 1.2, balance: -0.5 });
    await node().change('/audio/outputs/kitchen/volume', { delta: 0.1 });
    assert.equal((await node().output('kitchen')).volume, 1.2, 'a volume above 1 is not raised by a delta');
    for (const volume of [0.5, 0, 0.5]) {
      await node().change('/audio/outputs/kitchen/volume', { volume });
      await node().untilOutput('kitchen', { volume });
    }
    const listed = (await node().sound.sinks()).find(({ name }) => name === 'kitchen');
    const percent = ({ value }: { value: number }): number => Math.round((value / 0x10000) * 100);
    // With the balance -0.5, the right channel has half of the volume.
    assert.deepEqual(Object.values(listed?.volume ?? {}).map(percent), [50, 25]);
  });

  test('POST /audio/outputs/{output}/balance sets the balance, and keeps the volume', async () => {
    await node().change('/audio/outputs/kitchen/volume', { volume: 0.5 });
    for (const balance of [-0.5, 0]) {
      await node().change('/audio/outputs/kitchen/balance', { balance });
      const { volume, balance: actual } = await node().output('kitchen');
      assert.deepEqual([volume, actual], [0.5, balance]);
    }
    await node().streamAgrees();
  });

  test('POST /audio/outputs/{output}/default changes the records of the old default output, the new default output and the server', async () => {
    const received = node().collectEvents();
    await node().change('/audio/outputs/kitchen/default');
    await node().untilAudio('kitchen is the default', ({ server }) => server.default_sink === 'kitchen');
    await node().streamAgrees();
    const names = received()
      .filter(({ type }) => type === 'audio.output.updated')
      .flatMap(({ data }) => (JSON.parse(data) as { name: string }[]).map(({ name }) => name));
    assert.deepEqual([...new Set(names)].sort(), ['kitchen', 'living']);
    const { id } = await node().output('living');
    await node().change(`/audio/outputs/${id}/default`);
    await node().untilAudio('living is the default', ({ server }) => server.default_sink === 'living');
  });

  test('a request that sets the volume, mute or output of a client can use the id or the name of the client', async () => {
    const playing = await node().sound.play({ app: 'player', name: 'A song / with ü', sink: 'living' });
    await node().untilClient(playing.id);
    const byName = `/audio/clients/${encodeURIComponent('A song / with ü')}`;
    await node().change(`${byName}/volume`, { volume: 0.3 });
    await node().untilClient(playing.id, { volume: 0.3 });
    await node().change(`/audio/clients/${playing.id}/mute/`);
    await node().untilClient(playing.id, { muted: true });
    await node().change(`${byName}/mute`, { muted: false });
    await node().untilMoved(playing.id, 'kitchen', () =>
      node().change(`${byName}/output`, { output: 'kitchen' }),
    );
    const { id: living } = await node().output('living');
    await node().untilMoved(playing.id, 'living', () =>
      node().change(`/audio/clients/${playing.id}/output`, { output: living }),
    );
    await node().untilClient(playing.id, { name: 'A song / with ü', app: 'player', corked: false });
    await playing.stop();
    await node().untilAudio(
      'the client is gone',
      ({ clients }) => !clients.some(({ id }) => id === playing.id),
    );
    assert.equal((await node().daemon.post(`/audio/clients/${playing.id}/mute`)).status, 404);
  });

  test('the daemon refuses a command for an output, client or port that the sound server does not have', async () => {
    for (const [path, body, status, detail] of [
      ['/audio/outputs/99999/mute', undefined, 404, /99999/],
      ['/audio/clients/nobody/volume', { volume: 0.5 }, 404, /nobody/],
      ['/audio/outputs/living/port', { port: 'speaker' }, 409, /ports/],
    ] as const) {
      const answer = await node().daemon.post(path, body);
      assert.equal(answer.status, status);
      assert.equal(answer.headers['content-type'], 'application/problem+json');
      assert.match((JSON.parse(answer.text) as { detail: string }).detail, detail);
    }
  });

  /** Waits for an event of this type that has a record with these values. */
  const untilReceived = (
    received: () => ReceivedEvents,
    type: string,
    values: Partial<Client & Output>,
  ): Promise<void> =>
    node().stream.until(() => recordsIn(received(), type).some((record) => hasValues(record, values)), type);

  test('an event comes each time that a client appears, changes, moves, is corked or ends', async () => {
    const received = node().collectEvents();
    const connection = await node().sound.streams('corker');
    const props = { 'media.name': 'a song' };
    const [sinkInput] = await connection.open([{ sink: 'living', corked: false, props }]);
    assert.ok(sinkInput);
    const { id } = sinkInput;
    await untilReceived(received, 'audio.updated', { id, name: 'a song', output: 'living' });
    await node().sound.pactl('set-sink-input-volume', `${id}`, '40%');
    await untilReceived(received, 'audio.updated', { id, volume: 0.4 });
    await node().sound.pactl('set-sink-input-mute', `${id}`, '1');
    await untilReceived(received, 'audio.updated', { id, muted: true });
    await node().untilMoved(id, 'kitchen', () => node().sound.pactl('move-sink-input', `${id}`, 'kitchen'));
    await untilReceived(received, 'audio.updated', { id, output: 'kitchen' });
    await sinkInput.cork(true);
    await untilReceived(received, 'audio.updated', { id, corked: true });
    await node().streamAgrees();
    await sinkInput.remove();
    await untilReceived(received, 'audio.removed', { id });
    const lastRecord = (type: string) => recordsIn(received(), type).findLast((record) => record.id === id);
    const updated = lastRecord('audio.updated');
    const removed = lastRecord('audio.removed');
    // PipeWire may cork a client just before the client ends. No separate event reports this: only the
    // record in `audio.removed` is corked.
    const isRemovedCorked = removed?.['corked'] === true;
    const expected = isRemovedCorked ? { ...updated, corked: true } : updated;
    assert.deepEqual(removed, expected, 'a removal carries the last record');
    await connection.close();
    await node().streamAgrees();
  });

  test('an event comes when a sink appears, and when it goes', async () => {
    const received = node().collectEvents();
    await node().sound.addSink('attic', 'Attic');
    await untilReceived(received, 'audio.output.updated', { name: 'attic' });
    await node().sound.removeSink('attic');
    await untilReceived(received, 'audio.output.removed', { name: 'attic' });
    await node().streamAgrees();
  });

  test('the daemon publishes the default output that another program has set', async () => {
    for (const name of ['kitchen', 'living']) {
      await node().sound.pactl('set-default-sink', name);
      await node().untilAudio(`${name} is the default`, ({ server }) => server.default_sink === name);
      await node().streamAgrees();
      const { outputs } = await node().audio();
      const defaults = outputs.filter((output) => output.default);
      assert.equal(defaults.map((output) => output.name).join(), name);
    }
  });
});

const skip = skipReason({ programs: ['pulseaudio', 'pactl'] });

const CONFIG_WITH_WISHES = `${AUDIO_ONLY}pulseaudio:
  volumeLimit: {living: 0.6}
  outputs: {living: {label: Living room}, kitchen: {hidden: true}}
`;

/** actors/audio/commands.test.ts tests deltas and balances at the limit. */
test('outputs have their configured label, `hidden` and limit, and refuse a volume above the limit', {
  skip,
}, async (t) => {
  const { daemon } = await startAudio(t, { config: CONFIG_WITH_WISHES });
  const [living, kitchen] = await daemon.read<readonly Output[]>('/audio/outputs');
  assert.ok(living && kitchen);
  // A configured label is also the nick. An output without a nick has its description as label.
  assert.equal(living.name, 'living');
  assert.equal(living.nick, 'Living room');
  assert.equal(living.label, 'Living room');
  assert.equal(living.hidden, undefined);
  assert.equal(living.volume_limit, 0.6);

  assert.equal(kitchen.name, 'kitchen');
  assert.equal(kitchen.nick, undefined);
  assert.equal(kitchen.label, kitchen.description);
  assert.equal(kitchen.hidden, true);
  assert.equal(kitchen.volume_limit, undefined);

  const postVolume = (path: string, body: object) => daemon.post(`/audio/${path}/volume`, body);
  assert.equal((await postVolume('outputs/living', { volume: 0.5 })).status, 202);
  for (const path of ['outputs/living', 'server', `outputs/${living.id}`]) {
    const { status, text } = await postVolume(path, { volume: 0.61 });
    assert.equal(status, 400);
    assert.match(text, /"Field volume must be at most 0.6, the output's volume_limit"/);
  }
  // A delta that would exceed the limit is accepted, and the volume becomes the limit.
  assert.equal((await postVolume('outputs/living', { delta: 0.3 })).status, 202);
  assert.equal((await postVolume('outputs/kitchen', { volume: 1 })).status, 202);
  const changed = await daemon.read<readonly Output[]>('/audio/outputs');
  assert.deepEqual(
    changed.map(({ volume }) => volume),
    [0.6, 1],
  );
});

/** A client that reconnects to a restarted daemon must find all records (docs/http-api.md, "Answers"). */
test('the first answers of the daemon have the records of a backend, or the reason why the backend has none', {
  skip,
}, async (t) => {
  const sound = await startPulseAudio();
  t.after(() => sound.stop());
  const config = `${AUDIO_ONLY}players: {enabled: true}\n`;
  const daemon = await Daemon.start({ env: sound.env, config }, t);
  const [audio, players] = await Promise.all([daemon.get('/audio'), daemon.get('/players')]);
  // No session bus runs at the address in `sound.env`, so the players cannot come up.
  assert.deepEqual([audio.status, players.status], [200, 503]);
  assert.ok(JSON.parse(audio.text).outputs.length > 0);
  assert.match(players.text, /Backend players is connecting: /);
});
