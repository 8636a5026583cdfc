// Tests a live connection against a scripted node with mocked time: its requests, the changes that it
// reports, and how it reconnects after a loss. Against real nodes: test/contract/client-truth.test.ts.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type ConnectOptions, connect, type Live } from '../../src/client/connect.js';
import { tonearm } from '../../src/client/routes.js';
import type { NodeState, Slice } from '../../src/client/store.js';
import { type RequestedStream, type ScriptedNode, scriptedNode, settled } from './scripted-node.js';

/** Longer than every wait of the client, and longer than the silence after which it gives a stream up. */
const LONG_MS = 60_000;
const SILENCE_MS = 15_000;
/** `retry` of the scripted streams. After a first loss the client waits this long, less up to half. */
const RETRY_MS = 3000;

interface Scripted extends ScriptedNode {
  readonly live: Live;
  readonly changes: Slice[][];
  tick(ms: number): Promise<void>;
  /** The stream that was requested last; `event` sends on it. */
  stream(): RequestedStream;
  event: RequestedStream['event'];
}

/** The first requests for a stream get `refusals`. */
async function connected(
  t: TestContext,
  options: ConnectOptions = {},
  ...refusals: readonly Response[]
): Promise<Scripted> {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const node = scriptedNode();
  node.refusals.push(...refusals);
  const changes: Slice[][] = [];
  const live = connect(tonearm('http://node', node), {
    onChange: (_state, changed) => changes.push([...changed]),
    ...options,
  });
  t.after(() => live.close());
  await settled();
  const tick = async (ms: number): Promise<void> => {
    t.mock.timers.tick(ms);
    await settled();
  };
  const stream = (): RequestedStream => node.streams.at(-1) ?? assert.fail('no stream was requested');
  return { ...node, live, changes, tick, stream, event: (...fields) => stream().event(...fields) };
}

/** Like `connected`, with a stream that has begun. */
async function live(t: TestContext, options?: ConnectOptions): Promise<Scripted> {
  const scripted = await connected(t, options);
  await hello(scripted.stream());
  return scripted;
}

/** The first bytes of each stream. */
const hello = (stream: RequestedStream) =>
  stream.send(`retry: ${RETRY_MS}\nevent: server.info\ndata: "connected"\n\n`);
const mark = (backend: string) => ({ backend, state: 'up', detail: 'snapshot' });
const record = (id: number) => ({ id, name: `r${id}` });
/** Sends an event of a player with that time. */
const timed = (scripted: Scripted) => (emitted_at: number) =>
  scripted.event('b-1', 'player.updated', { data: { bus_name: 'a' }, emitted_at });
const ids = ({ live }: Scripted): number[] => [...live.state.outputs.keys()];

describe('the client connects', () => {
  const types = ['audio.updated', 'audio.removed'] as const;
  const known = 'service\\.updated,.*,player\\.position,.*,backend\\.updated';
  const audio = { backend: ['audio'] } as const;
  const rows: readonly (readonly [what: string, options: ConnectOptions, front: string, end: string])[] = [
    ['for all events, with a snapshot and a keep-alive every 10 s', {}, '', ''],
    ['for some events', { types }, '', `&types=${types}`],
    ['for some backends', { ...audio, exclude: types }, `backend=audio&exclude=${types}&`, ''],
    ['for all events by name with levels', { levels: true }, '', `&types=${known},audio.level`],
    ['for one with levels', { ...audio, levels: true }, 'backend=audio&', '&types=audio.level'],
    ['for some events with levels', { levels: true, types }, '', `&types=${types},audio.level`],
  ];
  for (const [what, options, front, end] of rows) {
    test(what, async (t) => {
      const { url, lastEventId, accept } = (await connected(t, options)).stream();
      assert.equal(accept, 'text/event-stream');
      url.searchParams.sort();
      const expected = new RegExp(`^\\?${front}keepalive=10&snapshot=1${end}$`);
      assert.match(decodeURIComponent(url.search), expected);
      assert.equal(lastEventId, undefined);
    });
  }

  test('the client fetches what the stream does not carry, when its backend comes up and its events are wanted', async (t) => {
    for (const [options, expected] of [
      [{}, ['/server', '/power/', '/upgrade']],
      [{ backend: ['audio', 'power'] }, ['/server', '/power/']],
      [{ types: ['audio.updated'] }, ['/server']],
    ] as const) {
      await t.test(JSON.stringify(options), async (t) => {
        const scripted = await live(t, options);
        await scripted.event('b-1', 'backend.updated', { backend: 'power', state: 'connecting' });
        assert.deepEqual(scripted.requests, ['/server']);
        for (const backend of ['audio', 'power', 'upgrade'])
          await scripted.event('b-2', 'backend.updated', { backend, state: 'up' });
        assert.deepEqual(scripted.requests, expected);
      });
    }
  });
});

