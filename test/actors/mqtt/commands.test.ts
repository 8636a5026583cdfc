// From topics and payloads to requests: a row per line of docs/home-assistant.md, "Commands", and payloads
// that make no sense. Then waiting commands: their order, which of them count, and their limit.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandQueues, type WaitingRequest } from '../../../src/actors/mqtt/command-queues.js';
import { COMMAND_FILTERS, isCommand, requestsOf } from '../../../src/actors/mqtt/commands.js';
import { OPERATION_NAMES, OPERATIONS } from '../../../src/protocol/actor/operations.js';
import { commanded } from '../../broker/simulated-node.js';

/** A request is its operation, with the names of its parameters, and its body. */
type ExpectedRequest = readonly [what: string, body?: unknown];
type Row = readonly [topic: string, payload: string, ...expected: readonly ExpectedRequest[]];

/** Nested lists in a member, with this number of levels. */
const deep = (levels: number): string => `{"volume":${'['.repeat(levels)}${']'.repeat(levels)}}`;

/** Longer than a body may be. */
const LONG = `{"volume":${' '.repeat(64 * 1024)}1}`;

const ROWS: readonly Row[] = [
  ['audio/server/set', '{"volume": 0.5}', ['setServerVolume', { volume: 0.5 }]],
  ['audio/server/set', '{"output": "a/b c"}', ['setDefaultOutput a/b c']],
  ['audio/server/set', '{"output": 5}', ['setDefaultOutput 5']],
  [
    'audio/outputs/a%2Fb/set',
    '{"default": true, "muted": false, "volume": 1}',
    ['setOutputVolume a/b', { volume: 1 }],
    ['muteOutput a/b', { muted: false }],
    ['setDefaultOutput a/b'],
  ],
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
  // The operation refuses nonsense, so it passes as a whole; a text that is not JSON, or is too long, passes
  // unchanged.
  ['audio/server/set', 'loud', ['setServerVolume', 'loud']],
  ['audio/server/set', '{"volume": 1, "delta": 1}', ['setServerVolume', { volume: 1, delta: 1 }]],
  ['audio/server/set', '{"muted": true, "x": 1}', ['muteServer', { muted: true, x: 1 }]],
  ['audio/server/set', '[]', ['setServerVolume', []]],
  ['audio/server/set', 'null', ['setServerVolume', null]],
  ['audio/outputs/a%zz/set', '{"volume": 1}', ['setOutputVolume ?', { volume: 1 }]],
  ['services/user/x.service/set', '../../power/reboot', ['none user x.service']],
  ['services/user/x.service/set', 'constructor', ['none user x.service']],
  ['power/set', '{"reboot": true}', ['none']],
  ['power/set', 'REBOOT', ['none']],
  ['power/set', 'poweroff now', ['none']],
  // Blanks around a word, or an object, mean nothing.
  ['power/set', ' poweroff\n', ['powerOff']],
  ['power/set', ' "reboot " ', ['reboot']],
  ['players/mpv/set', ' {"volume": 1} ', ['setPlayerVolume mpv', { volume: 1 }]],
  // A plain value.
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
  ['players/mpv/set', '{}', ['setPlayerVolume mpv', {}]],
  ['audio/server/set', '{"__proto__": 1}', ['setServerVolume', JSON.parse('{"__proto__": 1}')]],
  ['players/mpv/set', '{"volume": 1', ['setPlayerVolume mpv', '{"volume": 1']],
  ['audio/server/set', LONG, ['setServerVolume', LONG]],
  ['audio/server/set', deep(31), ['setServerVolume', JSON.parse(deep(31))]],
  ['audio/server/set', deep(32), ['setServerVolume', deep(32)]],
  ['audio/server/set', '{"output": "[[[\\"{{{"}', ['setDefaultOutput [[["{{{']],
  // The topic is not one for commands.
  ['audio/server', '{"volume": 1}'],
  ['audio/outputs/set', '{"volume": 1}'],
  ['audio/server/loud/set', '{"muted": true}'],
];

for (const [topic, payload, ...expected] of ROWS) {
  test(`the payload ${payload.slice(0, 100)} at ${topic} becomes the expected requests`, () => {
    const found = requestsOf(topic, payload).map(({ request }) => {
      const [what, body] = commanded(request);
      return body === undefined ? [what] : [what, body];
    });
    assert.deepEqual(found, expected);
    assert.equal(isCommand(topic), expected.length > 0);
  });
}

