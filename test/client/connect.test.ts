// Tests the client's live connection to a scripted node, with mocked time: the requests of the client, the
// changes that the client reports, and its reconnections. test/contract/client-truth.test.ts has real nodes.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { connect } from '../../src/client/connect.js';
import type { ConnectOptions, Live } from '../../src/client/live.js';
import { tonearm } from '../../src/client/routes.js';
import type { NodeState, Slice } from '../../src/client/store.js';
import { type RequestedStream, type ScriptedNode, scriptedNode, settle } from './scripted-node.js';

/** Longer than any time that the client waits. */
const LONG_MS = 60_000;
/** The client gives up a stream that is silent for this time. */
const SILENCE_MS = 15_000;
/**
 * The value of `retry` in each stream. After a loss, the client waits at least half of this time, and at most
 * the whole time. If the next attempt fails, the client waits at most twice this time.
 */
const RETRY_MS = 3000;

/** After an answer with 503 or 504, the client waits this long before it fetches power and upgrade again. */
const PAUSE_MS = 10_000;

interface TestedClient extends ScriptedNode {
  readonly live: Live;
  /** The slices that have changed, for each call of `onChange`. */
  readonly changes: Slice[][];
  tick(ms: number): Promise<void>;
  /** The stream that was requested last. */
  stream(): RequestedStream;
  /** Sends an event on the stream that was requested last. */
  event: RequestedStream['event'];
}

/** The first requests for a stream get these `refusals` as responses, and no stream. */
async function openClient(
  t: TestContext,
  options: ConnectOptions = {},
  ...refusals: readonly Response[]
): Promise<TestedClient> {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const node = scriptedNode();
  node.refusals.push(...refusals);
  const changes: Slice[][] = [];
  const live = connect(tonearm('http://node', node), {
    onChange: (_state, changed) => changes.push([...changed]),
    ...options,
  });
  t.after(() => live.close());
  await settle();
  const tick = async (ms: number): Promise<void> => {
    t.mock.timers.tick(ms);
    await settle();
  };
  const stream = (): RequestedStream => node.streams.at(-1) ?? assert.fail('no stream was requested');
  return { ...node, live, changes, tick, stream, event: (...fields) => stream().event(...fields) };
}

/** Like `openClient`, with a stream that has begun. */
async function openLiveClient(t: TestContext, options?: ConnectOptions): Promise<TestedClient> {
  const client = await openClient(t, options);
  await sendHello(client.stream());
  return client;
}

/** Sends the first bytes of a stream. They make the connection live. */
const sendHello = (stream: RequestedStream) =>
  stream.send(`retry: ${RETRY_MS}\nevent: server.info\ndata: "connected"\n\n`);
const snapshotMark = (backend: string) => ({ backend, state: 'up', detail: 'snapshot' });
const PEAK = { id: 1, peak: [0.5] };
const record = (id: number) => ({ id, name: `r${id}` });
const sendPlayerEvent = (client: TestedClient, emitted_at: number) =>
  client.event('b-1', 'player.updated', { data: { bus_name: 'a' }, emitted_at });
const outputIds = ({ live }: TestedClient): number[] => [...live.state.outputs.keys()];

