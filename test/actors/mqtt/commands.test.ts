// Tests which requests are made from a command's topic and payload (docs/home-assistant.md, "Commands"). Also
// tests the queues: the order of requests, and which of them are replaced, dropped or refused. A request such
// as `setDefaultOutput` is a choice: later requests act on what it chooses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandHandler } from '../../../src/actors/mqtt/command-handler.js';
import { CommandQueues, type WaitingRequest } from '../../../src/actors/mqtt/command-queues.js';
import { COMMAND_FILTERS, isCommand, requestsOf } from '../../../src/actors/mqtt/commands.js';
import { BODY_TOO_LARGE } from '../../../src/gateway/body.js';
import { problemReply } from '../../../src/gateway/problem.js';
import { OPERATION_NAMES, OPERATIONS } from '../../../src/protocol/actor/operations.js';
import { failed, type Result, success } from '../../../src/protocol/actor/result.js';
import { commanded } from '../../broker/simulated-node.js';
import { Deferred } from '../../deferred.js';
import { until } from '../../until.js';

/**
 * `operation` is the operation's name with the values of its parameters, as in `muteOutput kitchen`. `none`
 * stands for a missing operation. `?` stands for a topic level that cannot be decoded, such as `a%zz`.
 */
type ExpectedRequest = readonly [operation: string, body?: unknown];
type Row = readonly [topic: string, payload: string, ...expected: readonly ExpectedRequest[]];

/** An object whose only member has `levels` lists, each inside the list before it. */
const nestedLists = (levels: number): string => `{"volume":${'['.repeat(levels)}${']'.repeat(levels)}}`;

/** This payload is longer than the body of a request may be. */
const TOO_LONG = `{"volume":${' '.repeat(64 * 1024)}1}`;

