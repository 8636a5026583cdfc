// From a command and a state to requests for the sound server, or to a fault: volumes and balance through silence and back,
// above 100 %, by steps.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  channelsAt,
  planCommand,
  type SettingPlan,
  type SoundCommand,
  sinkOf,
  volumeAfter,
} from '../../../src/actors/audio/commands.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { FaultCode } from '../../../src/protocol/actor/faults.js';
import { levelOf, RAW_MAX, RAW_NORM, rawOf, rememberBalance } from '../../../src/protocol/pulse/volume.js';
import { inputInfo, serverInfo, sinkInfo } from './sound-records.js';

const FULL = RAW_NORM;
const HALF = RAW_NORM / 2;

const port = (name: string) => ({
  ...{ name, description: name, priority: 0, available: 0, availabilityGroup: undefined, type: 0 },
});
const SPEAKER = port('speaker');
const HEADPHONES = port('headphones');

function filled(): SoundState {
  const state = new SoundState();
  state.putServer(serverInfo({ defaultSink: 'kitchen' }));
  state.putSink(sinkInfo(0, 'living', { muted: true }));
  state.putSink(sinkInfo(1, 'kitchen', { volume: [FULL, HALF] }));
  state.putSink(sinkInfo(2, 'desk', { ports: [SPEAKER, HEADPHONES], volume: [0, 0] }));
  state.putSink(sinkInfo(3, 'mono', { channelMap: [0], volume: [FULL] }));
  state.putSink(sinkInfo(4, 'cinema', { channelMap: [1, 2, 3], volume: [FULL, FULL, FULL] }));
  state.putInput(inputInfo(5, 'News', { volume: [FULL, HALF] }));
  state.putInput(inputInfo(6, 'Pass', { hasVolume: false }));
  return state;
}

const SERVER = { kind: 'server' } as const;
const output = (ref: string) => ({ kind: 'output', ref }) as const;
const client = (ref: string) => ({ kind: 'client', ref }) as const;
const LIVING = output('living');
const NEWS = client('News');
const PASS = client('Pass');

type Planned = Omit<Extract<SettingPlan, { kind: 'set' }>, 'kind'>;
type Place = { readonly of: 'sink' | 'input'; readonly index: number };

const sink = (index: number): Place => ({ of: 'sink', index });
const input = (index: number): Place => ({ of: 'input', index });

const setMute = (after: Place, muted: boolean): Planned => {
  const command = after.of === 'sink' ? 'SET_SINK_MUTE' : 'SET_SINK_INPUT_MUTE';
  return { setting: { command, args: { index: after.index, muted } }, after };
};
const setVolume = (after: Place, ...volume: number[]): Planned => {
  const command = after.of === 'sink' ? 'SET_SINK_VOLUME' : 'SET_SINK_INPUT_VOLUME';
  return { setting: { command, args: { index: after.index, volume } }, after };
};
const setBalance = (index: number, balance: number[], ...volume: number[]): Planned => {
  return { ...setVolume(sink(index), ...volume), remember: { sink: index, balance } };
};
const TO_LIVING: Planned = {
  setting: { command: 'SET_DEFAULT_SINK', args: { name: 'living' } },
  after: { of: 'server' },
};
const MOVED: Planned = {
  setting: { command: 'MOVE_SINK_INPUT', args: { index: 5, sink: 1 } },
  after: input(5),
};
const PORT: Planned = {
  setting: { command: 'SET_SINK_PORT', args: { index: 2, port: 'headphones' } },
  after: sink(2),
};

