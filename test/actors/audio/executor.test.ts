// Tests the order of commands, their time limits, and the answers to commands that fail.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type CommandConnection, type CommandTiming, Executor } from '../../../src/actors/audio/executor.js';
import type { ReadRequest } from '../../../src/actors/audio/refetch.js';
import type { SoundCommand } from '../../../src/actors/audio/setting-plan.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import { streamMoves } from '../../../src/actors/audio/stream-moves.js';
import { systemClock } from '../../../src/host/clock.js';
import type { Answer } from '../../../src/protocol/actor/commands.js';
import type { FaultCode } from '../../../src/protocol/actor/faults.js';
import type { ClosedReason, RequestError } from '../../../src/protocol/pulse/outcome.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { serverInfo, sinkInfo, sinkInputInfo, sourceInfo } from './sound-records.js';

/** A test that does not end must fail. */
const DEADLINE = { timeout: 60_000 };
const TIMING: CommandTiming = { commandMs: 9_000, commandLeastMs: 1_000, wakeMs: 3_000 };
const MUTE: SoundCommand = { do: 'mute', target: { kind: 'client', ref: '5' } };
const OK = { ok: true, value: {} } as const;

function stateWithSound(): SoundState {
  const state = new SoundState();
  state.putServer(serverInfo());
  state.putSink(sinkInfo(0, 'living'));
  state.putSinkInput(sinkInputInfo(5, 'News'));
  // No sink has the index 9, so this stream plays to an output that the state does not know.
  state.putSinkInput(sinkInputInfo(6, 'Pass', { hasVolume: false, sink: 9 }));
  return state;
}

/** A connection that accepts everything at once. A test may replace `parts` of this connection. */
function connectionWith(parts: Partial<CommandConnection> = {}): CommandConnection {
  return {
    state: stateWithSound(),
    hasEnded: false,
    send: async () => ({ ok: true, value: undefined }),
    readAgain: async () => undefined,
    // The commands of most tests wake no device. The other tests replace this part.
    wakeIfAsleep: () => assert.fail('no device sleeps'),
    closeAfterFailure: () => undefined,
    ...parts,
  };
}

describe('the time limit of a command starts when the command arrives', DEADLINE, () => {
  test('the time that earlier commands take counts, too', async () => {
    const clock = new ManualClock();
    const timesLeftMs: number[] = [];
    const send: CommandConnection['send'] = async (_setting, _changed, leftMs) => {
      timesLeftMs.push(leftMs);
      // All four commands must arrive before the time passes.
      await Promise.resolve();
      clock.advance(3_000);
      return { ok: true, value: undefined };
    };

    const executor = new Executor(connectionWith({ send }), TIMING, clock);
    const answers = await Promise.all([MUTE, MUTE, MUTE, MUTE].map((command) => executor.run(command)));
    assert.deepEqual(timesLeftMs, [9_000, 6_000, 3_000]);
    assert.deepEqual(answers.slice(0, 3), [OK, OK, OK]);
    const detail = 'The commands before this one took too long';
    assert.deepEqual(answers[3], { ok: false, error: { fault: 'timeout', detail } });

    assert.deepEqual(await executor.run(MUTE), OK);
    assert.equal(timesLeftMs[3], 9_000);
  });

  test('a command is answered in time even if the reading after the command hangs', async () => {
    const readAgain = () => new Promise<never>(() => undefined);
    const timing = { commandMs: 20, commandLeastMs: 0, wakeMs: 10 };

    const clock = new ManualClock();
    const answer = new Executor(connectionWith({ readAgain }), timing, clock).run(MUTE);
    await until('the reading is waited for', () => clock.timers > 0);
    clock.advance(timing.commandMs);
    assert.deepEqual(await answer, OK);
  });
});

test('the output of a fade is read right before and right after each step', async () => {
  const steps: string[] = [];
  const connection = connectionWith({
    wakeIfAsleep: () => false,
    send: async ({ command }) => {
      steps.push(command);
      return { ok: true, value: undefined };
    },
    readAgain: async ({ kind, index }) => void steps.push(`read ${kind} ${index}`),
  });
  const executor = new Executor(connection, TIMING, systemClock);
  assert.deepEqual(await executor.run({ do: 'fade', output: '0', volume: 0.3 }), OK);
  assert.deepEqual(steps, ['read sink 0', 'SET_SINK_VOLUME', 'read sink 0']);
});

