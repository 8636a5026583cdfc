// Tests how the backend wakes a sleeping output before a command. An output that has never been awake may not
// report its true volume. The backend wakes it by a capture, which lasts no longer than needed. A scripted
// server makes captures fail. real-servers.test.ts wakes outputs of real servers.

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
import { bytesOf, COMMAND, ERROR, event, type Handler, ordinaryExcept } from './scripted-server.js';
import { serverInfo, sinkInfo } from './sound-records.js';
import { DEADLINE, startOnScriptedServer } from './start-backend.js';

const PIPEWIRE = 'PulseAudio (on PipeWire 1.4.2)';
/** The states of a sink. A suspended sink sleeps. */
const RUNNING = 0;
const IDLE = 1;
const SUSPENDED = 2;
const BEING_MADE = 0xfffffffe;

/** Flags of a sink. PA_SINK_HARDWARE (0x4) is among them. */
const HARDWARE_FLAGS = 0xa6;

const OK = { ok: true, value: {} } as const;
const mute = (ref: string): AudioCommand => ({ do: 'mute', target: { kind: 'output', ref }, muted: true });
const MUTE = mute('living');
/** Numbers of the server's connections. Each capture makes a connection, which is then the latest one. */
const MAIN_CONNECTION = 0;
const LATEST_CONNECTION = -1;
/** The reasons why a captured output does not wake, and the server's answer to the capture. */
const NEVER_AWAKE: readonly (readonly [reason: string, answerCapture: Handler])[] = [
  ['the server never answers the capture', () => undefined],
  ['the output sleeps on during the capture', ({ tag }, { reply }) => reply(tag, bytesOf.capture())],
];

describe('a command for a volume', () => {
  /** The readings of a sink, the earliest first. */
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
    ['does not wait for a sleeping output of PulseAudio', [{ state: SUSPENDED }], false, 'pulseaudio'],
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

  /** Events after which the state does not know any more that the output at index 0 has been awake. */
  const resets: Readonly<Record<string, (state: SoundState) => unknown>> = {
    'after a restart of the server, even if its output was awake before': (state) => state.enterLife(2),
    'if its output has the index of a removed output that was awake': (state) => state.remove('sink', 0),
  };
  for (const [when, reset] of Object.entries(resets)) {
    test(`waits ${when}`, () => {
      const state = stateAfter([{ state: RUNNING }]);
      reset(state);
      state.putServer(serverInfo({ packageName: PIPEWIRE, cookie: 2 }));
      const asleep = sinkInfo(0, 'living', { state: SUSPENDED });
      state.putSink(asleep);
      assert.equal(hidesVolume(state, asleep), true);
    });
  }
});