describe('the client connects', () => {
  const types = ['audio.updated', 'audio.removed'] as const;
  const typeNames = types.join();
  const everyType = 'service\\.updated,.*,player\\.position,.*,backend\\.updated';
  const audio = { backend: ['audio'] } as const;
  /** Each request has these parameters. The test sorts all parameters by name. */
  const always = 'keepalive=10&snapshot=1';
  // The node sends levels only if `types` names them. If the query has `types` and `backend`, the node sends
  // the events of both. If the query has `types` without `backend`, the node sends only the events in `types`
  // (docs/events.md, "Query").
  type Row = readonly [what: string, options: ConnectOptions, queryPattern: string];
  const rows: readonly Row[] = [
    ['for all events, with a snapshot and a keep-alive every 10 s', {}, always],
    ['for some events', { types }, `${always}&types=${typeNames}`],
    [
      'for one backend without some events',
      { ...audio, exclude: types },
      `backend=audio&exclude=${typeNames}&${always}`,
    ],
    [
      'for all events with levels, and names each event',
      { levels: true },
      `${always}&types=${everyType},audio.level`,
    ],
    ['for one backend with levels', { ...audio, levels: true }, `backend=audio&${always}&types=audio.level`],
    ['for some events with levels', { levels: true, types }, `${always}&types=${typeNames},audio.level`],
  ];
  for (const [what, options, queryPattern] of rows) {
    test(`the client connects ${what}`, async (t) => {
      const { url, lastEventId, accept } = (await openClient(t, options)).stream();

      assert.equal(accept, 'text/event-stream');
      url.searchParams.sort();
      assert.match(decodeURIComponent(url.search), new RegExp(`^\\?${queryPattern}$`));
      assert.equal(lastEventId, undefined);
    });
  }

  test('the client fetches power and upgrade when their backends come up, if its options select these backends', async (t) => {
    for (const [options, expected] of [
      [{}, ['/server', '/power/', '/upgrade']],
      [{ backend: ['audio', 'power'] }, ['/server', '/power/']],
      [{ types: ['audio.updated'] }, ['/server']],
    ] as const) {
      await t.test(JSON.stringify(options), async (t) => {
        const client = await openLiveClient(t, options);
        await client.event('b-1', 'backend.updated', { backend: 'power', state: 'connecting' });
        assert.deepEqual(client.requests, ['/server']);
        for (const backend of ['audio', 'power', 'upgrade'])
          await client.event('b-2', 'backend.updated', { backend, state: 'up' });
        assert.deepEqual(client.requests, expected);
      });
    }
  });

  test('the client fetches the power actions again after a mark and after a restart of the backend power, but not after a new detail', async (t) => {
    const client = await openLiveClient(t);
    // An event with a new id would complete a snapshot. All these events have the same id, so the snapshot of
    // the last row stays incomplete.
    const sendPower = (event: object) =>
      client.event('b-1', 'backend.updated', { backend: 'power', state: 'up', ...event });
    const powerRequestCount = () => client.requests.filter((path) => path === '/power/').length;
    const resting = { detail: 'started on demand' };
    for (const [what, event, expectedCount] of [
      ['the backend comes up, without a thread', resting, 1],
      ["the client's request has started the thread", {}, 1],
      ['the thread ends', resting, 1],
      ['the thread dies', { state: 'restarting' }, 1],
      ['a new thread has started', {}, 2],
      ['a snapshot has begun, but is incomplete', { detail: 'snapshot' }, 2],
    ] as const) {
      await sendPower(event);
      assert.equal(powerRequestCount(), expectedCount, what);
    }
    // In a snapshot, an event with the backend's real detail follows the mark. Here this event has a new id,
    // so it completes the snapshot.
    await client.event('', 'backend.updated', snapshotMark('power'));
    await client.event('b-2', 'backend.updated', { backend: 'power', state: 'up', ...resting });
    assert.equal(powerRequestCount(), 3);
  });
});

for (const [status, isRetried, title] of [
  [503, true, 'the client fetches the power actions again after a pause if their backend still loads'],
  [504, true, 'the client fetches the power actions again after a pause if the answer took too long'],
  [403, false, 'the client does not fetch the power actions again if it may not read them'],
  [404, false, 'the client does not fetch the power actions again if the node has none'],
] as const) {
  test(title, async (t) => {
    const client = await openLiveClient(t);
    const powerRequestCount = () => client.requests.filter((path) => path === '/power/').length;
    const refusal = () => new Response('', { status });
    client.answers.set('/power/', refusal);
    await client.event('b-1', 'backend.updated', { backend: 'power', state: 'up' });
    await client.event('b-2', 'audio.output.updated', [record(1)]);
    await client.event('b-3', 'audio.output.updated', [record(2)]);
    assert.equal(powerRequestCount(), 1, 'other events cause no request');
    await client.tick(PAUSE_MS - 1);
    assert.equal(powerRequestCount(), 1);
    await client.tick(1);
    assert.equal(powerRequestCount(), isRetried ? 2 : 1);
    if (!isRetried) return;

    await client.event('b-4', 'audio.output.updated', [record(3)]);
    await client.tick(PAUSE_MS);
    assert.equal(powerRequestCount(), 2, 'a second refusal causes no further request');

    await client.stream().end();
    await client.tick(RETRY_MS);
    await sendHello(client.stream());
    await client.event('b-5', 'backend.updated', { backend: 'power', state: 'up' });
    const countBefore = powerRequestCount();
    client.answers.set('/power/', () => ({ can_reboot: 'yes' }));
    await client.tick(PAUSE_MS);
    assert.equal(powerRequestCount(), countBefore + 1, 'each connection allows one retry');
    assert.deepEqual(client.live.state.power, { can_reboot: 'yes' });
  });
}

