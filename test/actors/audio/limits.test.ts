// Tests that nothing bypasses the volume limit of an output: no filter that plays to it, no passthrough
// stream, no other stream if the output has flat volumes, and no volume that the server restores by itself.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planCommand } from '../../../src/actors/audio/commands.js';
import { LimitGuard } from '../../../src/actors/audio/limit-guard.js';
import type { Setting, SoundCommand } from '../../../src/actors/audio/setting-plan.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { SinkInfo } from '../../../src/protocol/pulse/records.js';
import { RAW_NORM } from '../../../src/protocol/pulse/volume.js';
import { serverInfo, sinkInfo, sinkInputInfo } from './sound-records.js';

const FULL = [RAW_NORM, RAW_NORM];
const HALF = [RAW_NORM / 2, RAW_NORM / 2];
/** The flag of a sink whose volume follows its loudest stream. */
const FLAT = 0x40;

/** The indices of the sinks, and of the stream `Talk`. */
const CARD_SINK = 0;
const ECHO = 1;
const UPPER = 2;
const QUIET = 3;
const LOUD = 4;
const FREE = 5;
const TALK = 22;

/** The index of the sound card whose sink is `card`. */
const SOUND_CARD = 9;
/** Each filter is made by a module of its own. */
const moduleOfFilter = (filterSink: number): number => 100 + filterSink;

const filter = (index: number, name: string, master: string, fields: Partial<SinkInfo> = {}): SinkInfo =>
  sinkInfo(index, name, {
    props: { 'device.master_device': master },
    ownerModule: moduleOfFilter(index),
    ...fields,
  });

/**
 * Outputs, filters and streams. The filter `upper` plays to the filter `echo`. The filters `echo` and `quiet`
 * play to `card`. The configured limit of `card` is 0.5, and that of `quiet` is 0.2. The other outputs have
 * no configured limit. Only `card` and `free` have flat volumes.
 */
function stateWithFilters(): SoundState {
  const state = new SoundState({ volumeLimit: { card: 0.5, quiet: 0.2 }, outputs: {} });
  state.putServer(serverInfo({ defaultSink: 'card' }));
  state.putSink(sinkInfo(CARD_SINK, 'card', { volume: HALF, flags: FLAT, card: SOUND_CARD }));
  state.putSink(filter(ECHO, 'echo', 'card', { volume: HALF }));
  state.putSink(filter(UPPER, 'upper', 'echo', { volume: HALF }));
  state.putSink(filter(QUIET, 'quiet', 'card', { volume: [0, 0] }));
  state.putSink(sinkInfo(LOUD, 'loud', { volume: FULL }));
  state.putSink(sinkInfo(FREE, 'free', { volume: HALF, flags: FLAT }));
  state.putSinkInput(sinkInputInfo(20, 'News', { sink: CARD_SINK, volume: HALF }));
  state.putSinkInput(sinkInputInfo(21, 'Music', { sink: ECHO, volume: HALF }));
  state.putSinkInput(sinkInputInfo(TALK, 'Talk', { sink: LOUD, volume: HALF }));
  return state;
}

const limitOf = (state: SoundState, sink: number): number | undefined =>
  state.limits.ofSink(state.sinks.get(sink)?.info ?? assert.fail());

test('a limit is rounded down to whole hundredths', () => {
  const rows: readonly (readonly [volumeLimit: number, expected: number])[] = [
    [0.505, 0.5],
    [0.57, 0.57],
    [0.009, 0],
    [1, 1],
  ];
  for (const [volumeLimit, expected] of rows) {
    const state = new SoundState({ volumeLimit, outputs: {} });
    state.putSink(sinkInfo(CARD_SINK, 'card'));
    assert.equal(limitOf(state, CARD_SINK), expected);
  }
});