describe('a volume step on a sleeping output, with the deadlines of the daemon', () => {
  /**
   * The output has the volume 0.4. It wakes after `wakesAfterMs`, and reports the volume 1 until then. The
   * step is -0.1.
   */
  async function stepOnSleepingOutput(wakesAfterMs: number) {
    const clock = new ManualClock();
    const state = new SoundState();
    state.putServer(serverInfo({ packageName: PIPEWIRE, cookie: 1 }));
    state.putSink(sinkInfo(0, 'living', { state: SUSPENDED, volume: [RAW_NORM, RAW_NORM] }));
    // `close` calls `onClosed`, as in a real link.
    const open: OpenLink = ({ onClosed }) =>
      ({ close: (reason: ClosedReason) => onClosed(reason) }) as unknown as Link;
    const waker = new Waker(open, state, clock, TIMING.wakeMs, () => executor.proceed());
    const sentVolumes: number[] = [];
    const executor = new Executor(
      {
        state,
        hasEnded: false,
        send: async (setting) => {
          assert.ok(setting.command === 'SET_SINK_VOLUME');
          sentVolumes.push(fractionOf(loudestOf(setting.args.volume)));
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
    return { answer: await answer, sentVolumes };
  }

  // A command waits at most 5 s for its output to wake (`wakeMs` of timing.ts).
  test('begins at the true volume, even if waking takes almost 5 s', async () =>
    assert.deepEqual(await stepOnSleepingOutput(4_900), { answer: OK, sentVolumes: [0.3] }));

  test('is sent in time, even if the output does not wake', async () => {
    // The output still reports the volume 1, so the step leads to 0.9.
    const neverMs = 10 * TIMING.commandMs;
    assert.deepEqual(await stepOnSleepingOutput(neverMs), { answer: OK, sentVolumes: [0.9] });
  });
});

/** The names of the outputs. The position of a name is the index of the sink. */
const OUTPUT_NAMES = ['living', 'kitchen', 'hall'];

/** Longer than `DEADLINE`, so that a command that waits until its output counts as unable to wake fails. */
const NEVER_MS = 120_000;

/**
 * Starts a backend on a server that accepts all requests, but leaves captures to `answerCapture`. All outputs
 * sleep, except `kitchen`. Each capture has a connection of its own, and ends with that connection.
 */
async function startWithSleepingOutputs(
  t: TestContext,
  answerCapture: Handler,
  timing: Partial<Timing> = { wakeMs: NEVER_MS },
) {
  const awake = new Set(['kitchen']);
  const bytesOfSinks = () =>
    OUTPUT_NAMES.map((name, index) =>
      bytesOf.sink(index, name, { state: awake.has(name) ? RUNNING : SUSPENDED }),
    );
  // Byte 0 has the type of the index, so the index begins at byte 1.
  const answerSink: Handler = ({ tag, fields }, { reply }) =>
    reply(tag, bytesOfSinks()[fields.readUInt32BE(1)] ?? assert.fail());
  const handler = ordinaryExcept({
    [COMMAND.createRecordStream]: answerCapture,
    [COMMAND.getSink]: answerSink,
    [COMMAND.getSinks]: ({ tag }, { reply }) => reply(tag, bytesOfSinks().flat()),
    [COMMAND.getServerInfo]: bytesOf.server({ packageName: PIPEWIRE }),
  });
  const started = await startOnScriptedServer(t, handler, { timing });
  const { server } = started;
  return {
    ...started,
    captureCount: () => server.count(COMMAND.createRecordStream),
    wakeUp: (name: string): void => {
      awake.add(name);
      server.responder.send(event('sinkChange', OUTPUT_NAMES.indexOf(name)), MAIN_CONNECTION);
    },
  };
}

describe('commands for sleeping outputs', DEADLINE, () => {
  test('a command for a sleeping output is accepted, even if the server refuses the capture', async (t) => {
    const refuseCapture: Handler = ({ tag }, { error }) => error(tag, ERROR.access);
    const { backend, server, captureCount } = await startWithSleepingOutputs(t, refuseCapture);
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captureCount(), 1);
    await until('the capture has ended', () => server.openConnections() === 1);
  });

  for (const [reason, answerCapture] of NEVER_AWAKE) {
    test(`a sleeping output is captured only once in a life of the server, even if ${reason}`, async (t) => {
      const { backend, server, recorder, captureCount } = await startWithSleepingOutputs(t, answerCapture, {
        wakeMs: 1_000,
      });
      assert.deepEqual(await backend.handle(MUTE), OK);
      // The server accepts the command, but still reports that the sleeping output is not muted, as
      // PipeWire 1.4 does.
      assert.equal(recorder.output('living')?.muted, false);
      await until('the capture has ended', () => server.openConnections() === 1);
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(captureCount(), 1);
      assert.equal(recorder.isUp, true);

      // The cookie stays the same, so the next connection belongs to the same life of the server.
      server.responder.hangUp(MAIN_CONNECTION);
      await until('the connection is lost', () => !recorder.isUp);
      await until('the next connection is up', () => recorder.isUp);
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(captureCount(), 1);
    });

    test(`several commands for a sleeping output share one capture, and delay no command for an output that is awake, even if ${reason}`, async (t) => {
      const { backend, server, captureCount } = await startWithSleepingOutputs(t, answerCapture, {
        wakeMs: 1_000,
      });

      const answerOrder: string[] = [];
      const allAnswered = ['living', 'hall', 'living', 'hall', 'kitchen'].map(async (name) => {
        assert.deepEqual(await backend.handle(mute(name)), OK);
        answerOrder.push(name);
      });

      await Promise.all(allAnswered);
      assert.equal(answerOrder[0], 'kitchen');
      assert.deepEqual(answerOrder.slice(1).sort(), ['hall', 'hall', 'living', 'living']);
      assert.equal(captureCount(), 2);
      await until('the captures have ended', () => server.openConnections() === 1);
    });
  }

  test('a command for a sleeping output does not wait until the output of an earlier command wakes', async (t) => {
    const answerCapture: Handler = ({ tag }, { reply }) => reply(tag, bytesOf.capture());
    const { backend, wakeUp, captureCount } = await startWithSleepingOutputs(t, answerCapture);
    const livingAnswer = backend.handle(mute('living'));
    const hallAnswer = backend.handle(mute('hall'));
    await until('both outputs are captured', () => captureCount() === 2);

    wakeUp('hall');
    assert.deepEqual(await hallAnswer, OK);
    await backend.stop();
    assert.equal(faultOf(await livingAnswer), 'unavailable', 'the output `living` has not woken');
  });

  test('a command for a sleeping output is refused if the output is removed during the capture', async (t) => {
    const removeOutput: Handler = ({ tag }, { reply, send }) => {
      send(event('sinkRemove', 0), MAIN_CONNECTION);
      return reply(tag, bytesOf.capture());
    };
    const { backend, server, captureCount } = await startWithSleepingOutputs(t, removeOutput);

    assert.equal(faultOf(await backend.handle(MUTE)), 'no-such-output');
    assert.equal(captureCount(), 1);
    await until('the capture has ended', () => server.openConnections() === 1);
  });

  test('a command for a sleeping output is accepted if the capture loses its connection, and no second capture begins', async (t) => {
    const endCapture: Handler = (_, { hangUp }) => {
      hangUp(LATEST_CONNECTION);
      return undefined;
    };
    const { backend, recorder, captureCount } = await startWithSleepingOutputs(t, endCapture);
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captureCount(), 1);
    assert.equal(recorder.isUp, true);
  });

  test('a command for a sleeping output fails if the main connection ends during the capture', async (t) => {
    const endMainConnection: Handler = (_, { hangUp }) => {
      hangUp(MAIN_CONNECTION);
      return undefined;
    };
    const { backend, server, recorder, captureCount } = await startWithSleepingOutputs(t, endMainConnection);

    assert.equal(faultOf(await backend.handle(MUTE)), 'unavailable');
    assert.equal(captureCount(), 1);
    await until(
      'a new connection is up, and the capture has ended',
      () => recorder.isUp && server.openConnections() === 1,
    );
  });

  test('a command for a sleeping output fails if the daemon ends during the capture', async (t) => {
    const leaveUnanswered: Handler = () => undefined;
    const { backend, server, captureCount } = await startWithSleepingOutputs(t, leaveUnanswered);
    const answer = backend.handle(MUTE);
    await until('the output is captured', () => captureCount() === 1);

    await backend.stop();
    assert.equal(faultOf(await answer), 'unavailable');
    await until('all connections have ended', () => server.openConnections() === 0);
  });
});