test('a refusal of an earlier connection causes no request in the present one', async (t) => {
  const client = await openLiveClient(t);
  client.answers.set('/power/', () => new Response('', { status: 503 }));
  await client.event('b-1', 'backend.updated', { backend: 'power', state: 'up' });
  client.answers.set('/power/', () => ({ can_reboot: 'yes' }));
  await client.stream().end();
  await client.tick(RETRY_MS);
  await sendHello(client.stream());
  await client.event('b-2', 'backend.updated', { backend: 'power', state: 'up' });
  const requestsBefore = [...client.requests];
  await client.tick(PAUSE_MS);
  assert.deepEqual(client.requests, requestsBefore);
});

test('a client that was closed before or after the refusal does not fetch the power actions again', async (t) => {
  for (const isClosedBefore of [true, false]) {
    await t.test(`the client is closed ${isClosedBefore ? 'before' : 'after'} the refusal`, async (t) => {
      const client = await openLiveClient(t);
      let refuse = (_response: Response): void => undefined;
      const refusal = new Promise<Response>((resolve) => {
        refuse = resolve;
      });
      client.answers.set('/power/', () => refusal);
      await client.event('b-1', 'backend.updated', { backend: 'power', state: 'up' });
      const timeouts = t.mock.method(globalThis, 'setTimeout');
      if (isClosedBefore) client.live.close();
      refuse(new Response('', { status: 503 }));
      await settle();
      const expectedTimers = isClosedBefore ? 0 : 1;
      assert.equal(timeouts.mock.callCount(), expectedTimers);
      client.live.close();
      await client.tick(LONG_MS);
      assert.deepEqual(client.requests, ['/server', '/power/']);
    });
  }
});

test('the client fetches the power actions again if their backend disappears and returns within one chunk of the stream, and after a new connection', async (t) => {
  const client = await openLiveClient(t);
  const powerRequestCount = () => client.requests.filter((path) => path === '/power/').length;
  const power = (state: string) =>
    `id: b-1\nevent: backend.updated\ndata: ${JSON.stringify({ backend: 'power', state })}\n\n`;
  await client.stream().send(power('up'));
  assert.equal(powerRequestCount(), 1);

  await client.stream().send(power('connecting') + power('up'));
  assert.equal(powerRequestCount(), 2);

  await client.stream().end();
  await client.tick(RETRY_MS);
  assert.equal(powerRequestCount(), 2, 'nothing is requested while the connection is lost');
  // The client still knows the backend as up, so it sends the request without a new event of the backend.
  await sendHello(client.stream());
  assert.equal(powerRequestCount(), 3);
  await client.stream().send(power('up'));
  assert.equal(powerRequestCount(), 3);
});

describe('a snapshot', () => {
  /** Each event fills the slices that are named beside it. */
  const EVENTS: readonly (readonly [
    backend: string,
    slices: readonly Slice[],
    type: string,
    data: unknown,
  ])[] = [
    ['audio', ['outputs'], 'audio.output.updated', [record(1)]],
    ['audio', ['sleep'], 'audio.sleep', { state: 'off' }],
    ['audio', ['levels', 'inputLevels'], 'audio.level', { outputs: [PEAK], inputs: [PEAK] }],
    ['systemd', ['units'], 'service.updated', { scope: 'user', name: 'a' }],
    ['upgrade', ['upgrade'], 'upgrade.check', { state: 'running' }],
    ['players', ['players'], 'player.added', { data: { bus_name: 'a' }, emitted_at: 1 }],
    ['bluetooth', ['bluetooth'], 'bluetooth.updated', { scanning: true }],
    ['bluetooth', ['discovered'], 'bluetooth.discovered', { address: 'a' }],
    ['discovery', ['nodes'], 'node.updated', { name: 'kitchen' }],
  ];
  const slices: readonly Slice[] = [...EVENTS.flatMap(([, filled]) => filled), 'power'];
  const isFilled = (value: unknown): boolean => (value instanceof Map ? value.size > 0 : value !== undefined);
  const filledSlices = ({ live }: TestedClient) => slices.filter((slice) => isFilled(live.state[slice]));

  async function openFilledClient(t: TestContext, options?: ConnectOptions): Promise<TestedClient> {
    const client = await openLiveClient(t, options);
    client.answers.set('/power/', () => ({ reboot: true }));
    for (const backend of [...new Set(EVENTS.map(([backend]) => backend)), 'power'])
      await client.event('', 'backend.updated', snapshotMark(backend));
    for (const [, , type, data] of EVENTS) await client.event('', type, data);
    // The first event with an id completes the snapshot.
    await client.event('b-1', 'server.info', 'love');
    assert.deepEqual(filledSlices(client), slices);
    return client;
  }

  for (const [where, prepare] of [
    ['in the midst of a stream', async () => undefined],
    [
      'at the beginning of a stream',
      async (client: TestedClient) => {
        // This opens another stream, and empties the slices of the levels.
        client.live.setLevels(true);
        await settle();
        await sendHello(client.stream());
      },
    ],
  ] as const) {
    // If a backend was disabled after the last snapshot, the new snapshot has no mark of this backend.
    test(`a whole snapshot ${where} replaces all slices, also those of backends without a mark`, async (t) => {
      const client = await openFilledClient(t);
      await prepare(client);
      const slicesBefore = filledSlices(client);
      await client.event('', 'backend.updated', snapshotMark('audio'));
      assert.deepEqual(filledSlices(client), slicesBefore, 'an incomplete snapshot changes nothing');
      await client.event('b-2', 'audio.output.updated', [record(2)]);
      assert.deepEqual(filledSlices(client), ['outputs']);
      assert.deepEqual(outputIds(client), [2]);
    });
  }
});