describe('the request of a command', () => {
  const rows: readonly (readonly [what: string, command: SoundCommand, plan: Planned])[] = [
    ['toggle an output', { do: 'mute', target: LIVING }, setMute(sink(0), false)],
    ['mute an output', { do: 'mute', target: LIVING, muted: true }, setMute(sink(0), true)],
    ['toggle a client', { do: 'mute', target: NEWS }, setMute(input(5), true)],
    ['unmute a client', { do: 'mute', target: client('5'), muted: false }, setMute(input(5), false)],
    ['mute a client without volume', { do: 'mute', target: PASS }, setMute(input(6), true)],
    ['toggle the default output', { do: 'mute', target: SERVER }, setMute(sink(1), true)],
    ['default volume', { do: 'volume', target: SERVER, volume: 0.5 }, setVolume(sink(1), HALF, HALF / 2)],
    ['output volume', { do: 'volume', target: output('0'), volume: 0.5 }, setVolume(sink(0), HALF, HALF)],
    ['volume of a client', { do: 'volume', target: NEWS, volume: 0 }, setVolume(input(5), 0, 0)],
    ['a volume above 1 is 1', { do: 'volume', target: NEWS, volume: 7 }, setVolume(input(5), FULL, HALF)],
    ['step of an output', { do: 'delta', target: LIVING, delta: -0.5 }, setVolume(sink(0), HALF, HALF)],
    ['step of a client', { do: 'delta', target: NEWS, delta: -0.5 }, setVolume(input(5), HALF, HALF / 2)],
    ['default output by id', { do: 'default', output: '0' }, TO_LIVING],
    ['default output by name', { do: 'default', output: 'living' }, TO_LIVING],
    ['move by names', { do: 'move', client: 'News', output: 'kitchen' }, MOVED],
    ['move by ids', { do: 'move', client: '5', output: '1' }, MOVED],
    ['a port of an output', { do: 'port', output: 'desk', port: 'headphones' }, PORT],
    [
      'a balance, at the volume of the loudest channel',
      { do: 'balance', output: 'kitchen', balance: 0.25 },
      setBalance(1, [0.75, 1], (FULL * 3) / 4, FULL),
    ],
    ['a balance of silence', { do: 'balance', output: '2', balance: -1 }, setBalance(2, [1, 0], 0, 0)],
  ];
  for (const [what, command, plan] of rows) {
    test(what, () => assert.deepEqual(planCommand(filled(), command), { kind: 'set', ...plan }));
  }

  test('a balance wakes its output first, as a volume does', () => {
    assert.equal(sinkOf(filled(), { do: 'balance', output: 'kitchen', balance: 0 }), 1);
    assert.equal(sinkOf(filled(), { do: 'port', output: 'kitchen', port: 'speaker' }), undefined);
  });
});

describe('a command is refused', () => {
  const rows: readonly (readonly [what: string, command: SoundCommand, fault: FaultCode])[] = [
    ['that names an unknown output', { do: 'mute', target: output('garden') }, 'no-such-output'],
    ['that names an unknown client', { do: 'mute', target: client('Weather') }, 'no-such-client'],
    ['that makes an unknown output the default', { do: 'default', output: 'garden' }, 'no-such-output'],
    ['that moves an unknown client', { do: 'move', client: 'Weather', output: 'garden' }, 'no-such-client'],
    ['that moves to an unknown output', { do: 'move', client: 'News', output: 'garden' }, 'no-such-output'],
    ['that sets a volume where there is none', { do: 'volume', target: PASS, volume: 0.5 }, 'no-volume'],
    ['that steps where there is no volume', { do: 'delta', target: PASS, delta: 0 }, 'no-volume'],
    [
      'that sets a port of an unknown output',
      { do: 'port', output: 'garden', port: 'speaker' },
      'no-such-output',
    ],
    ['that sets an unknown port', { do: 'port', output: 'desk', port: 'hdmi' }, 'no-such-port'],
    ['that sets a port of an output without ports', { do: 'port', output: '0', port: 'speaker' }, 'no-ports'],
    [
      'that sets the balance of an unknown output',
      { do: 'balance', output: '9', balance: 0 },
      'no-such-output',
    ],
    ['that sets the balance of one channel', { do: 'balance', output: 'mono', balance: 0 }, 'not-stereo'],
    [
      'that sets the balance of three channels',
      { do: 'balance', output: 'cinema', balance: 0 },
      'not-stereo',
    ],
  ];
  const faultOf = (plan: SettingPlan) => (plan.kind === 'fault' ? plan.fault.fault : plan.kind);
  for (const [what, command, fault] of rows) {
    test(what, () => assert.equal(faultOf(planCommand(filled(), command)), fault));
  }

  test('where the server has no default output', () => {
    const state = filled();
    state.putServer(serverInfo({ defaultSink: '@DEFAULT_SINK@' }));
    assert.equal(faultOf(planCommand(state, { do: 'mute', target: SERVER })), 'no-such-output');
  });
});

