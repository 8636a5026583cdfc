// A bridge gets the same answers and refusals as a client over HTTP. It also receives changes. A slow bridge
// gets the newest state, and the missed actions that the journal still has.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { SubscriberFeeds } from '../../src/gateway/bridges.js';
import { Journal } from '../../src/gateway/journal.js';
import type { Bridge, ChildName } from '../../src/protocol/actor/backends.js';
import type { Change, ChangeBatch, ChildRequest } from '../../src/protocol/actor/messages.js';
import { without } from '../contract/access-rows.js';
import type { HttpRequest } from '../tools/http.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { drop, put } from './scripted-backends.js';

const MUTE: ChildRequest = { operation: 'muteOutput', params: { output: 'sink-0' } };
const VOLUME: ChildRequest = { operation: 'setServerVolume' };
const httpGet = (path: string): HttpRequest => ({ path });
const httpPost = (path: string, body?: string): HttpRequest => ({
  method: 'POST',
  path,
  ...(body !== undefined && { body, headers: { 'Content-Type': 'application/json' } }),
});
const LARGE_BODY = `{"muted":${' '.repeat(65 * 1024)}true}`;
const START_IN_UNKNOWN_SCOPE: ChildRequest = {
  operation: 'startUnit',
  params: { scope: 'other', unit: 'a.service' },
};
const REBOOT_WITH_BODY: ChildRequest = { operation: 'reboot', body: { now: true } };
const MUTE_PATH = '/audio/outputs/sink-0/mute';