const ROWS: readonly Row[] = [
  ['audio/server/set', '{"volume": 0.5}', ['setServerVolume', { volume: 0.5 }]],
  ['audio/server/set', '{"output": "a/b c"}', ['setDefaultOutput a/b c']],
  ['audio/server/set', '{"output": 5}', ['setDefaultOutput 5']],
  // Volume and mute are for the new default output, so the output comes first.
  [
    'audio/server/set',
    '{"muted": false, "volume": 0.1, "output": "kitchen"}',
    ['setDefaultOutput kitchen'],
    ['setServerVolume', { volume: 0.1 }],
    ['muteServer', { muted: false }],
  ],
  // The volume is for the new port, so the port comes first.
  [
    'audio/outputs/x/set',
    '{"volume": 0.1, "balance": 0.5, "port": "headphones"}',
    ['setOutputPort x', { port: 'headphones' }],
    ['setOutputVolume x', { volume: 0.1 }],
    ['setOutputBalance x', { balance: 0.5 }],
  ],
  // In these two objects, no member decides what the others act on. The members have the order of
  // `MEMBERS_RUN_FIRST` (commands.ts). Members that are not in this list come last.
  [
    'audio/clients/song/set',
    '{"output": "kitchen", "volume": 0.1}',
    ['setClientVolume song', { volume: 0.1 }],
    ['moveClient song', { output: 'kitchen' }],
  ],
  [
    'audio/outputs/a%2Fb/set',
    '{"default": true, "muted": false, "volume": 1}',
    ['setOutputVolume a/b', { volume: 1 }],
    ['muteOutput a/b', { muted: false }],
    ['setDefaultOutput a/b'],
  ],
  // The body of `setDefaultOutput` has the member `default` only if its value is not `true`.
  ['audio/outputs/x/set', '{"default": false}', ['setDefaultOutput x', { default: false }]],
  ['audio/outputs/x/set', '{"move": true}', ['setDefaultOutput x', { move: true }]],
  ['audio/outputs/x/set', '{"default": true, "move": true}', ['setDefaultOutput x', { move: true }]],
  [
    'audio/outputs/x/set',
    '{"default": false, "move": true}',
    ['setDefaultOutput x', { default: false, move: true }],
  ],
  ['audio/outputs/set/set', '{"muted": true}', ['muteOutput set', { muted: true }]],
  ['audio/sleep/set', '{"minutes": 30}', ['startSleep', { minutes: 30 }]],
  ['audio/sleep/set', '{"minutes": 30, "fade": 5}', ['startSleep', { minutes: 30, fade: 5 }]],
  ['audio/sleep/set', 'stop', ['stopSleep']],
  ['audio/cards/hw%2F0/set', '{"profile": "off"}', ['setCardProfile hw/0', { profile: 'off' }]],
  ['audio/clients/🎵 1/set', '{"output": "k"}', ['moveClient 🎵 1', { output: 'k' }]],
  ['services/user/mpd.service/set', 'restart', ['restartUnit user mpd.service']],
  ['services/user/mpd.service/set', '"stop"', ['stopUnit user mpd.service']],
  ['services/system/ssh.service/set', 'enable', ['enableUnit system ssh.service']],
  ['players/mpv/set', '{"offset": -5000000}', ['seek mpv', { offset: -5_000_000 }]],
  [
    'players/mpv/set',
    '{"shuffle": true, "loop": "Track", "offset": 2, "position": 1, "volume": 0.1}',
    ['setPlayerVolume mpv', { volume: 0.1 }],
    ['setPosition mpv', { position: 1 }],
    ['seek mpv', { offset: 2 }],
    ['setLoop mpv', { loop: 'Track' }],
    ['setShuffle mpv', { shuffle: true }],
  ],
  ['bluetooth/set', '"scan"', ['startScan']],
  ['bluetooth/set', '{"connect": "AA:BB:CC:DD:EE:FF"}', ['connectDevice', { address: 'AA:BB:CC:DD:EE:FF' }]],
  ['bluetooth/set', '{"disconnect": 5}', ['disconnectDevice', { address: 5 }]],
  // A payload that makes no sense passes as a whole to one operation, which refuses it: the operation of a
  // known member, or else the topic's first operation. The member `output` does not count as known, because
  // the body of its operation does not have this member. A payload that is no JSON passes as a text.
  ['audio/server/set', 'loud', ['setServerVolume', 'loud']],
  ['audio/server/set', '{"volume": 1, "delta": 1}', ['setServerVolume', { volume: 1, delta: 1 }]],
  ['audio/server/set', '{"muted": true, "x": 1}', ['muteServer', { muted: true, x: 1 }]],
  ['audio/server/set', '{"output": "k", "x": 1}', ['setServerVolume', { output: 'k', x: 1 }]],
  [
    'audio/server/set',
    '{"output": "k", "muted": 1, "x": 1}',
    ['muteServer', { output: 'k', muted: 1, x: 1 }],
  ],
  ['audio/server/set', '[]', ['setServerVolume', []]],
  ['audio/server/set', 'null', ['setServerVolume', null]],
  ['audio/outputs/a%zz/set', '{"volume": 1}', ['setOutputVolume ?', { volume: 1 }]],
  // A payload that is none of the topic's words becomes a request without an operation.
  ['services/user/x.service/set', '../../power/reboot', ['none user x.service']],
  ['services/user/x.service/set', 'constructor', ['none user x.service']],
  ['power/set', '{"reboot": true}', ['none']],
  ['power/set', 'REBOOT', ['none']],
  ['power/set', 'poweroff now', ['none']],
  // Blanks before and after a word or an object have no effect.
  ['power/set', ' poweroff\n', ['powerOff']],
  ['power/set', ' "reboot " ', ['reboot']],
  ['players/mpv/set', ' {"volume": 1} ', ['setPlayerVolume mpv', { volume: 1 }]],
  // These topics take a plain value instead of an object.
  ['audio/server/volume/set', '0.4', ['setServerVolume', { volume: 0.4 }]],
  ['audio/server/volume/set', ' 40 % ', ['setServerVolume', { volume: 0.4 }]],
  ['audio/outputs/a%2Fb/volume/set', '57%', ['setOutputVolume a/b', { volume: 0.57 }]],
  ['audio/inputs/x/volume/set', '"12.5%"', ['setInputVolume x', { volume: 0.125 }]],
  ['audio/clients/volume/volume/set', '1', ['setClientVolume volume', { volume: 1 }]],
  ['audio/server/volume/set', '140%', ['setServerVolume', { volume: 1.4 }]],
  ['audio/server/volume/set', 'loud', ['setServerVolume', { volume: 'loud' }]],
  ['audio/server/volume/set', '%', ['setServerVolume', { volume: '%' }]],
  ['audio/server/mute/set', 'ON', ['muteServer', { muted: true }]],
  ['audio/outputs/x/mute/set', ' OFF ', ['muteOutput x', { muted: false }]],
  ['audio/inputs/x/mute/set', '"toggle"', ['muteInput x', {}]],
  ['audio/clients/x/mute/set', 'loud', ['none x']],
  // These objects are unusual: empty, with `__proto__`, broken, too long, or deep. An object that has more
  // than 32 levels passes as a text (topics.ts). The outer braces are a level. A bracket in a string is none.
  ['players/mpv/set', '{}', ['setPlayerVolume mpv', {}]],
  ['audio/server/set', '{"__proto__": 1}', ['setServerVolume', JSON.parse('{"__proto__": 1}')]],
  ['players/mpv/set', '{"volume": 1', ['setPlayerVolume mpv', '{"volume": 1']],
  ['audio/server/set', TOO_LONG, ['setServerVolume', TOO_LONG]],
  ['audio/server/set', nestedLists(31), ['setServerVolume', JSON.parse(nestedLists(31))]],
  ['audio/server/set', nestedLists(32), ['setServerVolume', nestedLists(32)]],
  ['audio/server/set', '{"output": "[[[\\"{{{"}', ['setDefaultOutput [[["{{{']],
  // These topics take no commands.
  ['audio/server', '{"volume": 1}'],
  ['audio/outputs/set', '{"volume": 1}'],
  ['audio/server/loud/set', '{"muted": true}'],
];