describe('a filter', () => {
  test('has the lowest limit of itself, its master, the master of its master, and so on', () => {
    const state = stateWithFilters();
    assert.deepEqual(
      [CARD_SINK, ECHO, UPPER, QUIET, LOUD].map((sink) => limitOf(state, sink)),
      [0.5, 0.5, 0.5, 0.2, undefined],
    );
  });

  test('has no limit if its masters form a circle, or if its master is missing', () => {
    const state = stateWithFilters();
    const ONE = 6;
    const OTHER = 7;
    const OWN_MASTER = 8;
    const WITHOUT_MASTER = 9;
    state.putSink(filter(ONE, 'one', 'other'));
    state.putSink(filter(OTHER, 'other', 'one'));
    state.putSink(filter(OWN_MASTER, 'itself', 'itself'));
    state.putSink(filter(WITHOUT_MASTER, 'lost', 'gone'));

    assert.equal(limitOf(state, ONE), undefined);
    assert.equal(limitOf(state, OWN_MASTER), undefined);
    assert.equal(limitOf(state, WITHOUT_MASTER), undefined);
  });

  test('has the limit of the output to which its own stream was moved, and is marked as changed', () => {
    const state = stateWithFilters();
    const echoStream = { ownerModule: moduleOfFilter(ECHO), client: undefined };
    state.putSinkInput(sinkInputInfo(30, 'Echo stream', { ...echoStream, sink: CARD_SINK }));
    // `echo` plays by this stream. `upper` plays to `echo`, so the limit of `upper` depends on the stream.
    assert.equal(limitOf(state, UPPER), 0.5);
    state.takeChanged();

    state.putSinkInput(sinkInputInfo(30, 'Echo stream', { ...echoStream, sink: FREE }));

    // `free` has no limit.
    assert.equal(limitOf(state, UPPER), undefined);
    // The stream may belong to any filter, so state.ts marks all filters as changed. The publisher updates
    // the outputs if `haveServerOrSinksChanged` is true.
    const { sinks, haveServerOrSinksChanged } = state.takeChanged();
    assert.deepEqual([sinks, haveServerOrSinksChanged], [[ECHO, UPPER, QUIET], true]);
  });
});

describe('a command for a stream', () => {
  /** The volume that the command sets, or the kind of its plan if the plan sets no volume. */
  const plannedVolume = (command: SoundCommand, state = stateWithFilters()) => {
    const plan = planCommand(state, command);
    return plan.kind === 'set' && 'volume' in plan.setting.args ? plan.setting.args.volume : plan.kind;
  };
  const stream = (ref: string) => ({ kind: 'client', ref }) as const;

  test('raises the stream no higher than the limit of its output if this output has flat volumes, even if the stream plays through a filter', () => {
    assert.deepEqual(plannedVolume({ do: 'volume', target: stream('News'), volume: 1 }), HALF);
    assert.deepEqual(plannedVolume({ do: 'volume', target: stream('Music'), volume: 0.9 }), HALF);
    // The volume of `News` is at the limit already.
    assert.equal(plannedVolume({ do: 'delta', target: stream('News'), delta: 0.1 }), 'nothing');
  });

  test('has no limit if the output of the stream has no limit', () => {
    const state = stateWithFilters();
    state.putSinkInput(sinkInputInfo(TALK, 'Talk', { sink: FREE, volume: HALF }));
    assert.deepEqual(plannedVolume({ do: 'volume', target: stream('Talk'), volume: 1 }, state), FULL);
  });

  test('has no limit if the output of the stream has a limit, but no flat volumes', () => {
    const state = stateWithFilters();
    state.putSink(sinkInfo(CARD_SINK, 'card', { volume: HALF, flags: 0, card: SOUND_CARD }));
    assert.deepEqual(plannedVolume({ do: 'volume', target: stream('News'), volume: 1 }, state), FULL);
  });

  test('is refused if it moves a passthrough stream to an output with a limit: such a stream sets its output to 100 %', () => {
    const state = stateWithFilters();
    state.putSinkInput(sinkInputInfo(23, 'Film', { sink: LOUD, hasVolume: false }));
    const planMove = (output: string) => planCommand(state, { do: 'move', client: 'Film', output });
    assert.equal(planMove('card').kind, 'fault');
    assert.equal(planMove('free').kind, 'set');
  });
});