describe('the requests of a bridge, and what the gateway sends to it', () => {
  const node = GatewayUnderTest.up().closeAtEndOf({ after });
  const ask = (request: ChildRequest) => node.gateway.listener.childRequest('discovery', request);
  const muteOutput = (name: string | undefined): ChildRequest => ({ ...MUTE, params: { output: name } });

  const rows: readonly [what: string, request: ChildRequest, http: HttpRequest, status: number][] = [
    ['records', { operation: 'outputs' }, httpGet('/audio/outputs'), 200],
    ['all records of a backend', { operation: 'upgrade' }, httpGet('/upgrade'), 200],
    ['the node', { operation: 'server' }, httpGet('/server'), 200],
    ['an unknown operation', { operation: undefined }, httpGet('/no/such'), 404],
    [
      'an output whose name cannot be decoded',
      muteOutput(undefined),
      httpPost('/audio/outputs/%ff/mute'),
      400,
    ],
    ['an output whose name has a NUL', muteOutput('a\0'), httpPost('/audio/outputs/a%00/mute'), 400],
    ['an output with an empty name', muteOutput(''), httpPost('/audio/outputs//mute'), 404],
    ['an output without a name', { operation: 'muteOutput' }, httpPost('/audio/outputs/mute'), 404],
    ['a scope that does not exist', START_IN_UNKNOWN_SCOPE, httpPost('/services/other/a.service/start'), 404],
    [
      'a volume with a body that is not JSON',
      { ...VOLUME, invalidBody: '{' },
      httpPost('/audio/server/volume', '{'),
      400,
    ],
    [
      'a volume with a bad field',
      { ...VOLUME, body: { volume: 2 } },
      httpPost('/audio/server/volume', '{"volume":2}'),
      400,
    ],
    ['a volume without a body', VOLUME, httpPost('/audio/server/volume'), 400],
    [
      'a reboot with a body, which it may not have',
      REBOOT_WITH_BODY,
      httpPost('/power/reboot', '{"now":true}'),
      400,
    ],
    [
      'mute with a body that is too large',
      { ...MUTE, invalidBody: LARGE_BODY },
      httpPost(MUTE_PATH, LARGE_BODY),
      413,
    ],
    [
      'mute with a valid body',
      { ...MUTE, body: { muted: true } },
      httpPost(MUTE_PATH, '{"muted":true}'),
      202,
    ],
  ];
  for (const [what, request, http, status] of rows) {
    test(`a bridge that requests ${what} gets ${status} and the text of the HTTP answer`, async () => {
      const reply = await ask(request);
      assert.equal(reply.status, status, reply.body);
      const httpAnswer = await node.fetch(http);
      assert.deepEqual(reply, { status: httpAnswer.status, body: httpAnswer.text });
    });
  }

  test('the refusal of a request for a disabled part names the key that enables it, as over HTTP', async (context) => {
    const nodeWithoutAudio = GatewayUnderTest.up(without('audio')).closeAtEndOf(context);
    const reply = await nodeWithoutAudio.gateway.listener.childRequest('discovery', MUTE);
    const http = await nodeWithoutAudio.fetch(httpPost(MUTE_PATH));
    assert.deepEqual(reply, { status: 404, body: http.text });
    assert.match(reply.body, /pulseaudio\.enabled/);
  });

  test('a bridge gets one message when a backend goes down: the state of the backend and the removals of its records', async (context) => {
    const ownNode = GatewayUnderTest.up().closeAtEndOf(context);
    const { gateway, batches } = ownNode;
    // The first request gets a batch with the whole state. The second request confirms this batch.
    for (const isFirst of [true, false]) ownNode.requestFeed('mqtt', isFirst);
    batches.length = 0;

    gateway.listener.health('audio', { state: 'connecting', since: 1, restarts: 0 });
    assert.equal(batches.length, 1);
    const changes = batches[0]?.changes.map(({ kind, collection, key }) => `${kind} ${collection} ${key}`);
    // `bringUp` of scripted-backends.ts has put these records. The other records of audio stay, such as that
    // of `audio.sleep`, because their removal has no event.
    const removals = ['drop audio.outputs 0', 'drop audio.outputs 1', 'drop audio.clients 7'];
    assert.deepEqual(changes, ['put backends audio', ...removals]);
  });

  test('a bridge gets one message about a reload: the state of a backend that starts anew, then all removals', async (context) => {
    const ownNode = GatewayUnderTest.up().closeAtEndOf(context);
    const { gateway, batches } = ownNode;
    // The first request gets a batch with the whole state. The second request confirms this batch.
    for (const isFirst of [true, false]) ownNode.requestFeed('mqtt', isFirst);
    batches.length = 0;

    // The reload disables bluetooth, and starts audio anew.
    const bluetooth = { ...SETTINGS.bluetooth, enabled: false };
    const stopped: readonly ChildName[] = ['audio', 'bluetooth'];
    gateway.reconfigure({ ...SETTINGS, bluetooth, bind: ['127.0.0.1'] }, stopped);
    assert.equal(batches.length, 1);
    const [batch = assert.fail('there is no batch')] = batches;
    assert.equal(batch.isWhole, false);
    const [first = assert.fail('the batch is empty'), ...others] = batch.changes;
    const { state } = JSON.parse(first.kind === 'put' ? first.json : '{}');
    assert.deepEqual([first.collection, first.key, state], ['backends', 'audio', 'connecting']);
    const removals = others.map(({ kind, collection, key }) => `${kind} ${collection} ${key}`);
    // All records of both backends are removed. Bridges do not get the removal of a record whose changes
    // make no event, such as that of `audio.server`.
    assert.deepEqual(removals, [
      'drop audio.outputs 0',
      'drop audio.outputs 1',
      'drop audio.clients 7',
      'drop audio.sleep ',
      'drop bluetooth ',
      'drop backends bluetooth',
    ]);
  });

  test('when the service ends, requests of a bridge are refused, but the bridge still gets the changes that wait', async () => {
    const { listener } = node.gateway;
    const isFirst = true;
    node.requestFeed('mqtt', isFirst);
    const reboot = put('power.action', '', { action: 'reboot' });
    listener.changes([reboot]);
    assert.equal(node.batches.length, 1, 'the bridge has not confirmed the first message');
    const closed = node.gateway.close(1000);
    assert.equal((await ask({ operation: 'server' })).status, 503);
    await closed;
    assert.deepEqual(node.batches.at(-1), { bridge: 'mqtt', isWhole: false, changes: [reboot] });
  });
});