test('a step of a fade counts as failed if the connection ends before the volume of the step is read', async () => {
  const connection = connectionWith({ hasEnded: true, wakeIfAsleep: () => false });
  const answer = await new Executor(connection, TIMING, systemClock).run({
    do: 'fade',
    output: '0',
    volume: 0.3,
  });
  assert.equal(faultOf(answer), 'unavailable');
});

test('commands for a sleeping output keep their order and their output, while later commands overtake them and change the default', async () => {
  const state = stateWithSound();
  state.putSink(sinkInfo(1, 'kitchen'));
  state.putServer(serverInfo({ defaultSink: 'living' }));
  const sent: string[] = [];
  /** The indices of the outputs that sleep; `living` has 0. */
  const sleeping = new Set([0]);
  const send: CommandConnection['send'] = async ({ command, args }) => {
    sent.push(`${command} ${'index' in args ? args.index : args.name}`);
    if (command === 'SET_DEFAULT_SINK') state.putServer(serverInfo({ defaultSink: 'kitchen' }));
    return { ok: true, value: undefined };
  };

  const executor = new Executor(
    connectionWith({ state, send, wakeIfAsleep: (_kind, sink) => sleeping.has(sink) }),
    TIMING,
    systemClock,
  );

  const commands: readonly SoundCommand[] = [
    // No command is running when this one arrives, so its output is decided at once: the default, `living`.
    { do: 'mute', target: { kind: 'server' }, muted: true },
    { do: 'volume', target: { kind: 'output', ref: 'living' }, volume: 0.5 },
    { do: 'default', output: 'kitchen' },
    // This command waits until the command before it has ended. Then the default output is `kitchen`.
    { do: 'volume', target: { kind: 'server' }, volume: 0.5 },
  ];

  const answers = commands.map((command) => executor.run(command));
  const answersForLiving = answers.slice(0, 2);
  const answersForKitchen = answers.slice(2);
  assert.deepEqual(await Promise.all(answersForKitchen), [OK, OK]);

  sleeping.clear();
  executor.proceed();
  assert.deepEqual(await Promise.all(answersForLiving), [OK, OK]);

  const expected = ['SET_DEFAULT_SINK kitchen', 'SET_SINK_VOLUME 1', 'SET_SINK_MUTE 0', 'SET_SINK_VOLUME 0'];
  assert.deepEqual(sent, expected);
});