describe('the client notifies', () => {
  test('the client notifies of a whole snapshot at once, and of nothing while it is incomplete', async (t) => {
    const scripted = await connected(t);
    let answer: (server: unknown) => void = () => undefined;
    scripted.answers.set('/server', () => new Promise((resolve) => (answer = resolve)));
    await hello(scripted.stream());
    await scripted.event('b-1', 'audio.output.updated', [record(1), record(2)]);
    await scripted.stream().end();
    await scripted.tick(RETRY_MS);
    await hello(scripted.stream());
    await scripted.event('', 'backend.updated', mark('audio'));
    await scripted.event('', 'audio.output.updated', [record(1)]);
    scripted.changes.length = 0;
    answer({ hostname: 'node' });
    await settled();
    assert.deepEqual([scripted.changes.length, ids(scripted)], [0, [1, 2]]);
    await scripted.stream().end();
    assert.deepEqual([scripted.live.state.connection.status, ids(scripted)], ['lost', [1, 2]]);
    await scripted.tick(2 * RETRY_MS);
    assert.equal(scripted.stream().lastEventId, 'b-1');
    await hello(scripted.stream());
    await scripted.event('', 'backend.updated', mark('audio'));
    scripted.changes.length = 0;
    await scripted.event('b-7', 'audio.output.updated', [record(3)]);
    assert.deepEqual(ids(scripted), [3]);
    const [changed, ...more] = scripted.changes;
    assert.deepEqual([changed?.includes('outputs'), changed?.includes('backends'), more], [true, true, []]);
  });

  test('a subscriber gets the state at once, then its slice only, and none after its end; one that throws disturbs nobody', async (t) => {
    const scripted = await connected(t);
    const received: NodeState['outputs'][] = [];
    const uncaught: unknown[] = [];
    t.mock.method(globalThis, 'queueMicrotask', (task: () => void) => {
      try {
        task();
      } catch (error) {
        uncaught.push(error);
      }
    });
    scripted.live.subscribe('outputs', () => {
      throw new Error('mine');
    });
    const end = scripted.live.subscribe('outputs', (outputs) => received.push(outputs));
    await hello(scripted.stream());
    assert.deepEqual(
      received.map(({ size }) => size),
      [0],
    );
    await scripted.event('b-1', 'audio.updated', [record(1)]);
    assert.equal(received.length, 1);
    await scripted.event('b-2', 'audio.output.updated', [record(1)]);
    assert.deepEqual([...(received[1] ?? [])], [[1, record(1)]]);
    scripted.live.subscribe('outputs', (outputs) => received.push(outputs))();
    assert.equal(received[2], received[1]);
    end();
    await scripted.event('b-3', 'audio.output.updated', [record(2)]);
    assert.equal(received.length, 3);
    assert.deepEqual(uncaught.map(String), ['Error: mine', 'Error: mine', 'Error: mine']);
    assert.equal(scripted.live.state.connection.status, 'live');
  });

  test('the client notifies of each event when it comes', async (t) => {
    const received: string[] = [];
    const scripted = await connected(t, {
      onEvent: ({ type, data }) => received.push(`${type} ${JSON.stringify(data)}`),
    });
    await hello(scripted.stream());
    await scripted.event('b-1', 'power.action', { action: 'reboot' });
    assert.deepEqual(received, ['server.info "connected"', 'power.action {"action":"reboot"}']);
  });

  test("the client knows the node's time by the newest times of its players", async (t) => {
    const scripted = await connected(t);
    await scripted.tick(10_000);
    assert.equal(scripted.live.nodeTime(), Date.now());
    await hello(scripted.stream());
    const sendTime = timed(scripted);
    await sendTime(1_000_000);
    assert.equal(scripted.live.nodeTime(), 1_000_000);
    await sendTime(900_000);
    assert.equal(scripted.live.nodeTime(), 1_000_000, 'one that was on its way for long says nothing new');
    await scripted.tick(5000);
    await scripted.event('', 'backend.updated', mark('players'));
    await sendTime(500_000);
    assert.equal(scripted.live.nodeTime(), 500_000, 'a snapshot is of now');
  });

  for (const [whose, deviceMs, nodeMs] of [
    ["this device's clock was set back", -3_600_000, 0],
    ["this device's clock was set forward", 3_600_000, 0],
    ["the node's clock was set back", 0, -3_600_000],
    ["the node's clock was set forward", 0, 3_600_000],
  ] as const) {
    test(`the client knows the node's time after ${whose}, at the next event of a player`, async (t) => {
      const scripted = await live(t);
      const sendTime = timed(scripted);
      t.mock.timers.setTime(10_000_000);
      await sendTime(20_000_000);
      await scripted.event('b-1', 'server.info', 'love');
      t.mock.timers.setTime(Date.now() + deviceMs);
      await sendTime(20_000_000 + nodeMs);
      assert.equal(scripted.live.nodeTime(), 20_000_000 + nodeMs);
      await sendTime(19_999_000 + nodeMs);
      // A second on its way is no clock that was set.
      assert.equal(scripted.live.nodeTime(), 20_000_000 + nodeMs);
      await scripted.stream().end();
      await scripted.tick(RETRY_MS);
      await hello(scripted.stream());
      await sendTime(0);
      assert.equal(scripted.live.nodeTime(), 20_000_000 + nodeMs + RETRY_MS, 'what was missed is old');
    });
  }
});

