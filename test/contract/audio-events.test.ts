// Every audio event of docs/events.md, "Events" on real sound servers: its cause and its payload.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, hasValues, type Output, onEachSoundServer } from './audio-node.js';

type Seen = readonly { readonly type: string; readonly data: string }[];

/** Records of one event type, newest last. */
function records(seen: Seen, type: string): readonly (Client & Output)[] {
  return seen.flatMap((event) => (event.type === type ? JSON.parse(event.data) : []));
}

onEachSoundServer('audio events', (node) => {
  /** Waits for an event of a record with these values. */
  const sees = (seen: () => Seen, type: string, values: Partial<Client & Output>): Promise<void> =>
    node().stream.until(() => records(seen(), type).some((each) => hasValues(each, values)), type);

  test('a stream with another name is removed under the old one first', async () => {
    const client = await node().sound.streams('player');
    const [stream] = await client.open([{ sink: 'living', props: { 'media.name': 'first song' } }]);
    assert.ok(stream);
    await node().clientIs(stream.id);
    await node().streamTellsTheTruth();
    const before = await node().client(stream.id);
    const seen = node().mark();
    await stream.rename('second song');
    await sees(seen, 'audio.updated', { id: stream.id, name: 'second song' });
    // Events of outputs do not count, because PipeWire may put an output to sleep at any time.
    const ofStreams = seen().filter(({ type }) => type === 'audio.removed' || type === 'audio.updated');
    const [removal, update] = ofStreams;
    assert.equal(removal?.type, 'audio.removed');
    assert.deepEqual(JSON.parse(removal.data), [before]);
    assert.equal(update?.type, 'audio.updated');
    assert.deepEqual(JSON.parse(update.data), [await node().client(stream.id)]);
    await client.close();
    await node().settles('all are gone', ({ clients }) => clients.length === 0);
    await node().streamTellsTheTruth();
  });

  test('a stream appears, changes, moves, corks and ends', async () => {
    const seen = node().mark();
    const client = await node().sound.streams('corker');
    const props = { 'media.name': 'a song' };
    const [stream] = await client.open([{ sink: 'living', corked: false, props }]);
    assert.ok(stream);
    const { id } = stream;
    await sees(seen, 'audio.updated', { id, name: 'a song', output: 'living' });
    await node().sound.pactl('set-sink-input-volume', `${id}`, '40%');
    await sees(seen, 'audio.updated', { id, volume: 0.4 });
    await node().sound.pactl('set-sink-input-mute', `${id}`, '1');
    await sees(seen, 'audio.updated', { id, muted: true });
    await node().moves(id, 'kitchen', () => node().sound.pactl('move-sink-input', `${id}`, 'kitchen'));
    await sees(seen, 'audio.updated', { id, output: 'kitchen' });
    await stream.cork(true);
    await sees(seen, 'audio.updated', { id, corked: true });
    await node().streamTellsTheTruth();
    await stream.remove();
    await sees(seen, 'audio.removed', { id });
    const [last, removed] = (['audio.updated', 'audio.removed'] as const).map((type) =>
      records(seen(), type).findLast((record) => record.id === id),
    );
    // PipeWire may cork a stream that ends; that change and the end at the same time are one event, which carries the newest record.
    const corked = removed?.['corked'] === true || last?.['corked'];
    assert.deepEqual(removed, { ...last, corked }, 'a removal carries the last record');
    await client.close();
    await node().streamTellsTheTruth();
  });

  test('a sink appears and goes', async () => {
    const seen = node().mark();
    await node().sound.addSink('attic', 'Attic');
    await sees(seen, 'audio.output.updated', { name: 'attic' });
    await node().sound.removeSink('attic');
    await sees(seen, 'audio.output.removed', { name: 'attic' });
    await node().streamTellsTheTruth();
  });

  test('the default changes from outside', async () => {
    for (const name of ['kitchen', 'living']) {
      await node().sound.pactl('set-default-sink', name);
      await node().settles(name, ({ server }) => server.default_sink === name);
      await node().streamTellsTheTruth();
      const { outputs } = await node().audio();
      const defaults = outputs.filter((output) => output.default);
      assert.equal(defaults.map((output) => output.name).join(), name);
    }
  });
});
