// The backend wakes an output that does not report its volume. The capture that wakes the output lasts no
// longer than needed. A scripted server causes each failure on the way. real-servers.test.ts wakes outputs
// of real servers.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { Executor } from '../../../src/actors/audio/executor.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import { TIMING, type Timing } from '../../../src/actors/audio/timing.js';
import { hidesVolume, type OpenLink, Waker } from '../../../src/actors/audio/wake.js';
import type { Link } from '../../../src/actors/dial.js';
import type { AudioCommand } from '../../../src/protocol/actor/commands.js';
import type { ClosedReason } from '../../../src/protocol/pulse/outcome.js';
import type { SinkInfo } from '../../../src/protocol/pulse/records.js';
import { fractionOf, loudestOf, RAW_NORM } from '../../../src/protocol/pulse/volume.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { DEADLINE, startOnScriptedServer } from './backed.js';
import { bytesOf, COMMAND, ERROR, event, type Handler, ordinaryExcept } from './scripted-server.js';
import { serverInfo, sinkInfo } from './sound-records.js';

const PIPEWIRE = 'PulseAudio (on PipeWire 1.4.2)';
/** The states of a sink. */
const RUNNING = 0;
const IDLE = 1;
const SUSPENDED = 2;
const BEING_MADE = 0xfffffffe;

/** Flags of a sink. PA_SINK_HARDWARE (0x4) is among them. */
const HARDWARE_FLAGS = 0xa6;

const OK = { ok: true, value: {} } as const;
const mute = (ref: string): AudioCommand => ({ do: 'mute', target: { kind: 'output', ref }, muted: true });
const MUTE = mute('living');
/** Numbers of the server's connections. A new capture has the latest one. */
const MAIN_CONNECTION = 0;
const LATEST_CONNECTION = -1;
/** Outputs that stay asleep, and how the server answers the capture that should wake them. */
const NEVER_AWAKE: readonly (readonly [what: string, answerCapture: Handler])[] = [
  ['a sleeping output whose capture is never answered', () => undefined],
  [
    'a sleeping output that sleeps on while it is captured',
    ({ tag }, { reply }) => reply(tag, bytesOf.capture()),
  ],
];

describe('a command for a volume', () => {
  type Readings = readonly Partial<SinkInfo>[];
  const rows: readonly (readonly [
    what: string,
    readings: Readings,
    hasToWait: boolean,
    packageName?: string,
  ])[] = [
    ['waits when its output sleeps', [{ state: SUSPENDED }], true],
    ['waits when its output is being made', [{ state: BEING_MADE }], true],
    [
      'waits even when its sleeping output claims to be hardware',
      [{ state: SUSPENDED, flags: HARDWARE_FLAGS }],
      true,
    ],
    ['does not wait when its output plays', [{ state: RUNNING }], false],
    [
      'does not wait when its output has been awake, and sleeps again',
      [{ state: IDLE }, { state: SUSPENDED }],
      false,
    ],
    ['does not wait when its output belongs to a card', [{ state: SUSPENDED, card: 3 }], false],
    ['does not wait on PulseAudio', [{ state: SUSPENDED }], false, 'pulseaudio'],
  ];
  const stateAfter = (readings: Readings, packageName = PIPEWIRE): SoundState => {
    const state = new SoundState();
    state.putServer(serverInfo({ packageName, cookie: 1 }));
    for (const reading of readings) state.putSink(sinkInfo(0, 'living', reading));
    return state;
  };
  for (const [what, readings, hasToWait, packageName] of rows) {
    test(what, () => {
      const latest = sinkInfo(0, 'living', readings.at(-1));
      assert.equal(hidesVolume(stateAfter(readings, packageName), latest), hasToWait);
    });
  }

  /** Events after which the state does not count the output as awake any more. */
  const resets: Readonly<Record<string, (state: SoundState) => unknown>> = {
    'after a restart of the server': (state) => state.enterLife(2),
    'when an output appears at the index of a removed output': (state) => state.remove('sink', 0),
  };
  for (const [when, reset] of Object.entries(resets)) {
    test(`waits again ${when}`, () => {
      const state = stateAfter([{ state: RUNNING }]);
      reset(state);
      state.putServer(serverInfo({ packageName: PIPEWIRE, cookie: 2 }));
      const asleep = sinkInfo(0, 'living', { state: SUSPENDED });
      state.putSink(asleep);
      assert.equal(hidesVolume(state, asleep), true);
    });
  }
});