describe('where the volume of kitchen is limited to 0.5', () => {
  const limited = (volume: number[]): SoundState => {
    const state = new SoundState({ volumeLimit: { kitchen: 0.5 }, outputs: {} });
    state.putServer(serverInfo({ defaultSink: 'kitchen' }));
    state.putSink(sinkInfo(0, 'living'));
    state.putSink(sinkInfo(1, 'kitchen', { volume }));
    return state;
  };
  const QUARTER = FULL / 4;
  const NOTHING: SettingPlan = { kind: 'nothing' };
  const refused: SettingPlan = {
    kind: 'fault',
    fault: { fault: 'bad-value', detail: "Field volume must be at most 0.5, the output's volume_limit" },
  };
  const to = (...volume: number[]): SettingPlan => ({ kind: 'set', ...setVolume(sink(1), ...volume) });
  const rows: readonly (readonly [what: string, from: number, command: SoundCommand, plan: SettingPlan])[] = [
    [
      'a volume above the limit is refused',
      0,
      { do: 'volume', target: output('kitchen'), volume: 0.51 },
      refused,
    ],
    [
      'a volume of the default output above the limit is refused',
      0,
      { do: 'volume', target: SERVER, volume: 1 },
      refused,
    ],
    ['a volume at the limit is set', 0, { do: 'volume', target: SERVER, volume: 0.5 }, to(HALF, HALF)],
    ['a step ends at the limit', QUARTER, { do: 'delta', target: SERVER, delta: 0.4 }, to(HALF, HALF)],
    [
      'a step upwards from the limit changes nothing',
      HALF,
      { do: 'delta', target: SERVER, delta: 0.1 },
      NOTHING,
    ],
    [
      'a step upwards from above the limit changes nothing',
      FULL,
      { do: 'delta', target: SERVER, delta: 0.1 },
      NOTHING,
    ],
    [
      'a step downwards from above the limit ends there',
      FULL,
      { do: 'delta', target: SERVER, delta: -0.1 },
      to(HALF, HALF),
    ],
    [
      'a balance above the limit ends there, too',
      FULL,
      { do: 'balance', output: 'kitchen', balance: 0 },
      { kind: 'set', ...setBalance(1, [1, 1], HALF, HALF) },
    ],
    [
      'another output has no limit',
      0,
      { do: 'volume', target: LIVING, volume: 1 },
      { kind: 'set', ...setVolume(sink(0), FULL, FULL) },
    ],
  ];
  for (const [what, from, command, plan] of rows) {
    test(what, () => assert.deepEqual(planCommand(limited([from, from]), command), plan));
  }
});

test('a step that changes nothing sends no request', () => {
  const command: SoundCommand = { do: 'delta', target: output('kitchen'), delta: 0.2 };
  assert.deepEqual(planCommand(filled(), command), { kind: 'nothing' });
});

