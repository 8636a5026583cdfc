// Tests the runtime of every actor, from the supervisor's end of a real port.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { type Actor, actorThread, type Publisher } from '../../src/actors/runtime.js';
import { COLLECTION_NAMES } from '../../src/protocol/actor/collections.js';
import type { Answer, AudioCommand } from '../../src/protocol/actor/commands.js';
import { type FromActor, type ToActor, typedPort } from '../../src/protocol/actor/messages.js';
import { until } from '../until.js';

const DEADLINE = { timeout: 60_000 };
const DONE: Answer = { ok: true, value: {} };

function bench(t: TestContext, actor: Partial<Actor<AudioCommand>>) {
  const { port1, port2 } = new MessageChannel();
  const port = typedPort<ToActor, FromActor>(port1);
  const batches: FromActor[] = [];
  const note = (batch: FromActor) => void batches.push(batch);
  port.listen(note, () => undefined);
  const publishers: Publisher[] = [];
  const work = actorThread<'audio'>((_settings, publish) => {
    publishers.push(publish);
    return { handle: async () => DONE, stop: async () => undefined, ...actor };
  });
  const ended = work({
    port: port2,
    settings: {
      enabled: true,
      serveCookie: false,
      apiPort: 8018,
      outputs: {},
      groups: {},
      listen: {},
      listenLatency: 100,
    },
  });
  t.after(() => port.close());
  const [publish] = publishers;
  assert.ok(publish);
  /** Resolves with all items as soon as so many are of that kind. */
  const items = (kind: string, count = 1) =>
    until(`${count} of ${kind}`, () => {
      const all = batches.flat().filter((item) => 'kind' in item);
      return all.filter((item) => item.kind === kind).length >= count && all;
    });
  return { port, batches, publish, ended, items };
}

test('everything that is published in one turn is one batch, in order', DEADLINE, async (t) => {
  const { batches, publish, items } = bench(t, {});
  publish.put('audio.outputs', '1', '{}');
  publish.drop('audio.clients', '2');
  publish.level('{"outputs":[]}');
  publish.status('up');
  publish.status('connecting', 'why');
  publish.log('info', 'said', { times: 1 });
  await items('log');
  assert.deepEqual(batches, [
    [
      [COLLECTION_NAMES.indexOf('audio.outputs'), '1', '{}', undefined],
      { kind: 'drop', collection: 'audio.clients', key: '2' },
      { kind: 'level', json: '{"outputs":[]}' },
      { kind: 'status', state: 'up' },
      { kind: 'status', state: 'connecting', detail: 'why' },
      { kind: 'log', level: 'info', message: 'said', fields: { times: 1 } },
    ],
  ]);
  publish.status('up');
  await items('status', 3);
  assert.equal(batches.length, 2);
});

test('an answer is sent together with what its command has published', DEADLINE, async (t) => {
  const { batches, port, publish, items } = bench(t, {
    handle: async () => {
      publish.put('audio.kind', '', '"pulseaudio"');
      await Promise.resolve();
      await Promise.resolve();
      return DONE;
    },
  });
  port.send({ kind: 'command', id: 7, command: { do: 'mute', target: { kind: 'server' } } });
  await items('answer');
  const put = [COLLECTION_NAMES.indexOf('audio.kind'), '', '"pulseaudio"', undefined];
  assert.deepEqual(batches, [[put, { kind: 'answer', id: 7, answer: DONE }]]);
});

test('a change by others that follows an answer waits for no promise of its turn', DEADLINE, async (t) => {
  const { batches, port, publish, items } = bench(t, {});
  port.send({ kind: 'command', id: 7, command: { do: 'mute', target: { kind: 'server' } } });
  await items('answer');
  publish.drop('audio.outputs', '1');
  await Promise.resolve();
  await Promise.resolve();
  publish.drop('audio.outputs', '2');
  await items('drop', 2);
  assert.equal(batches.length, 3);
});

test('a huge turn is sent in bounded batches, complete and in order', DEADLINE, async (t) => {
  const { batches, publish, items } = bench(t, {});
  for (let key = 0; key < 2500; key += 1) publish.drop('audio.outputs', String(key));
  publish.status('up');
  const sent = await items('status');
  const lengths = batches.map(({ length }) => length);
  assert.deepEqual(lengths, [1024, 1024, 453]);
  const keys = sent.flatMap((item) => (item.kind === 'drop' ? [Number(item.key)] : []));
  const all = Array.from({ length: 2500 }, (_, key) => key);
  assert.deepEqual(keys, all);
});

test(
  'an actor is stopped once; what it publishes while it stops is sent, and nothing later',
  DEADLINE,
  async (t) => {
    let stops = 0;
    const { port, publish, ended, items, batches } = bench(t, {
      stop: async () => {
        stops += 1;
        publish.log('info', 'closing');
      },
    });
    port.send({ kind: 'stop' });
    port.send({ kind: 'stop' });
    await ended;
    publish.log('info', 'too late');
    await items('log');
    assert.equal(stops, 1);
    assert.equal(batches.flat().length, 1);
  },
);

test('an actor stops when its supervisor has ended', DEADLINE, async (t) => {
  const stop = t.mock.fn(async () => undefined);
  const { port, ended } = bench(t, { stop });
  port.close();
  await ended;
  assert.equal(stop.mock.callCount(), 1);
});
