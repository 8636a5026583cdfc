// Tests the plan for a command: a request to the sound server, a fault, or nothing. The last tests check how
// volumes are computed: to and from volume 0, above 100 %, and by steps.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deviceChangedBy, planCommand } from '../../../src/actors/audio/commands.js';
import {
  channelVolumes,
  type SettingPlan,
  type SoundCommand,
  volumeAfterStep,
} from '../../../src/actors/audio/setting-plan.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { FaultCode } from '../../../src/protocol/actor/faults.js';
import {
  loudestFractionOf,
  RAW_MAX,
  RAW_NORM,
  rawOf,
  rememberChannelParts,
} from '../../../src/protocol/pulse/volume.js';
import { serverInfo, sinkInfo, sinkInputInfo } from './sound-records.js';

const FULL = RAW_NORM;
const HALF = RAW_NORM / 2;

/** PA_ENCODING_AC3_IEC61937 of PulseAudio. */
const AC3_ENCODING = 2;

const PORT = { description: '', priority: 0, available: 0, availabilityGroup: undefined, type: 0 };

function stateWithSound(): SoundState {
  const state = new SoundState();
  state.putServer(serverInfo({ defaultSink: 'kitchen' }));
  state.putSink(sinkInfo(0, 'living', { muted: true }));
  state.putSink(sinkInfo(1, 'kitchen', { volume: [FULL, HALF] }));
  state.putSink(sinkInfo(2, 'desk', { ports: [{ ...PORT, name: 'speaker' }], volume: [0, 0] }));
  state.putSink(sinkInfo(3, 'mono', { channelMap: [0], volume: [FULL] }));
  state.putSinkInput(sinkInputInfo(5, 'News', { volume: [FULL, HALF] }));
  state.putSinkInput(sinkInputInfo(6, 'Pass', { hasVolume: false, sink: 3 }));
  state.putSink(sinkInfo(4, 'cinema'));
  state.putSinkInput(sinkInputInfo(7, 'Film', { sink: 4, format: { encoding: AC3_ENCODING, props: {} } }));
  state.putSinkInput(sinkInputInfo(8, 'Filter', { volumeWritable: false, sink: 1 }));
  state.putSink(sinkInfo(10, 'twin'));
  state.putSink(sinkInfo(11, 'twin'));
  return state;
}

const SERVER = { kind: 'server' } as const;
const output = (ref: string) => ({ kind: 'output', ref }) as const;
const client = (ref: string) => ({ kind: 'client', ref }) as const;

type VolumeRequest = 'SET_SINK_VOLUME' | 'SET_SINK_INPUT_VOLUME';

/**
 * The plan that sets the raw volume of each channel. `balance` is the balance that the plan remembers, if
 * any: the volume of each channel, divided by the volume of the loudest channel.
 */
const volumePlan = (
  command: VolumeRequest,
  index: number,
  rawVolumes: number[],
  balance?: number[],
): SettingPlan => ({
  kind: 'set',
  setting: { command, args: { index, volume: rawVolumes } },
  changed: { kind: command === 'SET_SINK_VOLUME' ? 'sink' : 'sink-input', index },
  ...(balance && { balance }),
});

test('a volume step of a client keeps the balance', () => {
  const plan = planCommand(stateWithSound(), { do: 'delta', target: client('News'), delta: -0.5 });
  assert.deepEqual(plan, volumePlan('SET_SINK_INPUT_VOLUME', 5, [HALF, HALF / 2]));
});

test('a balance that is set at volume 0 is remembered', () => {
  const plan = planCommand(stateWithSound(), { do: 'balance', output: '2', balance: -1 });
  assert.deepEqual(plan, volumePlan('SET_SINK_VOLUME', 2, [0, 0], [1, 0]));
});

test('a command that sets a balance must wake its output first, but a command that sets a port need not', () => {
  // The executor wakes the device that `deviceChangedBy` returns.
  const kitchen = { kind: 'sink', index: 1 };
  assert.deepEqual(
    deviceChangedBy(stateWithSound(), { do: 'balance', output: 'kitchen', balance: 0 }),
    kitchen,
  );
  assert.equal(
    deviceChangedBy(stateWithSound(), { do: 'port', output: 'kitchen', port: 'speaker' }),
    undefined,
  );
});