describe('a command that changes the default output and moves the streams', () => {
  const MOVE_STREAMS: SoundCommand = { do: 'default', output: 'living', move: true };
  const INVALID: RequestError = { kind: 'server', code: 3, name: 'INVALID', meaning: 'invalid argument' };

  const GROUP_MODULE = 70;
  /** A module that has made no output. */
  const OTHER_MODULE = 80;
  const FAILING_STREAM = 6;

  /**
   * Five streams do not play to `living`. The stream 7 is that of a group, and 4 is that of a filter. The
   * others are `Pass` of `stateWithSound` (6), `Show` (8) and `Phone` (9). A request to move `Pass` fails
   * with `error`.
   */
  function startWithFailingMove(error: RequestError) {
    const state = stateWithSound();
    state.putSink(sinkInfo(1, 'group', { ownerModule: GROUP_MODULE }));
    state.putSinkInput(
      sinkInputInfo(7, 'Simultaneous output', { sink: 9, client: undefined, ownerModule: GROUP_MODULE }),
    );
    state.putSinkInput(sinkInputInfo(8, 'Show', { sink: 1 }));
    // PipeWire names no module for a program's filter. The link group connects the filter's sink and stream.
    const linkGroup = { 'node.link-group': 'eq-1' };
    state.putSink(sinkInfo(2, 'equalizer', { props: linkGroup }));
    state.putSinkInput(
      sinkInputInfo(4, 'Equalizer output', {
        sink: 9,
        client: undefined,
        ownerModule: undefined,
        props: linkGroup,
      }),
    );
    state.putSinkInput(sinkInputInfo(9, 'Phone', { sink: 9, client: undefined, ownerModule: OTHER_MODULE }));
    const moveRequests: (number | undefined)[] = [];
    const send: CommandConnection['send'] = async ({ command, args }) => {
      if (command !== 'MOVE_SINK_INPUT') return { ok: true, value: undefined };
      moveRequests.push(args.index);
      return args.index === FAILING_STREAM ? { ok: false, error } : { ok: true, value: undefined };
    };
    return { moveRequests, executor: new Executor(connectionWith({ state, send }), TIMING, systemClock) };
  }

  test('moves all streams except those of groups and filters, even if the server refuses to move one stream', async () => {
    const { moveRequests, executor } = startWithFailingMove(INVALID);
    assert.deepEqual(await executor.run(MOVE_STREAMS), OK);
    assert.deepEqual(moveRequests, [FAILING_STREAM, 8, 9]);
  });

  test('fails if the server does not answer the request to move a stream', async () => {
    const { moveRequests, executor } = startWithFailingMove({ kind: 'timeout' });
    assert.equal(faultOf(await executor.run(MOVE_STREAMS)), 'timeout');
    assert.deepEqual(moveRequests, [FAILING_STREAM]);
  });

  test('reads the moved streams again if no time is left to move the others', async () => {
    const state = stateWithSound();
    state.putSinkInput(sinkInputInfo(8, 'Show', { sink: 1 }));
    const clock = new ManualClock();
    const reads: ReadRequest[] = [];
    const readAgain: CommandConnection['readAgain'] = async (request) => void reads.push(request);
    const send: CommandConnection['send'] = async ({ command }) => {
      if (command === 'MOVE_SINK_INPUT') clock.advance(TIMING.commandMs);
      return { ok: true, value: undefined };
    };
    const executor = new Executor(connectionWith({ state, send, readAgain }), TIMING, clock);
    assert.equal(faultOf(await executor.run(MOVE_STREAMS)), 'timeout');
    assert.deepEqual(reads.at(-1), { kind: 'sink-input' });
    assert.equal(reads.length, 3, 'one reading after the new default, one before the move, one after it');
  });

  test('moves no passthrough stream to an output with a limit', async () => {
    const state = new SoundState({ outputs: {}, volumeLimit: { living: 0.5 } });
    state.putSink(sinkInfo(0, 'living'));
    state.putSinkInput(sinkInputInfo(5, 'Film', { sink: 9, hasVolume: false }));
    assert.deepEqual(streamMoves(state, 'living'), []);

    state.putSinkInput(sinkInputInfo(5, 'Film', { sink: 9 }));
    assert.equal(streamMoves(state, 'living').length, 1, 'the same stream with a volume is moved');
  });
});

test('a command that would be refused is planned again after the stream that causes the refusal has been read again', async () => {
  const state = stateWithSound();
  const command: SoundCommand = { do: 'volume', target: { kind: 'client', ref: '6' }, volume: 0.5 };
  const reads: ReadRequest[] = [];
  const readAgain: CommandConnection['readAgain'] = async (request) => {
    reads.push(request);
    // The second command causes the second reading. From this reading on, the stream has a volume.
    if (reads.length > 1) state.putSinkInput(sinkInputInfo(6, 'Pass'));
  };
  const executor = new Executor(connectionWith({ state, readAgain }), TIMING, systemClock);

  assert.equal(faultOf(await executor.run(command)), 'no-volume');
  assert.deepEqual(await executor.run(command), OK);
  // The accepted command causes two readings: one before it is planned again, and one after its success.
  const read: ReadRequest = { kind: 'sink-input', index: 6 };
  assert.deepEqual(reads, [read, read, read]);
});