describe('a step on a sleeping output, with the times of the daemon', () => {
  /** The output has the volume 0.4, but reports 1 until it wakes, after `wakesAfterMs`. The step is -0.1. */
  async function stepOnSleepingOutput(wakesAfterMs: number) {
    const clock = new ManualClock();
    const state = new SoundState();
    state.putServer(serverInfo({ packageName: PIPEWIRE, cookie: 1 }));
    state.putSink(sinkInfo(0, 'living', { state: SUSPENDED, volume: [RAW_NORM, RAW_NORM] }));
    // `close` ends the capture, as with a real link.
    const open: OpenLink = ({ onClosed }) =>
      ({ close: (reason: ClosedReason) => onClosed(reason) }) as unknown as Link;
    const waker = new Waker(open, state, clock, TIMING.wakeMs, () => executor.proceed());
    const volumes: number[] = [];
    const executor = new Executor(
      {
        state,
        hasEnded: false,
        send: async (setting) => {
          assert.ok(setting.command === 'SET_SINK_VOLUME');
          volumes.push(fractionOf(loudestOf(setting.args.volume)));
          return { ok: true, value: undefined };
        },
        readAgain: async () => undefined,
        wakeIfAsleep: (kind, index) => waker.wakeIfAsleep(kind, index),
        closeAfterFailure: () => undefined,
      },
      TIMING,
      clock,
    );
    clock.after(wakesAfterMs, () => {
      state.putSink(sinkInfo(0, 'living', { state: IDLE, volume: [0.4 * RAW_NORM, 0.4 * RAW_NORM] }));
      waker.onRead();
    });
    const answer = executor.run({ do: 'delta', target: { kind: 'output', ref: 'living' }, delta: -0.1 });
    clock.advance(TIMING.commandMs);
    return { answer: await answer, volumes };
  }

  // A command waits at most 5 s for its output to wake (`wakeMs` of timing.ts).
  test('begins at the true volume, even if waking takes almost 5 s', async () =>
    assert.deepEqual(await stepOnSleepingOutput(4_900), { answer: OK, volumes: [0.3] }));

  test('is sent in time, even if the output does not wake', async () => {
    // The sink still reports the volume 1, so the step leads to 0.9.
    const neverMs = 10 * TIMING.commandMs;
    assert.deepEqual(await stepOnSleepingOutput(neverMs), { answer: OK, volumes: [0.9] });
  });
});

const NAMES = ['living', 'kitchen', 'hall'];

/** Longer than `DEADLINE`, so that a command that waits until its output counts as unable to wake fails. */
const NEVER_MS = 120_000;

/**
 * Starts a backend on a server that accepts everything. All outputs sleep, except `kitchen`. `answerCapture`
 * answers the capture of a monitor. Each capture has a connection of its own, and ends with that connection.
 */
async function startWithSleepingOutputs(
  t: TestContext,
  answerCapture: Handler,
  timing: Partial<Timing> = { wakeMs: NEVER_MS },
) {
  const awake = new Set(['kitchen']);
  const sinks = () =>
    NAMES.map((name, index) => bytesOf.sink(index, name, { state: awake.has(name) ? RUNNING : SUSPENDED }));
  // A byte with the type is before the index, so the index begins at byte 1.
  const answerSink: Handler = ({ tag, fields }, { reply }) =>
    reply(tag, sinks()[fields.readUInt32BE(1)] ?? assert.fail());
  const handler = ordinaryExcept({
    [COMMAND.createRecordStream]: answerCapture,
    [COMMAND.getSink]: answerSink,
    [COMMAND.getSinks]: ({ tag }, { reply }) => reply(tag, sinks().flat()),
    [COMMAND.getServerInfo]: bytesOf.server({ packageName: PIPEWIRE }),
  });
  const started = await startOnScriptedServer(t, handler, { timing });
  const { server } = started;
  return {
    ...started,
    captures: () => server.count(COMMAND.createRecordStream),
    wakeUp: (name: string): void => {
      awake.add(name);
      server.responder.send(event('sinkChange', NAMES.indexOf(name)), MAIN_CONNECTION);
    },
  };
}