describe('an output whose volume is above its limit after a command', () => {
  const PORT: Setting = { command: 'SET_SINK_PORT', args: { index: CARD_SINK, port: 'line' } };
  const PROFILE: Setting = { command: 'SET_CARD_PROFILE', args: { index: SOUND_CARD, profile: 'stereo' } };
  // `echo` plays to `card`, so this move may raise the volume of `card`.
  const MOVE: Setting = { command: 'MOVE_SINK_INPUT', args: { index: TALK, sink: ECHO } };
  const UNMUTE: Setting = { command: 'SET_SINK_MUTE', args: { index: CARD_SINK, muted: false } };
  const raiseToFull = (state: SoundState): void =>
    state.putSink(sinkInfo(CARD_SINK, 'card', { volume: FULL, flags: FLAT, card: SOUND_CARD }));
  const SUCCEEDED = true;
  const FAILED = false;
  /** Always returns the same time. */
  const stoppedClock = () => 1;
  /** Reports the start and the end of a command to the guard. */
  const carryOut = (guard: LimitGuard, setting: Setting, hasSucceeded = SUCCEEDED): void => {
    const reportEnd = guard.watch(setting);
    reportEnd(hasSucceeded);
  };
  /** The indices of the sinks to set back now. */
  const takeIndices = (guard: LimitGuard): number[] => guard.takeSinks().map(({ index }) => index);

  // After the switch of a port or profile, the server may restore a volume for longer than after a move.
  for (const [setting, seconds] of [
    [PORT, 5],
    [PROFILE, 5],
    [MOVE, 1],
  ] as const) {
    test(`is set back until ${seconds} s after ${setting.command}, with one request at a time`, () => {
      const state = stateWithFilters();
      let now = 0;
      const guard = new LimitGuard(state, () => now);
      const reportEnd = guard.watch(setting);
      assert.deepEqual(takeIndices(guard), []);
      raiseToFull(state);
      assert.deepEqual(takeIndices(guard), [CARD_SINK]);
      assert.deepEqual(takeIndices(guard), [], 'the output is being set back already');
      guard.settle(CARD_SINK);
      reportEnd(SUCCEEDED);

      now = seconds * 1_000;
      assert.deepEqual(takeIndices(guard), [CARD_SINK], 'the server has restored the volume once more');
      guard.settle(CARD_SINK);

      now = seconds * 1_000 + 1;
      assert.deepEqual(takeIndices(guard), [], 'later the volume counts as set by another program');
    });
  }

  test('is not set back after a command that unmutes it, nor after a failed switch of its port', () => {
    const state = stateWithFilters();
    const guard = new LimitGuard(state, stoppedClock);
    carryOut(guard, UNMUTE);
    carryOut(guard, PORT, FAILED);
    raiseToFull(state);
    assert.deepEqual(guard.takeSinks(), []);
  });

  test('is set back after a switch of its port, but not after the move of a stream, if its volume was above the limit before the command, too', () => {
    const state = stateWithFilters();
    raiseToFull(state);
    const guard = new LimitGuard(state, stoppedClock);
    carryOut(guard, MOVE);
    assert.deepEqual(guard.takeSinks(), []);
    carryOut(guard, PORT);
    assert.equal(guard.takeSinks().length, 1);
  });

  test('is set back several times, and then left alone, if its volume never gets down to the limit', () => {
    const state = stateWithFilters();
    const guard = new LimitGuard(state, stoppedClock);
    carryOut(guard, PORT);
    raiseToFull(state);
    let times = 0;
    while (guard.takeSinks().length > 0) {
      guard.settle(CARD_SINK);
      times += 1;
      assert.ok(times < 100, 'it is set back without end');
    }
    assert.ok(times > 1, `it is set back ${times} times`);
  });

  test('is set back after a command that was under way while many other commands began and ended', () => {
    const state = stateWithFilters();
    const guard = new LimitGuard(state, stoppedClock);
    /** More commands than the guard remembers (`WATCHES_MAX` of limit-guard.ts). */
    const OTHER_COMMANDS = 100;

    const reportEnd = guard.watch(PORT);
    for (let count = 0; count < OTHER_COMMANDS; count += 1)
      carryOut(guard, { command: 'MOVE_SINK_INPUT', args: { index: TALK, sink: FREE } });
    reportEnd(SUCCEEDED);
    raiseToFull(state);
    assert.deepEqual(takeIndices(guard), [CARD_SINK]);
  });

  test('is set to its limit and keeps its balance, and an output at its limit is left alone', () => {
    const state = stateWithFilters();
    const command: SoundCommand = { do: 'keep-limit', output: `${CARD_SINK}` };
    assert.equal(planCommand(state, command).kind, 'nothing');
    state.putSink(sinkInfo(CARD_SINK, 'card', { volume: [RAW_NORM, RAW_NORM / 2] }));
    const setting = {
      command: 'SET_SINK_VOLUME',
      args: { index: CARD_SINK, volume: [RAW_NORM / 2, RAW_NORM / 4] },
    };
    assert.deepEqual(planCommand(state, command), {
      kind: 'set',
      setting,
      changed: { kind: 'sink', index: CARD_SINK },
    });
  });
});