describe('the connection is lost', () => {
  const BYE = 'event: server.info\ndata: "bye"\n\n';
  const NONSENSE = 'event: audio.updated\ndata: {\n\n';
  const losses: readonly (readonly [string, string, (scripted: Scripted) => Promise<void>])[] = [
    ['when the stream ends', 'unreachable', ({ stream }) => stream().end()],
    ['when the node sends bye', 'bye', ({ stream }) => stream().send(BYE).then(stream().end)],
    ['when the node is silent for too long', 'silent', ({ tick }) => tick(SILENCE_MS)],
    ['when it gets an event that is not valid', 'not-the-service', ({ stream }) => stream().send(NONSENSE)],
  ];
  for (const [what, code, lose] of losses) {
    test(`${what}: at once, with the known state kept, and is made again`, async (t) => {
      const scripted = await live(t);
      await scripted.event('b-1', 'audio.output.updated', [record(1)]);
      await scripted.tick(SILENCE_MS - 1);
      await scripted.stream().send('event: server.info\ndata: "love"\n\n');
      assert.equal(scripted.live.state.connection.status, 'live');
      await lose(scripted);
      const { status, problem } = scripted.live.state.connection;
      assert.deepEqual([status, problem?.type], ['lost', `urn:tonearm:problem:${code}`]);
      scripted.refusals.push(new Response('', { status: 502 }));
      assert.deepEqual(ids(scripted), [1]);
      assert.equal(scripted.streams.map(({ aborted }) => aborted).join(), 'true');
      await scripted.tick(RETRY_MS);
      assert.equal(scripted.live.state.connection.problem?.status, 502, 'the newest reason counts');
      await scripted.tick(2 * RETRY_MS);
      assert.equal(scripted.streams.length, 2);
      await hello(scripted.stream());
      assert.equal(scripted.live.state.connection.status, 'live');
      assert.equal(scripted.live.state.connection.problem, undefined);
    });
  }

  test('a lost connection is made again with its last id, but anew after invalid events', async (t) => {
    const scripted = await live(t);
    await scripted.event('b-1', 'audio.output.updated', [record(1)]);
    await scripted.event('b-2', 'server.info', 'love');
    await scripted.stream().send('id: b-3\nevent: audio.removed\n');
    await scripted.stream().end();
    await scripted.tick(RETRY_MS);
    assert.equal(scripted.stream().lastEventId, 'b-2');
    await scripted.stream().end();
    await scripted.tick(2 * RETRY_MS);
    assert.equal(scripted.stream().lastEventId, 'b-2', 'no word of its own has come since');
    await scripted.event('b-4', 'audio.updated', { not: 'a list' });
    await scripted.tick(RETRY_MS);
    assert.equal(scripted.stream().lastEventId, undefined);
  });

  test('a lost connection is tried again later each time, up to a bound, with random delays', async (t) => {
    const scripted = await connected(t);
    const random = t.mock.method(Math, 'random', () => 0.5);
    await hello(scripted.stream());
    await scripted.stream().end();
    for (const waited of [3000, 6000, 12_000, 24_000, 30_000, 30_000]) {
      const before = scripted.streams.length;
      scripted.refusals.push(new Response('', { status: 502, statusText: 'Bad Gateway' }));
      await scripted.tick(waited * 0.75 - 1);
      assert.equal(scripted.refusals.length, 1, `not before ${waited * 0.75} ms`);
      await scripted.tick(1);
      assert.deepEqual([scripted.refusals.length, scripted.streams.length], [0, before]);
    }
    assert.ok(random.mock.callCount() >= 6);
    await scripted.tick(LONG_MS);
    await hello(scripted.stream());
    await scripted.stream().end();
    await scripted.tick(RETRY_MS);
    assert.equal(scripted.streams.length, 3, 'a stream that has begun forgets the failures');
  });

  test('a lost connection is tried again at most twice a second, whatever the node requests', async (t) => {
    const scripted = await connected(t);
    t.mock.method(Math, 'random', () => 0.999);
    for (let attempts = 1; attempts < 4; attempts += 1) {
      await scripted.stream().send('retry: 0\n\n');
      await scripted.stream().end();
      await scripted.tick(499);
      assert.equal(scripted.streams.length, attempts);
      await scripted.tick(3);
      assert.equal(scripted.streams.length, attempts + 1);
    }
  });

  for (const [what, id] of [
    ['has characters that no header takes', 'b-\u20ac'],
    ['holds a control character', 'b-\u0007'],
    ["is larger than a request's head", 'b'.repeat(20_000)],
  ] as const) {
    test(`a lost connection is made again with a snapshot where its id ${what}`, async (t) => {
      const scripted = await live(t);
      await scripted.event(id, 'audio.output.updated', [record(1)]);
      await scripted.stream().end();
      await scripted.tick(RETRY_MS);
      assert.equal(scripted.streams.length, 2);
      assert.equal(scripted.stream().lastEventId, undefined);
      assert.equal(scripted.stream().url.searchParams.get('snapshot'), '1');
    });
  }

  const PROBLEM = '{"type":"urn:tonearm:problem:too-many-streams","title":"t","status":503,"detail":"d"}';
  const answer = (status: number, type: string, text: string) =>
    new Response(text, { status, headers: { 'Content-Type': type } });
  const refused: readonly (readonly [string, Response, string, number])[] = [
    ['a problem document', answer(503, 'application/problem+json', PROBLEM), 'too-many-streams', 503],
    ['a page of another program', answer(200, 'text/html', '<html>'), 'not-the-service', 0],
    ['an error of another program', answer(502, 'text/html', ''), 'not-the-service', 502],
  ];
  for (const [what, response, code, status] of refused) {
    test(`before it ever was made, by ${what}: with a reason, and is tried again`, async (t) => {
      const scripted = await connected(t, {}, response);
      const { status: now, problem } = scripted.live.state.connection;
      const expected = ['connecting', `urn:tonearm:problem:${code}`, status];
      assert.deepEqual([now, problem?.type, problem?.status], expected);
      await scripted.tick(LONG_MS);
      assert.equal(scripted.streams.length, 1);
    });
  }
});