describe('a sleeping output', DEADLINE, () => {
  test('a sleeping output whose monitor cannot be captured accepts a command nevertheless', async (t) => {
    const refuseCapture: Handler = ({ tag }, { error }) => error(tag, ERROR.access);
    const { backend, server, captures } = await startWithSleepingOutputs(t, refuseCapture);
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captures(), 1);
    await until('the capture has ended', () => server.openConnections() === 1);
  });

  for (const [what, answerCapture] of NEVER_AWAKE) {
    test(`${what} is captured only once in a life of the server`, async (t) => {
      const { backend, server, recorder, captures } = await startWithSleepingOutputs(t, answerCapture, {
        wakeMs: 1_000,
      });
      assert.deepEqual(await backend.handle(MUTE), OK);
      // The server accepts the command, but the sleeping output still reports the earlier mute, as with
      // PipeWire 1.4.
      assert.equal(recorder.output('living')?.muted, false);
      await until('the capture has ended', () => server.openConnections() === 1);
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(captures(), 1);
      assert.equal(recorder.isUp, true);

      // The next connection is to the same life of the server, because the cookie is the same.
      server.responder.hangUp(MAIN_CONNECTION);
      await until('the connection is lost', () => !recorder.isUp);
      await until('the next connection is up', () => recorder.isUp);
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(captures(), 1);
    });

    test(`${what} is captured once for several commands, and delays no output that is awake`, async (t) => {
      const { backend, server, captures } = await startWithSleepingOutputs(t, answerCapture, {
        wakeMs: 1_000,
      });

      const order: string[] = [];
      const answers = ['living', 'hall', 'living', 'hall', 'kitchen'].map(async (name) => {
        assert.deepEqual(await backend.handle(mute(name)), OK);
        order.push(name);
      });

      await Promise.all(answers);
      assert.equal(order[0], 'kitchen');
      assert.deepEqual(order.slice(1).sort(), ['hall', 'hall', 'living', 'living']);
      assert.equal(captures(), 2);
      await until('the captures have ended', () => server.openConnections() === 1);
    });
  }

  test('a sleeping output delays no other sleeping output that wakes before it', async (t) => {
    const answerCapture: Handler = ({ tag }, { reply }) => reply(tag, bytesOf.capture());
    const { backend, wakeUp, captures } = await startWithSleepingOutputs(t, answerCapture);
    const livingAnswer = backend.handle(mute('living'));
    const hallAnswer = backend.handle(mute('hall'));
    await until('both outputs are captured', () => captures() === 2);

    wakeUp('hall');
    assert.deepEqual(await hallAnswer, OK);
    await backend.stop();
    assert.equal(faultOf(await livingAnswer), 'unavailable', 'the first output has not woken');
  });

  test('a command for a sleeping output is refused if the output is removed while it is captured', async (t) => {
    const removeOutput: Handler = ({ tag }, { reply, send }) => {
      send(event('sinkRemove', 0), MAIN_CONNECTION);
      return reply(tag, bytesOf.capture());
    };
    const { backend, server, captures } = await startWithSleepingOutputs(t, removeOutput);

    assert.equal(faultOf(await backend.handle(MUTE)), 'no-such-output');
    assert.equal(captures(), 1);
    await until('the capture has ended', () => server.openConnections() === 1);
  });

  test('a sleeping output whose capture loses its connection accepts the command, and is captured only once', async (t) => {
    const endCapture: Handler = (_, { hangUp }) => {
      hangUp(LATEST_CONNECTION);
      return undefined;
    };
    const { backend, recorder, captures } = await startWithSleepingOutputs(t, endCapture);
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captures(), 1);
    assert.equal(recorder.isUp, true);
  });

  test('a command for a sleeping output fails if the sound server goes while the output is captured', async (t) => {
    const endMainConnection: Handler = (_, { hangUp }) => {
      hangUp(MAIN_CONNECTION);
      return undefined;
    };
    const { backend, server, recorder, captures } = await startWithSleepingOutputs(t, endMainConnection);

    assert.equal(faultOf(await backend.handle(MUTE)), 'unavailable');
    assert.equal(captures(), 1);
    await until(
      'a new connection is up, and the capture has ended',
      () => recorder.isUp && server.openConnections() === 1,
    );
  });

  test('a command for a sleeping output fails if the daemon ends while the output is captured', async (t) => {
    const leaveUnanswered: Handler = () => undefined;
    const { backend, server, captures } = await startWithSleepingOutputs(t, leaveUnanswered);
    const answer = backend.handle(MUTE);
    await until('the output is captured', () => captures() === 1);

    await backend.stop();
    assert.equal(faultOf(await answer), 'unavailable');
    await until('all connections have ended', () => server.openConnections() === 0);
  });
});