test('the topic filters of the subscription match topics of commands only', () => {
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
  for (const { by, name, topic } of row.kind === 'command' ? row.mqtt : []) {
    const above = (topic ?? (row.kind === 'command' ? row.topic : '')).replaceAll(/\{\w+\}/g, 'x');
    const [at, payload] = {
      word: [above, name],
      member: [above, JSON.stringify({ [name]: true })],
      level: [`${above}/${name}`, 'toggle'],
    }[by];
    test(`${by} ${name} at ${at} calls ${operation}`, () => {
      const requests = requestsOf(`${at}/set`, payload ?? '');
      const operations = requests.map(({ request }) => request.operation);
      assert.deepEqual(operations, [operation]);
    });
  }
}

test('commands to the sound server share a queue, the others have one for each target', () => {
  const queue = (topic: string, payload: string) => requestsOf(topic, payload)[0]?.queue;
  assert.equal(queue('audio/outputs/a/set', '{"volume":1}'), queue('audio/server/set', '{"muted":true}'));
  assert.notEqual(queue('players/a/set', 'play'), queue('players/b/set', 'play'));
});

test('settings of one thing replace each other, whatever their topic; deltas and toggles replace nothing', () => {
  const superseding = (topic: string, payload: string) =>
    requestsOf(topic, payload).map(({ setting }) => setting);
  const chosen = superseding('audio/server/set', '{"output":"a"}');
  assert.deepEqual(chosen, superseding('audio/outputs/b/set', '{"default":true}'));
  assert.deepEqual(superseding('audio/server/set', '{"delta":0.1}'), [undefined]);
  assert.deepEqual(superseding('audio/server/mute/set', 'toggle'), [undefined]);
  const plain = superseding('audio/outputs/a/volume/set', '40%');
  assert.deepEqual(plain, superseding('audio/outputs/a/set', '{"volume":0.4}'));
  assert.deepEqual(superseding('players/mpv/set', 'next'), [undefined]);
  assert.deepEqual(superseding('players/mpv/set', 'play'), superseding('players/mpv/set', 'pause'));
});

function waitingRequest(name: string, setting?: string, queue = 'q'): WaitingRequest {
  const request = { operation: 'play', params: { player: name } } as const;
  return { source: { topic: 't' }, request, queue, ...(setting !== undefined && { setting }) };
}

const nameOf = ({ request }: WaitingRequest): string => request.params?.['player'] ?? assert.fail();

/** Each command ends when the test calls `finish`. */
function recordedQueues() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const queues = new CommandQueues((each) => {
    begun.push(nameOf(each));
    return new Promise((resolve) => ends.push(resolve));
  });
  /** Ends `count` commands, one after the other. */
  const finish = async (count = 1): Promise<void> => {
    for (let ended = 0; ended < count; ended += 1) {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const add = (request: WaitingRequest): boolean => queues.add(request);
  return { add, begun, finish };
}

test('a newer setting replaces a waiting one and goes to the end of the queue; every delta and toggle stays', async () => {
  const { add, begun, finish } = recordedQueues();
  const settings = [waitingRequest('under way', 'v'), waitingRequest('v1', 'v')];
  const requests = [
    ...settings,
    waitingRequest('delta'),
    waitingRequest('d', 'default'),
    waitingRequest('v2', 'v'),
    waitingRequest('delta'),
  ];
  for (const each of requests) assert.ok(add(each));
  await finish(requests.length);
  assert.deepEqual(begun, ['under way', 'delta', 'd', 'v2', 'delta']);
});

test('only 16 queues run at a time, the others wait, and a newer setting replaces a waiting one', async () => {
  const { add, begun, finish } = recordedQueues();
  const requests = Array.from({ length: 40 }, (_, i) => waitingRequest(`unit ${i}`, `run ${i}`, `unit ${i}`));
  for (const each of requests) assert.ok(add(each));
  assert.equal(begun.length, 16);
  assert.ok(add(waitingRequest('unit 39 again', 'run 39', 'unit 39')));
  await finish(requests.length);
  assert.deepEqual(begun, [...requests.slice(0, 39).map(nameOf), 'unit 39 again']);
  assert.ok(add(waitingRequest('once more', 'run', 'unit 0')));
  assert.equal(begun.at(-1), 'once more');
});

test('a flood of commands, each with its own queue, is refused beyond the bound', () => {
  const { add, begun } = recordedQueues();
  const accepted = Array.from({ length: 10_000 }, (_, i) =>
    add(waitingRequest('x', `run ${i}`, `queue ${i}`)),
  );
  assert.equal(accepted.filter(Boolean).length, 16 + 256);
  assert.equal(begun.length, 16);
});

test('after a flood as many commands may wait as before', async () => {
  const { add, finish } = recordedQueues();
  for (let round = 0; round < 3; round += 1) {
    const settings = Array.from({ length: 100 }, () => add(waitingRequest('v', 'v')));
    assert.ok(settings.every(Boolean));
    const accepted = Array.from({ length: 300 }, () => add(waitingRequest('delta')));
    // One command is under way, and one setting waits.
    assert.equal(accepted.filter(Boolean).length, 255);
    await finish(257);
  }
});