describe('setting a volume', () => {
  const rows: readonly (readonly [string, number, number[], number[] | undefined, number[]])[] = [
    ['sets the loudest channel', 0.5, [FULL, FULL], undefined, [HALF, HALF]],
    ['keeps the balance', 0.5, [FULL, HALF], undefined, [HALF, HALF / 2]],
    ['keeps the balance upwards too', 1, [HALF, HALF / 2], undefined, [FULL, HALF]],
    ['to 0 silences all channels', 0, [FULL, HALF], undefined, [0, 0]],
    ['from silence restores the remembered balance', 0.5, [0, 0], [1, 0.5], [HALF, HALF / 2]],
    [
      'from silence without a remembered balance sets all channels alike',
      0.5,
      [0, 0],
      undefined,
      [HALF, HALF],
    ],
    ['sets the one channel of a mono output', 0.25, [FULL], undefined, [FULL / 4]],
    ['ignores a remembered balance with another number of channels', 0.5, [0], [1, 0.5], [HALF]],
    ['keeps the present balance rather than the remembered one', 1, [HALF, HALF], [1, 0.5], [FULL, FULL]],
    ['works down from above 100 %', 1, [2 * FULL, FULL], undefined, [FULL, HALF]],
    ['works down from above 100 %, rounded', 1, [3 * HALF, FULL], undefined, [FULL, 43691]],
    ['works to above 100 %', 2, [FULL], undefined, [2 * FULL]],
    ['to 0 from silence changes nothing', 0, [0, 0], [1, 0.5], [0, 0]],
    ['ignores a remembered balance of fewer channels', 0.5, [0, 0], [1], [HALF, HALF]],
    ['keeps a silent channel silent', 0.5, [FULL, 0], undefined, [HALF, 0]],
    ['goes no higher than servers accept', 1e9, [RAW_MAX, 1], undefined, [RAW_MAX, 1]],
    ['does nothing without channels', 0.5, [], undefined, []],
  ];
  for (const [what, volume, channels, remembered, expected] of rows) {
    test(what, () => assert.deepEqual(channelsAt(volume, channels, remembered), expected));
  }
});

test('the balance survives silence and the quietest volumes', () => {
  let channels = [FULL, rawOf(0.37)];
  let memory = rememberBalance(undefined, channels);
  for (const volume of [0.01, 0.00002, 0, 0.003, 0, 1]) {
    channels = channelsAt(volume, channels, memory);
    memory = rememberBalance(memory, channels);
  }
  assert.deepEqual(channels, [FULL, rawOf(0.37)]);
});

test('a balance that is set behind our back replaces the remembered one', () => {
  const memory = rememberBalance([1, 0.5], [HALF, HALF]);
  assert.deepEqual(rememberBalance(memory, [0, 0]), [1, 1]);
});

describe('a relative change', () => {
  const rows: readonly (readonly [string, number, number, number | undefined])[] = [
    ['goes up', 0.1, 0.5, 0.6],
    ['goes down', -0.1, 0.5, 0.4],
    ['ends at 1', 0.3, 0.9, 1],
    ['ends at 0', -0.3, 0.1, 0],
    ['upwards from 1 changes nothing', 0.1, 1, undefined],
    ['upwards from above 1 changes nothing', 0.1, 1.5, undefined],
    ['downwards from above 1 ends within 0..1', -0.1, 1.5, 1],
    ['downwards from above 1 by enough goes below', -0.7, 1.5, 0.8],
    ['by 0 changes nothing', 0, 0.5, undefined],
    ['by 0 from above 1 changes nothing', 0, 1.5, undefined],
  ];
  for (const [what, delta, from, expected] of rows) {
    test(what, () => {
      const result = volumeAfter(delta, [rawOf(from), 0]);
      assert.equal(result === undefined ? undefined : levelOf([rawOf(result)]), expected);
    });
  }

  test('adds up exactly over many steps', () => {
    let channels = [0, 0];
    for (let step = 1; step <= 100; step += 1) {
      channels = channelsAt(volumeAfter(0.01, channels) ?? 1, channels, undefined);
      assert.equal(levelOf(channels), step / 100);
      assert.equal(channels[0], rawOf(step / 100));
    }
  });
});