describe('a browser', () => {
  /** The parts of a browser that the client uses. */
  function browser(t: TestContext) {
    const page = new EventTarget();
    const document: EventTarget & { visibilityState?: string } = new EventTarget();
    const globals = { addEventListener: page.addEventListener.bind(page), document };
    for (const [name, value] of Object.entries(globals)) {
      Object.defineProperty(globalThis, name, { value, configurable: true });
      t.after(() => Reflect.deleteProperty(globalThis, name));
    }
    return { page, document };
  }

  test('a browser that is offline loses the connection at once, and reconnects as soon as it is online', async (t) => {
    const { page } = browser(t);
    const scripted = await live(t);
    page.dispatchEvent(new Event('offline'));
    await settled();
    assert.equal(scripted.live.state.connection.problem?.type, 'urn:tonearm:problem:offline');
    page.dispatchEvent(new Event('online'));
    await settled();
    assert.equal(scripted.streams.length, 2);
  });

  test('a browser that was asleep drops its connection and reconnects at once', async (t) => {
    const { document } = browser(t);
    const scripted = await live(t);
    document.visibilityState = 'hidden';
    document.dispatchEvent(new Event('visibilitychange'));
    document.visibilityState = 'visible';
    document.dispatchEvent(new Event('visibilitychange'));
    await settled();
    assert.equal(scripted.live.state.connection.status, 'live', 'a glance elsewhere changes nothing');
    t.mock.timers.setTime(Date.now() + LONG_MS);
    document.dispatchEvent(new Event('visibilitychange'));
    await settled();
    assert.equal(scripted.live.state.connection.status, 'lost');
    document.dispatchEvent(new Event('visibilitychange'));
    await settled();
    assert.equal(scripted.streams.length, 2);
  });
});