/** The time of all changes. No test depends on it. */
const CHANGED_AT = 0;
const SERVED_ADDRESSES = put('served', '', { port: 8018, addresses: ['::1'] });
const AUDIO_UP = put('backends', 'audio', { backend: 'audio', state: 'up' });
const AUDIO_CONNECTING = put('backends', 'audio', { backend: 'audio', state: 'connecting' });

const output = (id: number, name = `sink-${id}`): Change => put('audio.outputs', String(id), { id, name });
const removal = (id: number): Change => drop('audio.outputs', String(id));
const progress = (percent: number): Change => put('upgrade.progress', '', { percent });

class NodeWithBridge {
  readonly batches: ChangeBatch[] = [];
  readonly journal = new Journal();
  readonly feeds = new SubscriberFeeds(this.journal);
  readonly #bridge: Bridge;

  constructor(bridge: Bridge = 'mqtt') {
    this.#bridge = bridge;
    this.journal.apply([AUDIO_UP, SERVED_ADDRESSES], CHANGED_AT);
  }

  change(...changes: readonly Change[]): void {
    this.feeds.sendNew(this.journal.apply(changes, CHANGED_AT));
  }

  /** Requests the first batch, as a new thread of the bridge does. Returns its changes. */
  requestFirst(): readonly Change[] | undefined {
    return this.#requestFeed(true);
  }

  /**
   * Requests the next batch, as the bridge's thread does. This confirms the batch before. Returns the
   * changes of the next batch, if one is sent.
   */
  requestNext(): readonly Change[] | undefined {
    return this.#requestFeed(false);
  }

  #requestFeed(isFirst: boolean): readonly Change[] | undefined {
    const countBefore = this.batches.length;
    this.feeds.continueFeed(this.#bridge, isFirst, (batch) => this.batches.push(batch));
    return this.batches[countBefore]?.changes;
  }
}

/** A node that has sent the whole state; the bridge has not confirmed it yet. */
function nodeWithSlowBridge(): NodeWithBridge {
  const node = new NodeWithBridge();
  node.requestFirst();
  return node;
}

