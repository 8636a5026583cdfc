// The backend wakes an output that does not report its volume, and no longer than needed: against a scripted
// server, for every failure on the way. On real servers: real-servers.test.ts.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { Timing } from '../../../src/actors/audio/timing.js';
import { hidesVolume } from '../../../src/actors/audio/wake.js';
import type { AudioCommand } from '../../../src/protocol/actor/commands.js';
import type { SinkInfo } from '../../../src/protocol/pulse/records.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { connected, DEADLINE } from './backed.js';
import { but, bytesOf, COMMAND, event, type Handler } from './scripted-server.js';
import { serverInfo, sinkInfo } from './sound-records.js';

const PIPEWIRE = 'PulseAudio (on PipeWire 1.4.2)';
const RUNNING = 0;
const SUSPENDED = 2;
const OK = { ok: true, value: {} } as const;
const mute = (ref: string): AudioCommand => ({ do: 'mute', target: { kind: 'output', ref }, muted: true });
const MUTE = mute('living');
/** Captures of a monitor that do not wake the output within the waiting time. */
const VAIN: readonly (readonly [what: string, captured: Handler])[] = [
  ['whose capture is never answered', () => undefined],
  ['that sleeps on while it is captured', ({ tag }, { reply }) => reply(tag, bytesOf.capture())],
];

describe('a volume is set only when its output is awake', () => {
  type Readings = readonly Partial<SinkInfo>[];
  const rows: readonly (readonly [what: string, readings: Readings, isKeptBack: boolean, server?: string])[] =
    [
      ['when its output sleeps', [{ state: SUSPENDED }], true],
      ['when its output is being made', [{ state: 0xfffffffe }], true],
      ['even if the output claims to be hardware', [{ state: SUSPENDED, flags: 0xa6 }], true],
      ['not when its output plays', [{ state: 0 }], false],
      ['not when its output sleeps again', [{ state: 1 }, { state: SUSPENDED }], false],
      ["not by a card's", [{ state: SUSPENDED, card: 3 }], false],
      ['not by PulseAudio', [{ state: SUSPENDED }], false, 'pulseaudio'],
    ];
  const filled = (readings: Readings, packageName = PIPEWIRE): SoundState => {
    const state = new SoundState();
    state.putServer(serverInfo({ packageName, cookie: 1 }));
    for (const reading of readings) state.putSink(sinkInfo(0, 'living', reading));
    return state;
  };
  for (const [what, readings, isKeptBack, server] of rows) {
    test(what, () => {
      const last = sinkInfo(0, 'living', readings.at(-1));
      assert.equal(hidesVolume(filled(readings, server), last), isKeptBack);
    });
  }

  for (const what of ['after a restart of the server', 'with another output of that index']) {
    test(`${what} the volume waits again`, () => {
      const state = filled([{ state: 0 }]);
      if (what.startsWith('after')) state.enterLife(2);
      else state.remove('sink', 0);
      state.putServer(serverInfo({ packageName: PIPEWIRE, cookie: 2 }));
      const asleep = sinkInfo(0, 'living', { state: SUSPENDED });
      state.putSink(asleep);
      assert.equal(hidesVolume(state, asleep), true);
    });
  }
});

/**
 * Starts a backend on a server that accepts everything, and all of whose outputs but `kitchen` sleep;
 * `captured` answers the capture of a monitor.
 */
async function startWithSleepingOutputs(t: TestContext, captured: Handler, timing: Partial<Timing> = {}) {
  const sinks = ['living', 'kitchen', 'hall'].map((name, index) => {
    return bytesOf.sink(index, name, { state: name === 'kitchen' ? RUNNING : SUSPENDED });
  });
  const one: Handler = ({ tag, fields }, { reply }) =>
    reply(tag, sinks[fields.readUInt32BE(1)] ?? assert.fail());
  const handler = but({
    [COMMAND.createRecordStream]: captured,
    [COMMAND.getSink]: one,
    [COMMAND.getSinks]: sinks.flat(),
    [COMMAND.getServerInfo]: bytesOf.server({ packageName: PIPEWIRE }),
  });
  const both = await connected(t, handler, timing);
  return { ...both, captures: () => both.server.count(COMMAND.createRecordStream) };
}

describe('a sleeping output', DEADLINE, () => {
  test('a sleeping output whose monitor cannot be captured accepts the command all the same', async (t) => {
    const { backend, server, captures } = await startWithSleepingOutputs(t, ({ tag }, { error }) =>
      error(tag, 1),
    );
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captures(), 1);
    await until('the capture has ended', () => server.open() === 1);
  });

  for (const [what, captured] of VAIN) {
    test(`${what} is left asleep, and is not tried again, nor on a later connection to that server`, async (t) => {
      const { backend, server, recorder, captures } = await startWithSleepingOutputs(t, captured, {
        wakeMs: 1_000,
      });
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(recorder.output('living')?.muted, false);
      await until('the capture has ended', () => server.open() === 1);
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(captures(), 1);
      assert.equal(recorder.up, true);
      server.responder.hangUp(0);
      await until('the connection is lost', () => !recorder.up);
      await until('the next connection is up', () => recorder.up);
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(captures(), 1);
    });

    test(`${what} delays no other output, awake or asleep`, async (t) => {
      const { backend, server, captures } = await startWithSleepingOutputs(t, captured, { wakeMs: 1_000 });
      const order: string[] = [];
      const answers = ['living', 'hall', 'living', 'hall', 'kitchen'].map(async (name) => {
        assert.deepEqual(await backend.handle(mute(name)), OK);
        order.push(name);
      });
      await Promise.all(answers);
      assert.equal(order[0], 'kitchen');
      assert.deepEqual(order.slice(1).sort(), ['hall', 'hall', 'living', 'living']);
      assert.equal(captures(), 2);
      await until('the captures have ended', () => server.open() === 1);
    });
  }

  test('delays no command when it is removed meanwhile', async (t) => {
    const { backend, server, captures } = await startWithSleepingOutputs(t, ({ tag }, { reply, send }) => {
      send(event('sinkRemove', 0), 0);
      return reply(tag, bytesOf.capture());
    });
    assert.equal(faultOf(await backend.handle(MUTE)), 'no-such-output');
    assert.equal(captures(), 1);
    await until('the capture has ended', () => server.open() === 1);
  });

  test('delays no command when its server goes meanwhile', async (t) => {
    const { backend, server, recorder, captures } = await startWithSleepingOutputs(t, (_, { hangUp }) => {
      hangUp(0);
      return undefined;
    });
    assert.equal(faultOf(await backend.handle(MUTE)), 'unavailable');
    assert.equal(captures(), 1);
    await until(
      'the connection is made anew, and the capture is gone',
      () => recorder.up && server.open() === 1,
    );
  });

  test('does not delay the end of the daemon', async (t) => {
    const { backend, server, captures } = await startWithSleepingOutputs(t, () => undefined);
    const answer = backend.handle(MUTE);
    await until('the output is captured', () => captures() === 1);
    await backend.stop();
    assert.equal(faultOf(await answer), 'unavailable');
    await until('all connections have ended', () => server.open() === 0);
  });
});
