// Every audio route of docs/http-api.md, "Audio routes" on real sound servers: the answer, the effect at the server, and the records.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onEachSoundServer } from './audio-node.js';

const raw = (percent: number): number => Math.round(percent * 0x10000);

onEachSoundServer('audio routes', (node, kind) => {
  test('GET /audio has the parts that its routes have', async () => {
    const { daemon } = node();
    const whole = await node().audio();
    assert.equal(whole.kind, kind);
    assert.deepEqual(await daemon.read('/audio/server'), whole.server);
    assert.deepEqual(await daemon.read('/audio/outputs/'), whole.outputs);
    assert.deepEqual(await daemon.read('/audio/clients'), whole.clients);
    assert.equal(whole.outputs.map(({ name }) => name).join(), 'living,kitchen');
  });

  for (const [target, sink] of [
    ['/audio/server', 'living'],
    ['/audio/outputs/kitchen', 'kitchen'],
  ] as const) {
    test(`POST ${target}/volume sets, by value and by delta`, async () => {
      await node().change(`${target}/volume`, { volume: 0.5 });
      await node().outputIs(sink, { volume: 0.5 });
      await node().change(`${target}/volume`, { delta: 0.2 });
      await node().change(`${target}/volume`, { delta: -0.1 });
      await node().outputIs(sink, { volume: 0.6 });
      await node().change(`${target}/volume`, { delta: 1 });
      await node().outputIs(sink, { volume: 1 });
    });

    test(`POST ${target}/mute toggles, or sets the given value`, async () => {
      await node().change(`${target}/mute`);
      await node().outputIs(sink, { muted: true });
      await node().change(`${target}/mute`, { muted: true });
      await node().change(`${target}/mute`);
      await node().outputIs(sink, { muted: false });
    });
  }

  test('an output keeps its balance, also through 0 and back, and shows more than 100 %', async () => {
    await node().sound.pactl('set-sink-volume', 'kitchen', `${raw(1.2)}`, `${raw(0.6)}`);
    await node().outputIs('kitchen', { volume: 1.2, balance: -0.5 });
    await node().change('/audio/outputs/kitchen/volume', { delta: 0.1 });
    assert.equal((await node().output('kitchen')).volume, 1.2, 'upwards from above 1 changes nothing');
    for (const volume of [0.5, 0, 0.5]) {
      await node().change('/audio/outputs/kitchen/volume', { volume });
      await node().outputIs('kitchen', { volume });
    }
    const listed = (await node().sound.sinks()).find(({ name }) => name === 'kitchen');
    const percent = ({ value }: { value: number }): number => Math.round((value / 0x10000) * 100);
    assert.deepEqual(Object.values(listed?.volume ?? {}).map(percent), [50, 25]);
  });

  test('POST /audio/outputs/{output}/balance sets it at the volume that the output has', async () => {
    await node().change('/audio/outputs/kitchen/volume', { volume: 0.5 });
    for (const balance of [-0.5, 0]) {
      await node().change('/audio/outputs/kitchen/balance', { balance });
      const { volume, balance: told } = await node().output('kitchen');
      assert.deepEqual([volume, told], [0.5, balance]);
    }
    await node().streamTellsTheTruth();
  });

  test('POST /audio/outputs/{output}/default updates both outputs and the server', async () => {
    const since = node().mark();
    await node().change('/audio/outputs/kitchen/default');
    await node().settles('kitchen is the default', ({ server }) => server.default_sink === 'kitchen');
    await node().streamTellsTheTruth();
    const names = since()
      .filter(({ type }) => type === 'audio.output.updated')
      .flatMap(({ data }) => (JSON.parse(data) as { name: string }[]).map(({ name }) => name));
    assert.deepEqual([...new Set(names)].sort(), ['kitchen', 'living']);
    const { id } = await node().output('living');
    await node().change(`/audio/outputs/${id}/default`);
    await node().settles('living is the default', ({ server }) => server.default_sink === 'living');
  });

  test('the volume, mute and output of a stream are set by id and by name', async () => {
    const playing = await node().sound.play({ app: 'player', name: 'A song / with ü', sink: 'living' });
    await node().clientIs(playing.id);
    const byName = `/audio/clients/${encodeURIComponent('A song / with ü')}`;
    await node().change(`${byName}/volume`, { volume: 0.3 });
    await node().clientIs(playing.id, { volume: 0.3 });
    await node().change(`/audio/clients/${playing.id}/mute/`);
    await node().clientIs(playing.id, { muted: true });
    await node().change(`${byName}/mute`, { muted: false });
    const move = (path: string, output: unknown) => () => node().change(`${path}/output`, { output });
    await node().moves(playing.id, 'kitchen', move(byName, 'kitchen'));
    const { id: living } = await node().output('living');
    await node().moves(playing.id, 'living', move(`/audio/clients/${playing.id}`, living));
    await node().clientIs(playing.id, { name: 'A song / with ü', app: 'player', corked: false });
    await playing.stop();
    await node().settles('the end', ({ clients }) => !clients.some(({ id }) => id === playing.id));
    assert.equal((await node().daemon.post(`/audio/clients/${playing.id}/mute`)).status, 404);
  });

  test('what the server does not have is refused', async () => {
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
});
