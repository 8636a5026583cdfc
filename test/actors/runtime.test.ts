// Tests the runtime that all actors share. The tests use the supervisor's end of a real port.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { type Actor, actorThread, type Publisher } from '../../src/actors/runtime.js';
import { COLLECTION_NAMES } from '../../src/protocol/actor/collections.js';
import type { Answer, AudioCommand } from '../../src/protocol/actor/commands.js';
import { type FromActor, type ToActor, typedPort } from '../../src/protocol/actor/messages.js';
import { until } from '../until.js';

/** A test that never ends must fail. */
const DEADLINE = { timeout: 60_000 };
const DONE: Answer = { ok: true, value: {} };

/** Deadlines on the monotonic clock of the machine. */
const IN_TIME = Number.POSITIVE_INFINITY;
const LATE = 0;
const muteCommand = (id: number, deadline: number): ToActor => ({
  kind: 'command',
  id,
  command: { do: 'mute', target: { kind: 'server' } },
  deadline,
});

function startActor(t: TestContext, actor: Partial<Actor<AudioCommand>>) {
  const { port1, port2 } = new MessageChannel();
  const port = typedPort<ToActor, FromActor>(port1);
  const batches: FromActor[] = [];
  port.listen(
    (batch) => void batches.push(batch),
    () => undefined,
  );
  const publishers: Publisher[] = [];
  const runActor = actorThread<'audio'>((_settings, publish) => {
    publishers.push(publish);
    return { handle: async () => DONE, stop: async () => undefined, ...actor };
  });
  const ended = runActor({
    port: port2,
    settings: {
      enabled: true,
      actsByItself: true,
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
  /**
   * Waits until `count` items of this kind are sent. Resolves to all items that were sent, except puts: a put
   * is an array, and has no kind.
   */
  const untilSent = (kind: string, count = 1) =>
    until(`${count} items of kind ${kind} are sent`, () => {
      const sent = batches.flat().filter((item) => 'kind' in item);
      return sent.filter((item) => item.kind === kind).length >= count && sent;
    });
  return { port, batches, publish, ended, untilSent };
}

test('everything that is published in one synchronous step is one batch, in order', DEADLINE, async (t) => {
  const { batches, publish, untilSent } = startActor(t, {});
  publish.put('audio.outputs', '1', '{}');
  publish.drop('audio.clients', '2');
  publish.level('{"outputs":[]}');
  publish.status('up');
  publish.status('connecting', 'why');
  publish.log('info', 'said', { times: 1 });

  await untilSent('log');
  // The put at the beginning has no rank, so its last element is undefined.
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
  await untilSent('status', 3);
  assert.equal(batches.length, 2, 'the next turn has a batch of its own');
});

test('an answer is sent together with what its command has published', DEADLINE, async (t) => {
  const { batches, port, publish, untilSent } = startActor(t, {
    handle: async () => {
      publish.put('audio.kind', '', '"pulseaudio"');
      // The answer comes some promises later, but in the same turn.
      await Promise.resolve();
      await Promise.resolve();
      return DONE;
    },
  });
  port.send(muteCommand(7, IN_TIME));
  await untilSent('answer');
  const put = [COLLECTION_NAMES.indexOf('audio.kind'), '', '"pulseaudio"', undefined];
  assert.deepEqual(batches, [[put, { kind: 'answer', id: 7, answer: DONE }]]);
});

test(
  'a command that the actor receives after its deadline is neither carried out nor answered',
  DEADLINE,
  async (t) => {
    const handle = t.mock.fn(async () => DONE);
    const { port, untilSent } = startActor(t, { handle });
    port.send(muteCommand(7, LATE));
    port.send(muteCommand(8, IN_TIME));
    const sent = await untilSent('answer');
    assert.equal(handle.mock.callCount(), 1);
    assert.deepEqual(sent, [
      { kind: 'log', level: 'debug', message: 'a command came after its deadline' },
      { kind: 'answer', id: 8, answer: DONE },
    ]);
  },
);

test(
  'while no command is pending, each synchronous step has a batch of its own, even within one turn',
  DEADLINE,
  async (t) => {
    const { batches, port, publish, untilSent } = startActor(t, {});
    port.send(muteCommand(7, IN_TIME));
    await untilSent('answer');

    publish.drop('audio.outputs', '1');
    // The second change comes some promises later, but in the same turn.
    await Promise.resolve();
    await Promise.resolve();
    publish.drop('audio.outputs', '2');
    await untilSent('drop', 2);
    assert.equal(batches.length, 3, 'one batch for the answer, and one for each change');
  },
);

const DROPS = 2500;

test('a huge number of items is sent in bounded batches, complete and in order', DEADLINE, async (t) => {
  const { batches, publish, untilSent } = startActor(t, {});
  for (let key = 0; key < DROPS; key += 1) publish.drop('audio.outputs', String(key));
  publish.status('up');
  const sent = await untilSent('status');

  const lengths = batches.map(({ length }) => length);
  // A batch has at most 1024 items (BATCH_ITEMS_MAX in runtime.ts). The last batch also has the status.
  assert.deepEqual(lengths, [1024, 1024, 453]);

  const keys = sent.flatMap((item) => (item.kind === 'drop' ? [Number(item.key)] : []));
  const expectedKeys = Array.from({ length: DROPS }, (_, key) => key);
  assert.deepEqual(keys, expectedKeys);
});

test(
  'an actor is stopped only once; what it publishes while it stops is sent, but later items are not sent',
  DEADLINE,
  async (t) => {
    let stops = 0;
    const { port, publish, ended, untilSent, batches } = startActor(t, {
      stop: async () => {
        stops += 1;
        publish.log('info', 'closing');
      },
    });
    port.send({ kind: 'stop' });
    port.send({ kind: 'stop' });
    await ended;
    publish.log('info', 'too late');
    await untilSent('log');

    assert.equal(stops, 1);
    assert.equal(batches.flat().length, 1, 'only what it published while it stopped is sent');
  },
);

test('an actor stops when its supervisor has ended', DEADLINE, async (t) => {
  const stop = t.mock.fn(async () => undefined);
  const { port, ended } = startActor(t, { stop });
  port.close();
  await ended;
  assert.equal(stop.mock.callCount(), 1);
});