describe('the client notifies', () => {
  test('the client calls `onChange` once for a whole snapshot, and never while the snapshot is incomplete', async (t) => {
    const client = await openClient(t);
    let answerServerRequest: (server: unknown) => void = () => undefined;
    client.answers.set('/server', () => new Promise((resolve) => (answerServerRequest = resolve)));
    await sendHello(client.stream());
    await client.event('b-1', 'audio.output.updated', [record(1), record(2)]);
    await client.stream().end();

    // A snapshot begins. Before it is complete, the server's record comes, and then the stream ends.
    await client.tick(RETRY_MS);
    await sendHello(client.stream());
    await client.event('', 'backend.updated', snapshotMark('audio'));
    await client.event('', 'audio.output.updated', [record(1)]);
    client.changes.length = 0;
    answerServerRequest({ hostname: 'node' });
    await settle();
    assert.deepEqual([client.changes.length, outputIds(client)], [0, [1, 2]]);
    await client.stream().end();
    assert.deepEqual([client.live.state.connection.status, outputIds(client)], ['lost', [1, 2]]);

    // The next snapshot is complete with the first event that has an id.
    await client.tick(2 * RETRY_MS);
    assert.equal(client.stream().lastEventId, 'b-1');
    await sendHello(client.stream());
    await client.event('', 'backend.updated', snapshotMark('audio'));
    client.changes.length = 0;
    await client.event('b-7', 'audio.output.updated', [record(3)]);
    assert.deepEqual(outputIds(client), [3]);
    const [changed, ...laterChanges] = client.changes;
    assert.equal(changed?.includes('outputs'), true);
    assert.equal(changed?.includes('backends'), true);
    assert.deepEqual(laterChanges, []);
  });

  test('a listener of a slice gets the state of the slice at once, and each change until it is unsubscribed, even if another listener throws', async (t) => {
    const client = await openClient(t);
    const received: NodeState['outputs'][] = [];
    const uncaught: unknown[] = [];
    // The client throws a listener's error later, in a microtask (src/client/safely.ts).
    t.mock.method(globalThis, 'queueMicrotask', (task: () => void) => {
      try {
        task();
      } catch (error) {
        uncaught.push(error);
      }
    });
    client.live.subscribe('outputs', () => {
      throw new Error('mine');
    });
    const unsubscribe = client.live.subscribe('outputs', (outputs) => received.push(outputs));

    await sendHello(client.stream());
    assert.deepEqual(
      received.map(({ size }) => size),
      [0],
    );
    await client.event('b-1', 'audio.updated', [record(1)]);
    assert.equal(received.length, 1, 'this event changes another slice: `clients`');
    await client.event('b-2', 'audio.output.updated', [record(1)]);
    assert.deepEqual([...(received[1] ?? [])], [[1, record(1)]]);
    // A listener that is added later gets the newest state at once.
    const unsubscribeLast = client.live.subscribe('outputs', (outputs) => received.push(outputs));
    unsubscribeLast();
    assert.equal(received[2], received[1]);

    unsubscribe();
    await client.event('b-3', 'audio.output.updated', [record(2)]);
    assert.equal(received.length, 3);

    // The first listener has thrown at once, and at each of the two changes of the outputs.
    assert.deepEqual(uncaught.map(String), ['Error: mine', 'Error: mine', 'Error: mine']);
    assert.equal(client.live.state.connection.status, 'live');
  });

  test('the client passes each event to `onEvent` when the event comes', async (t) => {
    const received: string[] = [];
    const client = await openClient(t, {
      onEvent: ({ type, data }) => received.push(`${type} ${JSON.stringify(data)}`),
    });
    await sendHello(client.stream());
    await client.event('b-1', 'power.action', { action: 'reboot' });
    assert.deepEqual(received, ['server.info "connected"', 'power.action {"action":"reboot"}']);
  });

  test("the client estimates the node's time from the newest time in the events of players", async (t) => {
    const client = await openClient(t);
    await client.tick(10_000);
    assert.equal(client.live.nodeTime(), Date.now());
    await sendHello(client.stream());
    await sendPlayerEvent(client, 1_000_000);
    assert.equal(client.live.nodeTime(), 1_000_000);
    await sendPlayerEvent(client, 900_000);
    assert.equal(client.live.nodeTime(), 1_000_000, 'an event that was under way for long has an old time');
    await client.tick(5000);
    await client.event('', 'backend.updated', snapshotMark('players'));
    await sendPlayerEvent(client, 500_000);
    assert.equal(
      client.live.nodeTime(),
      500_000,
      'the first mark of a snapshot makes the client forget its estimate',
    );
    await client.event('', 'backend.updated', snapshotMark('discovery'));
    assert.equal(client.live.nodeTime(), 500_000, 'a later mark of the same snapshot changes nothing');
  });

  test("the client knows the node's time from the header Date of the stream until an event of a player comes", async (t) => {
    const client = await openClient(t);
    // The open stream has its headers already, so only the next stream has this header.
    client.streamHeaders.set('Date', new Date(1_000_000).toUTCString());
    await client.stream().end();
    await client.tick(RETRY_MS);
    await client.tick(5000);
    assert.equal(client.live.nodeTime(), 1_005_000);
    await sendHello(client.stream());
    await client.event('', 'backend.updated', snapshotMark('audio'));
    assert.equal(client.live.nodeTime(), 1_005_000, 'the mark of a snapshot does not change the time');
    await sendPlayerEvent(client, 1_005_300);
    assert.equal(client.live.nodeTime(), 1_005_300, 'the time of an event is more exact');
    await client.event('', 'backend.updated', snapshotMark('audio'));
    assert.equal(client.live.nodeTime(), 1_005_000, 'after a new mark the header counts again');
  });

  for (const [clockChange, deviceChangeMs, nodeChangeMs] of [
    ["this device's clock was set back", -3_600_000, 0],
    ["this device's clock was set forward", 3_600_000, 0],
    ["the node's clock was set back", 0, -3_600_000],
    ["the node's clock was set forward", 0, 3_600_000],
  ] as const) {
    test(`the client knows the node's time again at the next event of a player after ${clockChange}`, async (t) => {
      const client = await openLiveClient(t);
      t.mock.timers.setTime(10_000_000);
      await sendPlayerEvent(client, 20_000_000);
      // Only events after the first `love` can show that a clock was set (src/client/node-clock.ts).
      await client.event('b-1', 'server.info', 'love');
      t.mock.timers.setTime(Date.now() + deviceChangeMs);
      const newNodeTime = 20_000_000 + nodeChangeMs;
      await sendPlayerEvent(client, newNodeTime);
      assert.equal(client.live.nodeTime(), newNodeTime);
      // An event that was under way for a second is no sign of a clock that was set.
      await sendPlayerEvent(client, newNodeTime - 1_000);
      assert.equal(client.live.nodeTime(), newNodeTime);
      await client.stream().end();
      await client.tick(RETRY_MS);
      await sendHello(client.stream());
      await sendPlayerEvent(client, 0);
      assert.equal(client.live.nodeTime(), newNodeTime + RETRY_MS, 'a missed event has an old time');
    });
  }
});