for (const [topic, payload, ...expected] of ROWS) {
  test(`the payload ${payload.slice(0, 100)} at ${topic} becomes the expected requests`, () => {
    const requests = requestsOf(topic, payload).map(({ request }) => {
      const [operation, body] = commanded(request);
      return body === undefined ? [operation] : [operation, body];
    });
    assert.deepEqual(requests, expected);
    assert.equal(isCommand(topic), expected.length > 0);
  });
}

test('the subscription has one topic filter for each kind of topic that takes commands', () => {
  assert.deepEqual([...COMMAND_FILTERS].sort(), [
    'audio/cards/+/set',
    'audio/clients/+/mute/set',
    'audio/clients/+/set',
    'audio/clients/+/volume/set',
    'audio/inputs/+/mute/set',
    'audio/inputs/+/set',
    'audio/inputs/+/volume/set',
    'audio/outputs/+/mute/set',
    'audio/outputs/+/set',
    'audio/outputs/+/volume/set',
    'audio/server/mute/set',
    'audio/server/set',
    'audio/server/volume/set',
    'audio/sleep/set',
    'bluetooth/set',
    'players/+/set',
    'power/set',
    'services/+/+/set',
    'upgrade/set',
  ]);
});

for (const operation of OPERATION_NAMES) {
  const row = OPERATIONS[operation];
  if (row.kind !== 'command') continue;
  for (const { by, name, topic = row.topic } of row.mqtt) {
    // The level `x` stands for each parameter: `players/{player}` becomes `players/x`.
    const baseTopic = topic.replaceAll(/\{\w+\}/g, 'x');
    // `toggle` suits both topic levels: `mute` takes this word, and `volume` passes all texts on.
    const command = {
      word: { topic: baseTopic, payload: name },
      member: { topic: baseTopic, payload: JSON.stringify({ [name]: true }) },
      'topic-level': { topic: `${baseTopic}/${name}`, payload: 'toggle' },
    }[by];
    test(`the ${by} ${name} at ${command.topic} calls ${operation}`, () => {
      const requests = requestsOf(`${command.topic}/set`, command.payload);
      const operations = requests.map(({ request }) => request.operation);
      assert.deepEqual(operations, [operation]);
    });
  }
}