describe('the answer to a command that sets a default waits for the default', DEADLINE, () => {
  /** The longest time that a command waits for the default (`DEFAULT_MAX_MS` in executor.ts). */
  const WAIT_MAX_MS = 3_000;
  /**
   * There are about ten readings in the first second of the wait, and two in each later second, so about 14
   * in all. Many more readings would burden a slow board.
   */
  const READINGS_MAX = 20;
  const NEVER_MS = 60_000;

  /** From `newAfterMs` on, the server has the new defaults `kitchen` and `line`. */
  function startWithDefaultsAfter(newAfterMs: number) {
    const clock = new ManualClock();
    const state = stateWithSound();
    state.putSink(sinkInfo(1, 'kitchen'));
    state.putSinkInput(sinkInputInfo(8, 'Show'));
    state.sources.put(sourceInfo(3, 'line'));
    /** The readings of the server's info, and the requests. */
    const steps: string[] = [];
    const readAgain: CommandConnection['readAgain'] = async ({ kind }) => {
      if (kind !== 'server') return;
      steps.push('read');
      if (clock.monotonic() >= newAfterMs)
        state.putServer(serverInfo({ defaultSink: 'kitchen', defaultSource: 'line' }));
    };
    const send: CommandConnection['send'] = async ({ command }) => {
      steps.push(command);
      return { ok: true, value: undefined };
    };
    const connection = connectionWith({ state, send, readAgain, wakeIfAsleep: () => false });
    const executor = new Executor(connection, TIMING, clock);
    /** Lets the time pass until the command is answered. */
    const run = async (command: SoundCommand): Promise<Answer> => {
      const answer = executor.run(command);
      let isAnswered = false;
      void answer.then(() => {
        isAnswered = true;
      });
      for (;;) {
        await setImmediate();
        if (isAnswered || clock.monotonic() >= TIMING.commandMs) return answer;
        clock.advance(5);
      }
    };
    const readings = () => steps.filter((step) => step === 'read').length;
    return { clock, steps, run, readings };
  }

  test('the streams are moved only after the server has set the default output, even if the reply comes earlier', async () => {
    const { steps, run } = startWithDefaultsAfter(20);
    assert.deepEqual(await run({ do: 'default', output: 'kitchen', move: true }), OK);
    // The streams are `News`, `Pass` and `Show`.
    const moves = ['MOVE_SINK_INPUT', 'MOVE_SINK_INPUT', 'MOVE_SINK_INPUT'];
    // The default is read at once, and after pauses of 15 ms and 22.5 ms. The server sets it after 20 ms.
    assert.deepEqual(steps, ['SET_DEFAULT_SINK', 'read', 'read', 'read'].concat(moves));
  });

  test('a default output that the server never sets is no failure', async () => {
    const { clock, run, readings } = startWithDefaultsAfter(NEVER_MS);
    assert.deepEqual(await run({ do: 'default', output: 'kitchen' }), OK);
    assert.equal(clock.monotonic(), WAIT_MAX_MS);
    assert.ok(readings() <= READINGS_MAX, `${readings()} readings`);
  });

  test('a command waits for a default output that the server sets only after two seconds', async () => {
    const { clock, run } = startWithDefaultsAfter(2_000);
    assert.deepEqual(await run({ do: 'default', output: 'kitchen' }), OK);
    assert.ok(clock.monotonic() >= 2_000);
  });

  test('a command that sets a default input succeeds even if only the last reading shows the new default', async () => {
    const { run } = startWithDefaultsAfter(WAIT_MAX_MS);
    assert.deepEqual(await run({ do: 'default', input: 'line' }), OK);
  });

  test('a command that sets a default input fails as refused if the server never sets this default', async () => {
    const { run } = startWithDefaultsAfter(NEVER_MS);
    assert.equal(faultOf(await run({ do: 'default', input: 'line' })), 'refused');
  });

  test('a command that sets a default input fails as unavailable, not as refused, if the connection ends during the wait', async () => {
    const state = stateWithSound();
    state.sources.put(sourceInfo(3, 'line'));
    // The test changes `hasEnded` below. In this copy it is not readonly.
    const connection = { ...connectionWith({ state, wakeIfAsleep: () => false }), hasEnded: false };
    const clock = new ManualClock();
    const answer = new Executor(connection, TIMING, clock).run({ do: 'default', input: 'line' });
    await until('the default is waited for', () => clock.timers > 0);
    connection.hasEnded = true;
    clock.advance(1_000);
    assert.equal(faultOf(await answer), 'unavailable');
  });

  test('a command that sets a default input fails with a timeout, not as refused, if a reading during the wait hangs', async () => {
    const state = stateWithSound();
    state.sources.put(sourceInfo(3, 'line'));
    let readings = 0;
    const readAgain: CommandConnection['readAgain'] = () => {
      readings += 1;
      // The first reading comes right after the reply. The second one is the first of the wait, and hangs.
      return readings === 1 ? Promise.resolve() : new Promise<never>(() => undefined);
    };
    const clock = new ManualClock();
    const connection = connectionWith({ state, readAgain, wakeIfAsleep: () => false });
    const answer = new Executor(connection, TIMING, clock).run({ do: 'default', input: 'line' });
    await until('the default is waited for', () => clock.timers > 0);
    clock.advance(1_000);
    await until('the reading is waited for', () => readings === 2 && clock.timers > 0);
    clock.advance(TIMING.commandMs);
    assert.equal(faultOf(await answer), 'timeout');
  });
});