describe('the connection is lost', () => {
  const BYE = 'event: server.info\ndata: "bye"\n\n';
  const NONSENSE = 'event: audio.updated\ndata: {\n\n';
  type Loss = readonly [what: string, code: string, lose: (client: TestedClient) => Promise<void>];
  const losses: readonly Loss[] = [
    ['when the stream ends', 'unreachable', ({ stream }) => stream().end()],
    ['when the node sends bye', 'bye', ({ stream }) => stream().send(BYE).then(stream().end)],
    ['when the node is silent for too long', 'silent', ({ tick }) => tick(SILENCE_MS)],
    ['when the client gets an invalid event', 'not-the-service', ({ stream }) => stream().send(NONSENSE)],
  ];
  for (const [what, code, lose] of losses) {
    test(`a connection that is lost ${what} is made again, and the client keeps the state meanwhile`, async (t) => {
      const client = await openLiveClient(t);
      await client.event('b-1', 'audio.output.updated', [record(1)]);
      // A sign of life just before the bound makes the client count the silence from zero.
      await client.tick(SILENCE_MS - 1);
      await client.stream().send('event: server.info\ndata: "love"\n\n');
      assert.equal(client.live.state.connection.status, 'live');

      await lose(client);
      const { status, problem } = client.live.state.connection;
      assert.deepEqual([status, problem?.type], ['lost', `urn:tonearm:problem:${code}`]);
      assert.deepEqual(outputIds(client), [1]);
      assert.deepEqual(
        client.streams.map(({ aborted }) => aborted),
        [true],
      );

      client.refusals.push(new Response('', { status: 502 }));
      await client.tick(RETRY_MS);
      assert.equal(client.live.state.connection.problem?.status, 502, 'the newest reason counts');

      await client.tick(2 * RETRY_MS);
      assert.equal(client.streams.length, 2);
      await sendHello(client.stream());
      assert.equal(client.live.state.connection.status, 'live');
      assert.equal(client.live.state.connection.problem, undefined);
    });
  }

  test('a lost connection is made again with the id of its last event, but without an id after an invalid event', async (t) => {
    const client = await openLiveClient(t);
    await client.event('b-1', 'audio.output.updated', [record(1)]);
    await client.event('b-2', 'server.info', 'love');
    // No empty line ends this event. So the event is incomplete, and its id does not count.
    await client.stream().send('id: b-3\nevent: audio.removed\n');
    await client.stream().end();
    await client.tick(RETRY_MS);
    assert.equal(client.stream().lastEventId, 'b-2');
    await client.stream().end();
    await client.tick(2 * RETRY_MS);
    assert.equal(client.stream().lastEventId, 'b-2', 'the second stream had no event');
    await client.event('b-4', 'audio.updated', { not: 'a list' });
    await client.tick(RETRY_MS);
    assert.equal(client.stream().lastEventId, undefined);
  });

  test('the client tries to reconnect after random delays, which get longer until they reach a bound', async (t) => {
    const client = await openClient(t);
    // With this number, each delay is three quarters of its upper bound (`#pause` in src/client/stream.ts).
    const random = t.mock.method(Math, 'random', () => 0.5);
    await sendHello(client.stream());
    await client.stream().end();

    const longestDelaysMs = [3000, 6000, 12_000, 24_000, 30_000, 30_000];
    for (const longestMs of longestDelaysMs) {
      const delayMs = longestMs * 0.75;
      const streamCount = client.streams.length;
      client.refusals.push(new Response('', { status: 502, statusText: 'Bad Gateway' }));
      await client.tick(delayMs - 1);
      assert.equal(client.refusals.length, 1, `not before ${delayMs} ms`);
      await client.tick(1);
      assert.deepEqual([client.refusals.length, client.streams.length], [0, streamCount]);
    }
    assert.ok(random.mock.callCount() >= longestDelaysMs.length);

    await client.tick(LONG_MS);
    await sendHello(client.stream());
    await client.stream().end();
    await client.tick(RETRY_MS);
    assert.equal(client.streams.length, 3, 'after a stream that has begun, the delay is short again');
  });

  test('the client tries to reconnect at most twice a second, whatever `retry` the node sends', async (t) => {
    const client = await openClient(t);
    // With this number, each delay is as short as possible: a little more than half of `RETRY_MIN_MS` in
    // src/client/stream.ts.
    t.mock.method(Math, 'random', () => 0.999);
    for (let attempts = 1; attempts < 4; attempts += 1) {
      await client.stream().send('retry: 0\n\n');
      await client.stream().end();
      await client.tick(499);
      assert.equal(client.streams.length, attempts);
      await client.tick(3);
      assert.equal(client.streams.length, attempts + 1);
    }
  });

  for (const [what, id] of [
    ['has characters that no header may have', 'b-\u20ac'],
    ['has a control character', 'b-\u0007'],
    ["is larger than a request's head may be", 'b'.repeat(20_000)],
  ] as const) {
    test(`a lost connection is made again without an id, but with a snapshot, if the id of its last event ${what}`, async (t) => {
      const client = await openLiveClient(t);
      await client.event(id, 'audio.output.updated', [record(1)]);
      await client.stream().end();
      await client.tick(RETRY_MS);
      assert.equal(client.streams.length, 2);
      assert.equal(client.stream().lastEventId, undefined);
      assert.equal(client.stream().url.searchParams.get('snapshot'), '1');
    });
  }

  const PROBLEM = '{"type":"urn:tonearm:problem:too-many-streams","title":"t","status":503,"detail":"d"}';
  const answer = (status: number, type: string, text: string) =>
    new Response(text, { status, headers: { 'Content-Type': type } });
  type Refusal = readonly [what: string, response: Response, code: string, problemStatus: number];
  const refusals: readonly Refusal[] = [
    ['a problem document', answer(503, 'application/problem+json', PROBLEM), 'too-many-streams', 503],
    ['a page of another program', answer(200, 'text/html', '<html>'), 'not-the-service', 200],
    ['an error of another program', answer(502, 'text/html', ''), 'not-the-service', 502],
  ];
  for (const [what, response, code, problemStatus] of refusals) {
    test(`a client whose first attempt gets ${what} keeps the status connecting, has the reason, and tries again`, async (t) => {
      const client = await openClient(t, {}, response);
      const { status, problem } = client.live.state.connection;
      const expected = ['connecting', `urn:tonearm:problem:${code}`, problemStatus];
      assert.deepEqual([status, problem?.type, problem?.status], expected);
      await client.tick(LONG_MS);
      assert.equal(client.streams.length, 1);
    });
  }
});