describe('an output that appears after a switch of a profile, and whose volume then rises above its limit', () => {
  const NEW = 30;
  const OTHER_CARD = 8;

  interface SwitchCase {
    /** The time from the reply to the switch until the output appears. */
    readonly appearedAfterMs: number;
    /** The time from the appearance of the output until its volume rises. */
    readonly raisedAfterMs: number;
    /** The card of the output. By default it is the card whose profile is switched. */
    readonly card?: number;
    readonly hasSwitchSucceeded?: boolean;
  }

  /** Returns the indices of the outputs that are set back after the volume has risen. */
  function indicesToSetBack({
    appearedAfterMs,
    raisedAfterMs,
    card = SOUND_CARD,
    hasSwitchSucceeded = true,
  }: SwitchCase): readonly number[] {
    let now = 0;
    const state = new SoundState({ volumeLimit: 0.5, outputs: {} });
    const guard = new LimitGuard(state, () => now);
    // Outputs that are there at the first call of `takeSinks` do not count as new.
    guard.takeSinks();
    const setting: Setting = { command: 'SET_CARD_PROFILE', args: { index: SOUND_CARD, profile: 'hdmi' } };
    const reportEnd = guard.watch(setting);
    reportEnd(hasSwitchSucceeded);
    now = appearedAfterMs;
    state.putSink(sinkInfo(NEW, 'new', { volume: HALF, card }));
    assert.deepEqual(guard.takeSinks(), []);
    now += raisedAfterMs;
    state.putSink(sinkInfo(NEW, 'new', { volume: FULL, card }));
    return guard.takeSinks().map(({ index }) => index);
  }

  test('is set back if it appeared within 30 s after the switch, and its volume rises within 5 s after it appeared', () => {
    assert.deepEqual(indicesToSetBack({ appearedAfterMs: 4_500, raisedAfterMs: 5_000 }), [NEW]);
    assert.deepEqual(indicesToSetBack({ appearedAfterMs: 30_000, raisedAfterMs: 5_000 }), [NEW]);
  });

  test('is not set back if its volume rises more than 5 s after it appeared, because then another program has set the volume', () =>
    assert.deepEqual(indicesToSetBack({ appearedAfterMs: 4_500, raisedAfterMs: 5_001 }), []));

  test('is not set back if it appeared more than 30 s after the switch, if it belongs to another card, or if the switch has failed', () => {
    assert.deepEqual(indicesToSetBack({ appearedAfterMs: 30_001, raisedAfterMs: 500 }), []);
    const inTime = { appearedAfterMs: 4_500, raisedAfterMs: 1_000 };
    assert.deepEqual(indicesToSetBack({ ...inTime, card: OTHER_CARD }), []);
    assert.deepEqual(indicesToSetBack({ ...inTime, hasSwitchSucceeded: false }), []);
  });
});

const BLUETOOTH_FIELDS: Readonly<Record<string, Partial<SinkInfo>>> = {
  'by the property of PulseAudio': { props: { 'device.bus': 'bluetooth' } },
  'by the property of PipeWire': { props: { 'api.bluez5.address': 'AA:BB:CC:DD:EE:FF' } },
  'by its name': { name: 'bluez_sink.AA_BB_CC_DD_EE_FF.a2dp_sink' },
};

describe('an output that appears, and whose volume then rises above its limit', () => {
  const NEW = 1;

  /**
   * A second output appears after the first reading, and its volume rises `raisedAfterMs` later. Returns the
   * indices of the outputs that are then set back. Both outputs have `fields`.
   */
  function indicesToSetBack(fields: Partial<SinkInfo>, raisedAfterMs: number): readonly number[] {
    let now = 0;
    const state = new SoundState({ volumeLimit: 0.5, outputs: {} });
    state.putServer(serverInfo({ defaultSink: 'card' }));
    state.putSink(sinkInfo(CARD_SINK, 'card', { volume: FULL, ...fields }));
    const guard = new LimitGuard(state, () => now);
    assert.deepEqual(
      guard.takeSinks(),
      [],
      'the first output was there before, so another program has set its volume',
    );

    state.putSink(sinkInfo(NEW, 'new', { volume: HALF, ...fields }));
    assert.deepEqual(guard.takeSinks(), []);

    now = raisedAfterMs;
    state.putSink(sinkInfo(NEW, 'new', { volume: FULL, ...fields }));
    return guard.takeSinks().map(({ index }) => index);
  }

  for (const [how, fields] of Object.entries(BLUETOOTH_FIELDS)) {
    test(`is set back if it is known ${how} as a Bluetooth device`, () =>
      assert.deepEqual(indicesToSetBack(fields, 500), [NEW]));
  }

  test('is not set back if its volume rises more than a second after it appeared, because then another program has set the volume', () =>
    assert.deepEqual(indicesToSetBack({ props: { 'device.bus': 'bluetooth' } }, 1_001), []));

  test('is not set back if it is not a Bluetooth device', () =>
    assert.deepEqual(indicesToSetBack({}, 500), []));
});