describe('refused commands', () => {
  const rows: readonly (readonly [what: string, command: SoundCommand, fault: FaultCode])[] = [
    ['that moves an unknown client', { do: 'move', client: 'Weather', output: 'garden' }, 'no-such-client'],
    [
      'that moves a client to an unknown output',
      { do: 'move', client: 'News', output: 'garden' },
      'no-such-output',
    ],
    [
      'that makes a volume step for a stream without a volume',
      { do: 'delta', target: client('Pass'), delta: 0 },
      'no-volume',
    ],
    [
      'that sets the volume of an encoded stream',
      { do: 'volume', target: client('Film'), volume: 1 },
      'no-volume',
    ],
    [
      'that sets the volume of a stream whose volume is not writable',
      { do: 'volume', target: client('Filter'), volume: 1 },
      'no-volume',
    ],
    [
      'that sets the volume of an output that plays AC-3',
      { do: 'volume', target: output('cinema'), volume: 1 },
      'no-volume',
    ],
    [
      'that makes a volume step of 0 for an output that plays AC-3',
      { do: 'delta', target: output('cinema'), delta: 0 },
      'no-volume',
    ],
    [
      'that sets the balance of an output that plays AC-3',
      { do: 'balance', output: 'cinema', balance: 0 },
      'no-volume',
    ],
    [
      'that sets as default one of two outputs with the same name',
      { do: 'default', output: '11' },
      'same-name',
    ],
    ['that sets an unknown port', { do: 'port', output: 'desk', port: 'hdmi' }, 'no-such-port'],
    [
      'that sets the balance of an output with one channel',
      { do: 'balance', output: 'mono', balance: 0 },
      'not-stereo',
    ],
  ];
  const faultOf = (plan: SettingPlan) => (plan.kind === 'fault' ? plan.fault.fault : plan.kind);
  for (const [what, command, fault] of rows) {
    test(`a command ${what} is refused`, () => {
      assert.equal(faultOf(planCommand(stateWithSound(), command)), fault);
    });
  }
});

test('a mute is accepted for an output that plays AC-3, and for each of two outputs with the same name', () => {
  const rows: readonly (readonly [ref: string, index: number])[] = [
    ['cinema', 4],
    ['11', 11],
    // The name stands for the first of the two outputs.
    ['twin', 10],
  ];
  for (const [ref, index] of rows) {
    const plan = planCommand(stateWithSound(), { do: 'mute', target: output(ref), muted: true });
    const setting = { command: 'SET_SINK_MUTE', args: { index, muted: true } };
    assert.deepEqual(plan, { kind: 'set', setting, changed: { kind: 'sink', index } });
  }
});

test('a refusal that a record causes names this record, so that the record is read again', () => {
  const reasonOf = (command: SoundCommand) => {
    const plan = planCommand(stateWithSound(), command);
    return plan.kind === 'fault' ? plan.reason : assert.fail('it is not refused');
  };
  const volumeUnderAc3: SoundCommand = { do: 'volume', target: output('cinema'), volume: 1 };
  assert.deepEqual(reasonOf(volumeUnderAc3), { kind: 'sink-input', index: 7 });
  assert.deepEqual(reasonOf({ do: 'port', output: 'desk', port: 'hdmi' }), { kind: 'sink', index: 2 });
  // The output 10 is refused only because the output 11 has the same name.
  assert.deepEqual(reasonOf({ do: 'default', output: '10' }), { kind: 'sink', index: 11 });
  assert.equal(reasonOf({ do: 'default', output: 'garden' }), undefined);
});

describe('where the volume of kitchen is limited to 0.5', () => {
  const stateWithKitchenAt = (raw: number): SoundState => {
    const state = new SoundState({ volumeLimit: { kitchen: 0.5 }, outputs: {} });
    state.putServer(serverInfo({ defaultSink: 'kitchen' }));
    state.putSink(sinkInfo(1, 'kitchen', { volume: [raw, raw] }));
    return state;
  };
  const ABOVE_LIMIT = "Field volume must be at most 0.5, the output's volume_limit";
  const step = (delta: number): SoundCommand => ({ do: 'delta', target: SERVER, delta });
  const volume = (level: number): SoundCommand => ({ do: 'volume', target: SERVER, volume: level });
  const centred: SoundCommand = { do: 'balance', output: 'kitchen', balance: 0 };
  const planAtLimit = (balance?: number[]) => volumePlan('SET_SINK_VOLUME', 1, [HALF, HALF], balance);
  const refused: SettingPlan = { kind: 'fault', fault: { fault: 'bad-value', detail: ABOVE_LIMIT } };
  const rows: readonly (readonly [
    what: string,
    rawBefore: number,
    command: SoundCommand,
    plan: SettingPlan,
  ])[] = [
    ['a step ends at the limit', FULL / 4, step(0.4), planAtLimit()],
    ['a step upwards from the limit changes nothing', HALF, step(0.1), { kind: 'nothing' }],
    ['a volume at the limit is set', FULL, volume(0.5), planAtLimit()],
    ['a volume above the limit is refused', HALF, volume(0.51), refused],
    ['a balance command lowers a volume above the limit to the limit', FULL, centred, planAtLimit([1, 1])],
  ];
  for (const [what, rawBefore, command, plan] of rows) {
    test(what, () => assert.deepEqual(planCommand(stateWithKitchenAt(rawBefore), command), plan));
  }
});