describe('a browser', () => {
  /** Defines the parts of a browser that the client uses. */
  function simulateBrowser(t: TestContext) {
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
    const { page } = simulateBrowser(t);
    const client = await openLiveClient(t);
    page.dispatchEvent(new Event('offline'));
    await settle();
    assert.equal(client.live.state.connection.problem?.type, 'urn:tonearm:problem:offline');
    page.dispatchEvent(new Event('online'));
    await settle();
    assert.equal(client.streams.length, 2);
  });

  test('a page that becomes visible drops a connection that was silent for long, and reconnects at once if it has no connection', async (t) => {
    const { document } = simulateBrowser(t);
    const client = await openLiveClient(t);

    document.visibilityState = 'hidden';
    document.dispatchEvent(new Event('visibilitychange'));
    document.visibilityState = 'visible';
    document.dispatchEvent(new Event('visibilitychange'));
    await settle();
    assert.equal(
      client.live.state.connection.status,
      'live',
      'a short time in the background changes nothing',
    );

    // The timers of a sleeping device stand still, so only the date changes.
    t.mock.timers.setTime(Date.now() + LONG_MS);
    document.dispatchEvent(new Event('visibilitychange'));
    await settle();
    assert.equal(client.live.state.connection.status, 'lost');
    document.dispatchEvent(new Event('visibilitychange'));
    await settle();
    assert.equal(client.streams.length, 2);
  });
});