describe('every failure is explained by a sentence', () => {
  const MUTE_UNKNOWN_CLIENT: SoundCommand = { do: 'mute', target: { kind: 'client', ref: 'Nobody' } };
  const MUTE_UNKNOWN_OUTPUT: SoundCommand = { do: 'mute', target: { kind: 'output', ref: 'garden' } };
  const SET_PASS_VOLUME: SoundCommand = { do: 'volume', target: { kind: 'client', ref: '6' }, volume: 1 };
  const SET_DEFAULT: SoundCommand = { do: 'default', output: 'living' };
  const MOVE: SoundCommand = { do: 'move', client: '5', output: '0' };
  const DENIED: RequestError = { kind: 'server', code: 1, name: 'ACCESS', meaning: 'access denied' };
  const NO_ENTITY: RequestError = { kind: 'server', code: 5, name: 'NOENTITY', meaning: 'no such entity' };
  const ZERO_BYTE: RequestError = { kind: 'bad-argument', detail: 'a zero byte' };
  const RUBBISH: RequestError = { kind: 'violation', detail: 'rubbish' };
  const closed = (reason: ClosedReason): RequestError => ({ kind: 'closed', reason });
  const ENDED = closed({ kind: 'peer-closed' });
  /** The connection ended because another request had no answer. */
  const LATE = closed({ kind: 'timeout', command: 'GET_SINK_INFO' });
  const rows: readonly (readonly [
    command: SoundCommand,
    errorOfRequest: RequestError | undefined,
    fault: FaultCode,
    detail: string,
  ])[] = [
    [MUTE_UNKNOWN_CLIENT, undefined, 'no-such-client', 'There is no client "Nobody"'],
    [MUTE_UNKNOWN_OUTPUT, undefined, 'no-such-output', 'There is no output "garden"'],
    [
      SET_PASS_VOLUME,
      undefined,
      'no-volume',
      'The stream has no volume of its own: it is played as it is (passthrough)',
    ],
    [MUTE, DENIED, 'refused', 'The sound server refused the command: access denied (ACCESS)'],
    [MUTE, NO_ENTITY, 'no-such-client', 'The client has ended meanwhile'],
    [SET_DEFAULT, NO_ENTITY, 'no-such-output', 'The output was removed meanwhile'],
    [MOVE, NO_ENTITY, 'no-such-output', 'The output was removed meanwhile'],
    [MUTE, { kind: 'timeout' }, 'timeout', 'The sound server did not answer'],
    [MUTE, ZERO_BYTE, 'bad-value', 'The value cannot be sent: a zero byte'],
    [MUTE, ENDED, 'unavailable', 'The connection to the sound server has ended'],
    [MUTE, LATE, 'timeout', 'The sound server did not answer'],
    [MUTE, RUBBISH, 'unavailable', 'The connection to the sound server has ended'],
    [MUTE, { kind: 'not-ready' }, 'unavailable', 'The connection to the sound server is not ready yet'],
    [MUTE, { kind: 'overflow' }, 'unavailable', 'Too many earlier requests wait for the sound server'],
  ];
  for (const [command, error, fault, detail] of rows) {
    const cause = error === undefined ? 'before it is sent' : `after ${JSON.stringify(error)}`;
    test(`the command ${command.do} fails ${cause} with ${fault}: ${detail}`, async () => {
      const send: CommandConnection['send'] = async () =>
        error === undefined ? { ok: true, value: undefined } : { ok: false, error };
      const answer = await new Executor(connectionWith({ send }), TIMING, systemClock).run(command);
      assert.deepEqual(answer, { ok: false, error: { fault, detail } });
    });
  }

  test('a command to the default output fails if there is no default output', async () => {
    const connection = connectionWith({ state: new SoundState() });
    const answer = await new Executor(connection, TIMING, systemClock).run({
      do: 'mute',
      target: { kind: 'server' },
    });
    assert.deepEqual(answer, {
      ok: false,
      error: { fault: 'no-such-output', detail: 'There is no default output' },
    });
  });

  test('a missing reply of the sound server closes the connection', async () => {
    const failures: string[] = [];
    const closeAfterFailure: CommandConnection['closeAfterFailure'] = (command, error) =>
      failures.push(`${command} ${error.kind}`);
    const send: CommandConnection['send'] = async () => ({ ok: false, error: { kind: 'timeout' } });
    await new Executor(connectionWith({ send, closeAfterFailure }), TIMING, systemClock).run(MUTE);
    assert.deepEqual(failures, ['SET_SINK_INPUT_MUTE timeout']);
  });
});