describe('reconnect()', () => {
  test('does not wait for the next attempt, and replaces one without an answer', async (t) => {
    const scripted = await live(t);
    await scripted.stream().end();
    await settled();
    assert.equal(scripted.live.state.connection.status, 'lost');
    scripted.live.reconnect();
    await settled();
    assert.equal(scripted.streams.length, 2);
    scripted.live.reconnect();
    await settled();
    assert.deepEqual([scripted.streams.length, scripted.streams[1]?.aborted], [3, true]);
  });

  test('keeps an open stream', async (t) => {
    const scripted = await live(t);
    scripted.live.reconnect();
    await settled();
    assert.deepEqual([scripted.streams.length, scripted.stream().aborted], [1, false]);
  });
});

describe('levels', () => {
  test('are switched while connected, without an interruption', async (t) => {
    const scripted = await live(t);
    await scripted.event('b-1', 'audio.output.updated', [record(1)]);
    scripted.changes.length = 0;
    scripted.live.setLevels(true);
    await settled();
    assert.equal(scripted.streams.length, 2);
    assert.equal(scripted.streams[0]?.aborted, true);
    assert.equal(scripted.stream().lastEventId, 'b-1');
    await hello(scripted.stream());
    await scripted.event('', 'audio.level', { outputs: [{ id: 1, peak: [0.5] }] });
    assert.deepEqual([...scripted.live.state.levels], [[1, [0.5]]]);
    scripted.live.setLevels(true);
    scripted.live.setLevels(false);
    await settled();
    assert.deepEqual([scripted.streams.length, scripted.live.state.levels.size], [3, 0]);
    assert.equal(scripted.stream().url.searchParams.get('types'), null);
    assert.ok(!scripted.changes.flat().includes('outputs'));
    assert.equal(scripted.live.state.connection.status, 'live');
  });

  test('levels that are switched in the middle of a snapshot show no part of it', async (t) => {
    const scripted = await live(t);
    await scripted.event('b-1', 'audio.output.updated', [record(1), record(2)]);
    await scripted.event('', 'backend.updated', mark('audio'));
    await scripted.event('', 'audio.output.updated', [record(1)]);
    scripted.live.setLevels(true);
    await settled();
    await hello(scripted.stream());
    await scripted.event('b-2', 'audio.updated', [record(3)]);
    assert.deepEqual(ids(scripted), [1, 2]);
  });

  test('are empty once the connection is lost', async (t) => {
    const scripted = await live(t, { levels: true });
    await scripted.event('b-1', 'audio.level', { outputs: [{ id: 1, peak: [0.5] }] });
    await scripted.stream().end();
    assert.equal(scripted.live.state.levels.size, 0);
  });
});

test('close() may be called by a subscriber, each time anew', async (t) => {
  const statuses: string[] = [];
  const scripted = await connected(t, {
    onChange: ({ connection }) => {
      statuses.push(connection.status);
      scripted.live.close();
    },
  });
  await hello(scripted.stream());
  assert.deepEqual(statuses, ['live', 'closed']);
});

test('a closed client sends and notifies nothing more', async (t) => {
  const scripted = await live(t);
  scripted.live.close();
  await settled();
  assert.equal(scripted.live.state.connection.status, 'closed');
  assert.equal(scripted.stream().aborted, true);
  scripted.changes.length = 0;
  await scripted.tick(LONG_MS);
  assert.deepEqual([scripted.streams.length, scripted.changes], [1, []]);
});