describe('reconnect()', () => {
  test('reconnect() ends the wait for the next attempt, and replaces an attempt whose stream has not begun', async (t) => {
    const client = await openLiveClient(t);
    await client.stream().end();
    await settle();
    assert.equal(client.live.state.connection.status, 'lost');
    client.live.reconnect();
    await settle();
    assert.equal(client.streams.length, 2);
    client.live.reconnect();
    await settle();
    assert.deepEqual([client.streams.length, client.streams[1]?.aborted], [3, true]);
  });

  test('a listener that calls reconnect() at each loss causes an attempt at once after a long stream, but a wait after a short stream or a failed attempt', async (t) => {
    const client = await openLiveClient(t, {
      onChange: ({ connection }) => {
        if (connection.status === 'lost') client.live.reconnect();
      },
    });
    // A stream that has lasted longer than RETRY_MS is a long one.
    await client.tick(RETRY_MS + 1);
    await client.stream().end();
    assert.equal(client.streams.length, 2);

    await sendHello(client.stream());
    // The next two attempts fail. The wait does not grow, because each call of reconnect() resets it.
    client.refusals.push(new Response('', { status: 502 }), new Response('', { status: 502 }));
    await client.tick(RETRY_MS + 1);
    await client.stream().end();
    assert.equal(client.refusals.length, 1, 'there was one attempt, which has failed');
    await client.tick(RETRY_MS);
    assert.equal(client.refusals.length, 0);
    await client.tick(RETRY_MS);
    assert.equal(client.streams.length, 3);

    await sendHello(client.stream());
    await client.tick(RETRY_MS);
    await client.stream().end();
    assert.equal(client.streams.length, 3, 'a short stream counts as a failed attempt');
    await client.tick(RETRY_MS);
    assert.equal(client.streams.length, 4);
  });

  test('reconnect() keeps an open stream', async (t) => {
    const client = await openLiveClient(t);
    client.live.reconnect();
    await settle();
    assert.deepEqual([client.streams.length, client.stream().aborted], [1, false]);
  });
});