test('a volume step upwards at full volume sends no request', () => {
  const command: SoundCommand = { do: 'delta', target: output('kitchen'), delta: 0.2 };
  assert.deepEqual(planCommand(stateWithSound(), command), { kind: 'nothing' });
});

describe('setting a volume', () => {
  const rows: readonly (readonly [
    what: string,
    volume: number,
    channelsBefore: number[],
    rememberedBalance: number[] | undefined,
    expected: number[],
  ])[] = [
    ['to 0 silences all channels', 0, [FULL, HALF], undefined, [0, 0]],
    ['from silence restores the remembered balance', 0.5, [0, 0], [1, 0.5], [HALF, HALF / 2]],
    ['sets the one channel of a mono output', 0.25, [FULL], undefined, [FULL / 4]],
    ['keeps the present balance rather than the remembered one', 1, [HALF, HALF], [1, 0.5], [FULL, FULL]],
    [
      'from above 100 % keeps the balance, and rounds the raw volumes',
      1,
      [3 * HALF, FULL],
      undefined,
      [FULL, Math.round((FULL * 2) / 3)],
    ],
    ['to 200 % is possible', 2, [FULL], undefined, [2 * FULL]],
    ['ignores a remembered balance of fewer channels', 0.5, [0, 0], [1], [HALF, HALF]],
    ['goes no higher than servers accept', 1e9, [RAW_MAX, 1], undefined, [RAW_MAX, 1]],
    ['does nothing without channels', 0.5, [], undefined, []],
  ];
  for (const [what, volume, channelsBefore, rememberedBalance, expected] of rows) {
    test(what, () => assert.deepEqual(channelVolumes(volume, channelsBefore, rememberedBalance), expected));
  }
});

test('the balance is kept through volume 0 and the lowest volumes', () => {
  let channels = [FULL, rawOf(0.37)];
  let rememberedParts = rememberChannelParts(undefined, channels);
  // The fraction 0.00002 gives the raw volume 1, the lowest one above silence.
  for (const volume of [0.01, 0.00002, 0, 0.003, 0, 1]) {
    channels = channelVolumes(volume, channels, rememberedParts);
    rememberedParts = rememberChannelParts(rememberedParts, channels);
  }
  assert.deepEqual(channels, [FULL, rawOf(0.37)]);
});

test('a balance that another program sets replaces the remembered balance', () => {
  const rememberedParts = rememberChannelParts([1, 0.5], [HALF, HALF]);
  // Silent channels have no balance, so the result is the remembered balance.
  assert.deepEqual(rememberChannelParts(rememberedParts, [0, 0]), [1, 1]);
});

describe('a volume step', () => {
  const rows: readonly (readonly [
    what: string,
    delta: number,
    from: number,
    expected: number | undefined,
  ])[] = [
    ['upwards from above 1 changes nothing', 0.1, 1.5, undefined],
    ['downwards from above 1 ends within 0..1', -0.1, 1.5, 1],
    ['downwards by a larger delta from above 1 goes further down', -0.7, 1.5, 0.8],
    ['by 0 from above 1 changes nothing', 0, 1.5, undefined],
  ];
  for (const [what, delta, from, expected] of rows) {
    test(what, () => {
      const volume = volumeAfterStep(delta, [rawOf(from), 0]);
      const rounded = volume === undefined ? undefined : loudestFractionOf([rawOf(volume)]);
      assert.equal(rounded, expected);
    });
  }

  test('adds up exactly when it is repeated many times', () => {
    let channels = [0, 0];
    for (let step = 1; step <= 100; step += 1) {
      const volume = volumeAfterStep(0.01, channels) ?? assert.fail(`step ${step} changes nothing`);
      channels = channelVolumes(volume, channels, undefined);
      assert.equal(loudestFractionOf(channels), step / 100);
      assert.equal(channels[0], rawOf(step / 100));
    }
  });
});