test('all commands to the sound server share one queue, and every other topic has its own queue', () => {
  const queueOf = (topic: string, payload: string) => requestsOf(topic, payload)[0]?.queue;
  assert.equal(queueOf('audio/outputs/a/set', '{"volume":1}'), queueOf('audio/server/set', '{"muted":true}'));
  assert.notEqual(queueOf('players/a/set', 'play'), queueOf('players/b/set', 'play'));
});

test('a newer command replaces an older one that sets the same thing, even at another topic; a delta, a toggle or `next` replaces nothing', () => {
  // A request replaces a waiting one that has the same `setting`.
  const settingsOf = (topic: string, payload: string) =>
    requestsOf(topic, payload).map(({ setting }) => setting);
  const defaultOutput = settingsOf('audio/server/set', '{"output":"a"}');
  assert.deepEqual(defaultOutput, settingsOf('audio/outputs/b/set', '{"default":true}'));
  const defaultInput = settingsOf('audio/inputs/a/set', '{"default":true}');
  assert.deepEqual(defaultInput, settingsOf('audio/inputs/b/set', '{"default":true}'));
  assert.notDeepEqual(defaultInput, defaultOutput);
  assert.deepEqual(settingsOf('audio/server/set', '{"delta":0.1}'), [undefined]);
  assert.deepEqual(settingsOf('audio/server/mute/set', 'toggle'), [undefined]);
  const plainVolume = settingsOf('audio/outputs/a/volume/set', '40%');
  assert.deepEqual(plainVolume, settingsOf('audio/outputs/a/set', '{"volume":0.4}'));
  assert.deepEqual(settingsOf('players/mpv/set', 'next'), [undefined]);
  assert.deepEqual(settingsOf('players/mpv/set', 'play'), settingsOf('players/mpv/set', 'pause'));
});

/** The largest number of queues that have a running command. */
const RUNNING_MAX = 16;
/** The largest number of commands that wait in all queues together. */
const WAITING_MAX = 256;

type Queueing = Partial<Omit<WaitingRequest, 'request'>>;

/** A request with a name. By default, all these requests share one queue, and have no setting. */
function waitingRequest(name: string, queueing: Queueing = {}): WaitingRequest {
  const request = { operation: 'play', params: { player: name } } as const;
  return { source: { topic: 't' }, size: 1, request, queue: 'q', ...queueing };
}

const nameOf = ({ request }: WaitingRequest): string => request.params?.['player'] ?? assert.fail();

/**
 * Makes queues whose running requests end when the test calls `finish`. For each request that has begun,
 * `begun` has the text of `describe`.
 */