describe('levels', () => {
  test('levels are switched on and off without a loss of the connection', async (t) => {
    const client = await openLiveClient(t);
    await client.event('b-1', 'audio.output.updated', [record(1)]);
    client.changes.length = 0;

    client.live.setLevels(true);
    await settle();
    assert.equal(client.streams.length, 2);
    assert.equal(client.streams[0]?.aborted, true);
    assert.equal(client.stream().lastEventId, 'b-1');
    await sendHello(client.stream());
    await client.event('', 'audio.level', { outputs: [{ id: 1, peak: [0.5] }] });
    assert.deepEqual([...client.live.state.levels], [[1, [0.5]]]);

    // The levels are switched on already, so only the second of these calls opens a stream.
    client.live.setLevels(true);
    client.live.setLevels(false);
    await settle();
    assert.deepEqual([client.streams.length, client.live.state.levels.size], [3, 0]);
    assert.equal(client.stream().url.searchParams.get('types'), null);
    assert.ok(!client.changes.flat().includes('outputs'), 'no output has changed');
    assert.equal(client.live.state.connection.status, 'live');
  });

  test('the client returns to the state before a snapshot if levels are switched on while the snapshot is incomplete', async (t) => {
    const client = await openLiveClient(t);
    await client.event('b-1', 'audio.output.updated', [record(1), record(2)]);
    await client.event('', 'backend.updated', snapshotMark('audio'));
    await client.event('', 'audio.output.updated', [record(1)]);
    client.live.setLevels(true);
    await settle();
    await sendHello(client.stream());
    // An event with an id completes a snapshot. But the client has dropped its partial snapshot, because a
    // new stream has begun.
    await client.event('b-2', 'audio.updated', [record(3)]);
    assert.deepEqual(outputIds(client), [1, 2]);
  });

  test('levels are empty when the connection is lost', async (t) => {
    const client = await openLiveClient(t, { levels: true });
    await client.event('b-1', 'audio.level', { outputs: [{ id: 1, peak: [0.5] }] });
    await client.stream().end();
    assert.equal(client.live.state.levels.size, 0);
  });
});

test('close() in `onChange` at a loss of the connection leaves no timer that would keep a program running', async (t) => {
  const client = await openLiveClient(t, {
    onChange: ({ connection }) => {
      if (connection.status === 'lost') client.live.close();
    },
  });
  // The client calls this function for the length of each wait, so no call means no wait.
  const random = t.mock.method(Math, 'random');
  await client.stream().end();
  assert.equal(client.live.state.connection.status, 'closed');
  assert.equal(random.mock.callCount(), 0);
});

test('`onChange` may call close() each time, although close() itself calls `onChange`', async (t) => {
  const statuses: string[] = [];
  const client = await openClient(t, {
    onChange: ({ connection }) => {
      statuses.push(connection.status);
      client.live.close();
    },
  });
  await sendHello(client.stream());
  assert.deepEqual(statuses, ['live', 'closed']);
});

test('after close() in `onEvent`, the client ignores the later events of the same chunk, and sends no request', async (t) => {
  const received: string[] = [];
  const client = await openClient(t, {
    onEvent: ({ type, data }) => {
      received.push(`${type} ${JSON.stringify(data)}`);
      if (type === 'backend.updated') client.live.close();
    },
  });
  await sendHello(client.stream());
  await client
    .stream()
    .send(
      'id: b-1\nevent: backend.updated\ndata: {"backend":"power","state":"up"}\n\n' +
        'id: b-2\nevent: audio.output.updated\ndata: [{"id":1}]\n\n' +
        'event: server.info\ndata: "connected"\n\n',
    );
  assert.deepEqual(received, ['server.info "connected"', 'backend.updated {"backend":"power","state":"up"}']);
  assert.equal(client.live.state.connection.status, 'closed');
  assert.deepEqual(outputIds(client), []);
  assert.deepEqual(client.requests, ['/server']);
});

test('a listener of a slice does not get an older state after `onChange` has closed the client', async (t) => {
  const client = await openClient(t, { onChange: () => client.live.close() });
  const statuses: string[] = [];
  client.live.subscribe('connection', ({ status }) => statuses.push(status));
  await sendHello(client.stream());
  // `onChange` closes the client as soon as the status is `live`, so the listener never gets this status.
  assert.deepEqual([...new Set(statuses)], ['connecting', 'closed']);
  assert.equal(statuses.at(-1), 'closed');
});

test('a closed client sends no request, and does not call `onChange`', async (t) => {
  const client = await openLiveClient(t);
  client.live.close();
  await settle();
  assert.equal(client.live.state.connection.status, 'closed');
  assert.equal(client.stream().aborted, true);
  client.changes.length = 0;
  await client.tick(LONG_MS);
  assert.deepEqual([client.streams.length, client.changes], [1, []]);
});