describe('a bridge', () => {
  test('a bridge learns of the removal of a unit, even if the bridge is slow', () => {
    const unit = put('systemd.services', 'user/a', { name: 'a' });
    const unitRemoval = drop('systemd.services', 'user/a');

    const node = new NodeWithBridge();
    node.change(unit);
    node.requestFirst();
    node.requestNext();
    node.change(unitRemoval);
    assert.deepEqual(node.batches.at(-1), { isWhole: false, changes: [unitRemoval] });

    const slow = new NodeWithBridge();
    slow.change(unit);
    slow.requestFirst();
    slow.change(unitRemoval);
    slow.requestNext();
    // The journal does not keep the removal of a unit, so the slow bridge gets the whole state.
    assert.deepEqual(slow.batches.at(-1), { isWhole: true, changes: [AUDIO_UP, SERVED_ADDRESSES] });
  });

  test('a bridge gets all records first, then changes, one message at a time', () => {
    const node = new NodeWithBridge();
    node.change(output(1), progress(1));
    assert.deepEqual(node.batches, [], 'the bridge has requested nothing');
    node.requestFirst();
    assert.deepEqual(node.batches, [{ isWhole: true, changes: [AUDIO_UP, SERVED_ADDRESSES, output(1)] }]);
    node.change(output(2));
    assert.equal(node.batches.length, 1, 'the bridge has not confirmed the first message');
    assert.deepEqual(node.requestNext(), [output(2)]);
    assert.equal(node.requestNext(), undefined, 'nothing has changed');
    node.change(output(3), removal(2));
    assert.deepEqual(node.batches.at(-1), { isWhole: false, changes: [output(3), removal(2)] });
  });

  test('a bridge gets only the records that it needs', () => {
    // Discovery needs only the addresses (`IS_NEEDED` in messages.ts).
    const node = new NodeWithBridge('discovery');
    assert.deepEqual(node.requestFirst(), [SERVED_ADDRESSES]);
    node.requestNext();
    node.change(output(1), progress(1), AUDIO_CONNECTING);
    assert.equal(node.batches.length, 1);
    const served = put('served', '', { port: 1, addresses: [] });
    node.change(served);
    assert.deepEqual(node.batches.at(-1), { isWhole: false, changes: [served] });
  });

  test('a new thread of a bridge gets all records, but only after its first request', () => {
    const node = new NodeWithBridge();
    const formerBatches: ChangeBatch[] = [];
    for (const isFirst of [true, false])
      node.feeds.continueFeed('mqtt', isFirst, (batch) => formerBatches.push(batch));
    // The former thread has ended. The feed does not know this before the first request of the next thread.
    // So it still sends output 1 to the former thread, as that thread's second batch.
    node.change(output(1));
    node.change(output(2));
    assert.equal(node.batches.length, 0);
    assert.deepEqual(node.requestFirst(), [AUDIO_UP, SERVED_ADDRESSES, output(1), output(2)]);
    assert.equal(node.batches.at(-1)?.isWhole, true);
    assert.equal(formerBatches.length, 2, 'the former thread was sent only what it had requested');
  });

  test('a bridge with a new thread gets all records again, but no action that waited', () => {
    const node = nodeWithSlowBridge();
    node.change(progress(1), output(1));
    assert.deepEqual(node.requestFirst(), [AUDIO_UP, SERVED_ADDRESSES, output(1)]);
    assert.equal(node.batches.at(-1)?.isWhole, true);
    assert.equal(node.requestNext(), undefined);
  });
});

describe('the changes that wait for a slow bridge', () => {
  test('a slow bridge gets the actions that it has missed, also with the whole state', () => {
    const node = new NodeWithBridge();
    node.change(put('systemd.services', 'user/a', { name: 'a' }));
    node.requestFirst();
    // The journal does not keep the removal of a unit, so the bridge needs the whole state.
    node.change(progress(1), drop('systemd.services', 'user/a'), progress(2));
    assert.deepEqual(node.requestNext(), [progress(1), progress(2), AUDIO_UP, SERVED_ADDRESSES]);
    assert.equal(node.batches.at(-1)?.isWhole, true);
  });

  const CHANGES = 1100;
  /** The journal keeps this many actions, and as many removals (docs/events.md, "Coming back"). */
  const KEPT = 1024;
  const keptActions: readonly Change[] = Array.from({ length: KEPT }, (_, index) =>
    progress(CHANGES - KEPT + index),
  );
  interface Flood {
    readonly what: string;
    readonly changesOf: (index: number) => readonly Change[];
    readonly expectedActions: readonly Change[];
  }
  const floods: readonly Flood[] = [
    { what: 'actions', changesOf: (index) => [progress(index)], expectedActions: keptActions },
    { what: 'removals', changesOf: (index) => [output(index), removal(index)], expectedActions: [] },
  ];
  for (const { what, changesOf, expectedActions } of floods) {
    test(`a slow bridge gets the whole state after more ${what} than the journal keeps`, () => {
      const node = nodeWithSlowBridge();
      for (let index = 0; index < CHANGES; index += 1) node.change(...changesOf(index));
      node.change(output(7));
      assert.deepEqual(node.requestNext(), expectedActions.concat([AUDIO_UP, SERVED_ADDRESSES, output(7)]));
      assert.equal(node.batches.at(-1)?.isWhole, true);
      node.change(output(8));
      assert.deepEqual(node.requestNext(), [output(8)]);
    });
  }
});