function manualQueues(describe: (request: WaitingRequest) => string = nameOf) {
  const begun: string[] = [];
  /**
   * A line for each dropped request: its text, and the topic of its command. `volume behind port` means that
   * the field `volume` acts on what the field `port` chooses.
   */
  const dropped: string[] = [];
  const resolvers: ((outcome: Result<undefined, object>) => void)[] = [];
  const queues = new CommandQueues(
    (request) => {
      begun.push(describe(request));
      return new Promise((resolve) => resolvers.push(resolve));
    },
    (request, { field, choice }) =>
      dropped.push(`${describe(request)} of ${request.source.topic}: ${field} behind ${choice}`),
  );
  /** Ends the oldest `count` running requests with this outcome, one after the other. */
  const finish = async (count = 1, outcome: 'accepted' | 'refused' = 'accepted'): Promise<void> => {
    for (let ended = 0; ended < count; ended += 1) {
      resolvers.shift()?.(outcome === 'accepted' ? success(undefined) : failed({}));
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const add = (request: WaitingRequest): boolean => queues.add(request);
  return { add, begun, dropped, finish };
}

test('a newer request replaces the waiting one with the same setting, and goes to the end of the queue; every request without a setting stays', async () => {
  const { add, begun, finish } = manualQueues();
  const requests = [
    waitingRequest('under way', { setting: 'v' }),
    waitingRequest('v1', { setting: 'v' }),
    waitingRequest('delta'),
    waitingRequest('d', { setting: 'default' }),
    waitingRequest('v2', { setting: 'v' }),
    waitingRequest('delta'),
  ];
  for (const request of requests) assert.ok(add(request));
  await finish(requests.length);
  assert.deepEqual(begun, ['under way', 'delta', 'd', 'v2', 'delta']);
});

type ObjectCommand = readonly [topic: string, payload: object];

/** Queues with the requests of the commands. The requests wait for a command that is under way. */
function queuesWith(commands: readonly ObjectCommand[]) {
  const queues = manualQueues(({ request }) => {
    const [operation, body] = commanded(request);
    return body === undefined ? operation : `${operation} ${JSON.stringify(body)}`;
  });
  const [underWay] = requestsOf('audio/sleep/set', 'stop');
  assert.ok(queues.add({ ...(underWay ?? assert.fail()), source: { topic: '' }, size: 1 }));
  for (const [index, [topic, payload]] of commands.entries()) {
    const source = { topic: `command ${index}` };
    for (const request of requestsOf(`${topic}/set`, JSON.stringify(payload)))
      assert.ok(queues.add({ ...request, source, size: 1 }));
  }
  return queues;
}

/**
 * Adds the requests of the commands while another command is under way. Returns the requests in the order in
 * which they begin.
 */
async function requestsInOrder(...commands: readonly ObjectCommand[]) {
  const { begun, finish } = queuesWith(commands);
  const requestsPerCommandMax = 2;
  await finish(1 + requestsPerCommandMax * commands.length);
  return begun.slice(1);
}

test('requests that act on a refused choice are dropped, also those of an older command with the same choice', async () => {
  const server = 'audio/server';
  const { begun, dropped, finish } = queuesWith([
    [server, { output: 'B', volume: 0.9 }],
    ['audio/outputs/B', { default: true }],
    [server, { output: 'B', muted: false }],
    [server, { delta: 0.1 }],
    [server, { output: 'C', volume: 0.2 }],
  ]);
  // The first three commands choose the same output, so only one request for this choice waits.
  await finish();
  await finish(1, 'refused');
  assert.deepEqual(dropped, [
    'setServerVolume {"volume":0.9} of command 0: volume behind output',
    'muteServer {"muted":false} of command 2: muted behind output',
  ]);
  await finish(3);
  // The delta stays, because its own command chooses no output.
  assert.deepEqual(begun.slice(1), [
    'setDefaultOutput B',
    'setServerVolume {"delta":0.1}',
    'setDefaultOutput C',
    'setServerVolume {"volume":0.2}',
  ]);
});

test('an output does not become the default if the port in the same command is refused, unless a later command also chooses the output', async () => {
  const output = 'audio/outputs/x';
  const command = [output, { port: 'line', volume: 0.9, default: true }] as const;
  const withOneCommand = queuesWith([command]);
  await withOneCommand.finish();
  await withOneCommand.finish(1, 'refused');
  assert.deepEqual(withOneCommand.dropped, [
    'setOutputVolume x {"volume":0.9} of command 0: volume behind port',
    'setDefaultOutput x of command 0: default behind port',
  ]);

  const withBoth = queuesWith([command, [output, { default: true }]]);
  await withBoth.finish();
  await withBoth.finish(1, 'refused');
  assert.deepEqual(withBoth.dropped, ['setOutputVolume x {"volume":0.9} of command 0: volume behind port']);
  assert.equal(withBoth.begun.at(-1), 'setDefaultOutput x');
});

test('the mute of a command is carried out even if the volume before it is refused', async () => {
  const { begun, dropped, finish } = queuesWith([
    ['audio/outputs/x', { port: 'line', volume: 4, muted: true }],
  ]);
  await finish(2);
  await finish(1, 'refused');
  assert.deepEqual([begun.at(-1), dropped], ['muteOutput x {"muted":true}', []]);
});

/** Makes a handler of commands. Each of its requests is answered with the status that `statusOf` returns. */
function handlerOf(statusOf: (requestText: string) => number | Promise<number>) {
  const requests: string[] = [];
  const refusals: { readonly topic: string; readonly text: string }[] = [];
  const handler = new CommandHandler(
    {
      ask: async (request) => {
        const requestText = JSON.stringify(commanded(request));
        requests.push(requestText);
        const status = await statusOf(requestText);
        return { status, body: status < 400 ? '' : '{"detail":"There is no such output"}' };
      },
    },
    { wholeTopic: (topic) => topic, referenceTo: (_kind, name) => name },
    (message) => refusals.push(message),
  );
  const handleText = (topic: string, text: string): void =>
    handler.handle(topic, { topic: `T/${topic}`, text, retained: false });
  return {
    handle: (payload: object) => handleText('audio/server/set', JSON.stringify(payload)),
    handleText,
    requests,
    refusals,
    get details(): readonly string[] {
      return refusals.map(({ topic, text }) => `${topic}: ${JSON.parse(text).detail}`);
    },
  };
}

test('if the output of a command is refused, its volume and its mute are not set, and each of the three causes an error', async () => {
  const handler = handlerOf((text) => (text.includes('setDefaultOutput') ? 404 : 202));
  const { handle, requests } = handler;
  handle({ output: 'nosuch', volume: 0.9, muted: false });
  handle({ delta: 0.1 });
  await until('the next command is carried out', () => requests.length === 2);
  assert.deepEqual(requests, ['["setDefaultOutput nosuch",null]', '["setServerVolume",{"delta":0.1}]']);
  assert.deepEqual(handler.details, [
    'error: There is no such output',
    'error: Field volume was not carried out, because field output was refused',
    'error: Field muted was not carried out, because field output was refused',
  ]);
});

test('while no more commands can wait, a command with output and volume is refused as a whole, and replaces no waiting volume', async () => {
  const status = new Deferred<number>();
  const { handle, requests, refusals } = handlerOf(() => status.promise);
  handle({ muted: true });
  handle({ volume: 0.3 });
  for (let waiting = 1; waiting < WAITING_MAX; waiting += 1) handle({ delta: 0.1 });
  handle({ output: 'kitchen', volume: 0.9 });
  assert.equal(refusals.length, 2);
  status.resolve(202);
  await until('all accepted commands are carried out', () => requests.length === 1 + WAITING_MAX);
  const volumes = requests.filter((text) => text.includes('"volume"'));
  assert.deepEqual(volumes, ['["setServerVolume",{"volume":0.3}]']);
});

test('a command that is too long for the body of a request does not wait, and is refused in the same words as by the gateway', async () => {
  const status = new Deferred<number>();
  const { handle, handleText, requests, refusals } = handlerOf(() => status.promise);
  handle({ muted: true });
  const topics = ['audio/server/set', 'audio/outputs/x/set', 'audio/inputs/x/volume/set'];
  for (const topic of topics) handleText(topic, TOO_LONG);
  const problem = JSON.parse(String(problemReply(BODY_TOO_LARGE).body));
  assert.deepEqual(
    refusals.map(({ text }) => JSON.parse(text)),
    topics.map((topic) => ({ ...problem, topic: `T/${topic}` })),
  );
  handle({ delta: 0.1 });
  status.resolve(202);
  await until('the last command is carried out', () => requests.length > 1);
  assert.deepEqual(requests, ['["muteServer",{"muted":true}]', '["setServerVolume",{"delta":0.1}]']);
});

/** The sizes of all waiting commands may have at most this sum (command-queues.ts). */
const WAITING_SIZE_MAX = 512 * 1024;

test('a long command is refused if the waiting commands would be too large together, but accepted if it need not wait', async () => {
  const status = new Deferred<number>();
  const { handle, handleText, requests, refusals } = handlerOf(() => status.promise);
  const long = `{"delta":${' '.repeat(60_000)}0.1}`;
  handle({ muted: true });
  for (let count = 0; count < 20; count += 1) handleText('audio/server/set', long);
  const sizeOfEach = 'T/audio/server/set'.length + long.length;
  const waitingCount = Math.floor(WAITING_SIZE_MAX / sizeOfEach);
  assert.equal(refusals.length, 20 - waitingCount);
  assert.match(refusals[0]?.text ?? '', /too-many-commands/);
  // This player's queue is empty, so the command need not wait.
  handleText('players/mpv/set', `{"volume":${' '.repeat(60_000)}0.1}`);
  assert.equal(requests.length, 2);
  status.resolve(202);
  await until('all accepted commands are carried out', () => requests.length === 2 + waitingCount);
});

test('a newer setting that is refused because of its size does not replace the waiting setting', async () => {
  const { add, begun, finish } = manualQueues();
  for (const name of ['under way', 'older']) assert.ok(add(waitingRequest(name, { setting: 'v' })));
  assert.equal(add(waitingRequest('newer', { setting: 'v', size: WAITING_SIZE_MAX + 1 })), false);
  await finish(2);
  assert.deepEqual(begun, ['under way', 'older']);
});

test('a newer setting replaces the waiting setting even while no additional request can wait', async () => {
  const { add, begun, finish } = manualQueues();
  assert.ok(add(waitingRequest('under way', { setting: 'v' })));
  assert.ok(add(waitingRequest('older', { setting: 'v', size: 2 })));
  assert.ok(add(waitingRequest('large', { size: WAITING_SIZE_MAX - 2 })));
  assert.equal(add(waitingRequest('another', { size: 1 })), false);
  assert.ok(add(waitingRequest('newer', { setting: 'v', size: 2 })));
  await finish(3);
  assert.deepEqual(begun, ['under way', 'large', 'newer']);
});

test('a volume of the default output is set at the output that its own command chooses, even if later commands choose other outputs', async () => {
  const server = 'audio/server';
  const requests = await requestsInOrder(
    [server, { output: 'B', volume: 0.2 }],
    [server, { output: 'C', volume: 0.9 }],
    [server, { output: 'D', volume: 0.3 }],
    [server, { output: 'A' }],
  );
  assert.deepEqual(requests, [
    'setDefaultOutput B',
    'setServerVolume {"volume":0.2}',
    'setDefaultOutput C',
    'setServerVolume {"volume":0.9}',
    'setDefaultOutput D',
    'setServerVolume {"volume":0.3}',
    'setDefaultOutput A',
  ]);
});

test('a delta, a mute or a volume is carried out after the choice before it and before the choice after it', async () => {
  const defaults = await requestsInOrder(
    ['audio/outputs/B', { default: true }],
    ['audio/server', { delta: 0.1 }],
    ['audio/outputs/C', { default: true }],
    ['audio/server', { muted: true }],
    ['audio/server', { output: 'A' }],
  );
  assert.deepEqual(defaults, [
    'setDefaultOutput B',
    'setServerVolume {"delta":0.1}',
    'setDefaultOutput C',
    'muteServer {"muted":true}',
    'setDefaultOutput A',
  ]);
  const ports = await requestsInOrder(
    ['audio/outputs/x', { port: 'line', volume: 0.2 }],
    ['audio/outputs/x', { port: 'hdmi' }],
  );
  assert.deepEqual(ports, [
    'setOutputPort x {"port":"line"}',
    'setOutputVolume x {"volume":0.2}',
    'setOutputPort x {"port":"hdmi"}',
  ]);
  // The output `x` may be the default output. Then the volume of `audio/server` is for the port of `x`.
  const portsOfDefault = await requestsInOrder(
    ['audio/outputs/x', { port: 'line' }],
    ['audio/server', { volume: 0.2 }],
    ['audio/outputs/x', { port: 'hdmi' }],
  );
  assert.deepEqual(portsOfDefault, [
    'setOutputPort x {"port":"line"}',
    'setServerVolume {"volume":0.2}',
    'setOutputPort x {"port":"hdmi"}',
  ]);
  const profiles = await requestsInOrder(
    ['audio/cards/x', { profile: 'hdmi' }],
    ['audio/server', { volume: 0.3 }],
    ['audio/cards/x', { profile: 'analog' }],
  );
  assert.deepEqual(profiles, [
    'setCardProfile x {"profile":"hdmi"}',
    'setServerVolume {"volume":0.3}',
    'setCardProfile x {"profile":"analog"}',
  ]);
});

test('a flood of commands with `output` and `volume` ends with the last volume, and is carried out as two requests', async () => {
  const volumes = Array.from({ length: 300 }, (_, index) => index / 1000);
  const requests = await requestsInOrder(
    ...volumes.map((volume) => ['audio/server', { output: 'kitchen', volume }] as const),
  );
  assert.deepEqual(requests, ['setDefaultOutput kitchen', 'setServerVolume {"volume":0.299}']);
});

test('a choice takes the place of the last waiting choice only if both choose the same, and keeps the topic of its own command', async () => {
  const { add, begun, finish } = manualQueues((request) => `${nameOf(request)} of ${request.source.topic}`);
  assert.ok(add(waitingRequest('under way')));
  const choices = [
    ['a', 'first'],
    ['b', 'second'],
    ['a', 'third'],
    ['a', 'fourth'],
  ] as const;
  for (const [name, topic] of choices)
    assert.ok(add(waitingRequest(name, { isChoice: true, source: { topic } })));
  await finish(1 + choices.length);
  assert.deepEqual(begun.slice(1), ['a of first', 'b of second', 'a of fourth']);
});

test('a setting replaces a waiting setting if no choice is between them, and a choice replaces a waiting choice if no request is between them', async () => {
  const requests = await requestsInOrder(
    ['audio/server', { output: 'B' }],
    ['audio/server', { output: 'C' }],
    ['audio/outputs/x', { volume: 0.2 }],
    ['audio/server', { volume: 0.4 }],
    ['audio/outputs/x', { volume: 0.3 }],
    ['audio/server', { volume: 0.5 }],
    ['audio/server', { output: 'D' }],
    ['audio/outputs/x', { volume: 0.6 }],
  );
  // C replaces B, 0.3 replaces 0.2, and 0.5 replaces 0.4. D does not replace C, and 0.6 does not replace 0.3.
  assert.deepEqual(requests, [
    'setDefaultOutput C',
    'setOutputVolume x {"volume":0.3}',
    'setServerVolume {"volume":0.5}',
    'setDefaultOutput D',
    'setOutputVolume x {"volume":0.6}',
  ]);
});

test('only 16 queues run at a time, and a newer setting replaces the older one in a queue that does not run yet', async () => {
  const { add, begun, finish } = manualQueues();
  const requests = Array.from({ length: 40 }, (_, index) =>
    waitingRequest(`unit ${index}`, { setting: `run ${index}`, queue: `unit ${index}` }),
  );
  for (const request of requests) assert.ok(add(request));
  assert.equal(begun.length, RUNNING_MAX);

  assert.ok(add(waitingRequest('unit 39 again', { setting: 'run 39', queue: 'unit 39' })));
  await finish(requests.length);
  assert.deepEqual(begun, [...requests.slice(0, 39).map(nameOf), 'unit 39 again']);

  // All commands have ended, so the next one begins at once.
  assert.ok(add(waitingRequest('once more', { setting: 'run', queue: 'unit 0' })));
  assert.equal(begun.at(-1), 'once more');
});

test('if each command of a flood has its own queue, 16 commands run, 256 wait, and all others are refused', () => {
  const { add, begun } = manualQueues();
  const areAccepted = Array.from({ length: 10_000 }, (_, index) =>
    add(waitingRequest('x', { setting: `run ${index}`, queue: `queue ${index}` })),
  );
  assert.equal(areAccepted.filter(Boolean).length, RUNNING_MAX + WAITING_MAX);
  assert.equal(begun.length, RUNNING_MAX);
});

test('after a flood of commands has ended, as many commands may wait as before it', async () => {
  const { add, finish } = manualQueues();
  for (let round = 0; round < 3; round += 1) {
    const areSettingsAccepted = Array.from({ length: 100 }, () => add(waitingRequest('v', { setting: 'v' })));
    assert.ok(areSettingsAccepted.every(Boolean), 'each setting replaces the waiting setting');

    const areDeltasAccepted = Array.from({ length: 300 }, () => add(waitingRequest('delta')));
    // One setting is under way already, and another one waits.
    assert.equal(areDeltasAccepted.filter(Boolean).length, WAITING_MAX - 1);
    await finish(1 + WAITING_MAX);
  }
});
