// The backend wakes an output that does not report its volume, and no longer than needed: against a scripted server, for every
// failure on the way. On real servers: real-servers.test.ts.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Timing } from '../../../src/actors/audio/backend.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import { keepsBack } from '../../../src/actors/audio/wake.js';
import type { AudioCommand } from '../../../src/protocol/actor/commands.js';
import type { SinkInfo } from '../../../src/protocol/pulse/records.js';
import { until } from '../../until.js';
import { connected, DEADLINE, faultOf } from './backed.js';
import {
  but,
  COMMAND,
  EVENT,
  event,
  type Handler,
  recordStreamFields,
  serverFields,
  sinkFields,
} from './scripted-server.js';
import { serverInfo, sinkInfo } from './sound-records.js';

const PIPEWIRE = 'PulseAudio (on PipeWire 1.4.2)';
const RUNNING = 0;
const SUSPENDED = 2;
const OK = { ok: true } as const;
const LIVING = { kind: 'output', ref: 'living' } as const;
const MUTE: AudioCommand = { do: 'mute', target: LIVING, muted: true };
const mute = (ref: string): AudioCommand => ({ do: 'mute', target: { kind: 'output', ref }, muted: true });
/** Captures of a monitor that do not wake the output within the waiting time. */
const VAIN: readonly (readonly [what: string, captured: Handler])[] = [
  ['whose capture is never answered', () => undefined],
  ['that sleeps on while it is captured', ({ tag }, { reply }) => reply(tag, recordStreamFields())],
];

describe('a volume waits for its output to wake', () => {
  const rows: readonly (readonly [
    what: string,
    readings: readonly Partial<SinkInfo>[],
    keptBack: boolean,
    packageName?: string,
  ])[] = [
    ['when its output sleeps', [{ state: SUSPENDED }], true],
    ['when its output is being made', [{ state: 0xfffffffe }], true],
    ['even if the output claims to be hardware', [{ state: SUSPENDED, flags: 0xa6 }], true],
    ['not when its output plays', [{ state: 0 }], false],
    ['not when its output sleeps again', [{ state: 1 }, { state: SUSPENDED }], false],
    ["not by a card's", [{ state: SUSPENDED, card: 3 }], false],
    ['not by PulseAudio', [{ state: SUSPENDED }], false, 'pulseaudio'],
  ];
  const filled = (readings: readonly Partial<SinkInfo>[], packageName = PIPEWIRE): SoundState => {
    const state = new SoundState();
    state.putServer(serverInfo({ packageName, cookie: 1 }));
    for (const reading of readings) state.putSink(sinkInfo(0, 'living', reading));
    return state;
  };
  for (const [what, readings, keptBack, packageName] of rows) {
    test(what, () => {
      const last = sinkInfo(0, 'living', readings.at(-1));
      assert.equal(keepsBack(filled(readings, packageName), last), keptBack);
    });
  }

  for (const [what, ending] of [
    ['after a restart of the server', (state: SoundState) => state.enterLife(2)],
    ['with another output of that index', (state: SoundState) => state.remove('sink', 0)],
  ] as const) {
    test(`${what} the volume waits again`, () => {
      const state = filled([{ state: 0 }]);
      ending(state);
      state.putServer(serverInfo({ packageName: PIPEWIRE, cookie: 2 }));
      const asleep = sinkInfo(0, 'living', { state: SUSPENDED });
      state.putSink(asleep);
      assert.equal(keepsBack(state, asleep), true);
    });
  }
});

/**
 * A backend whose outputs accept everything, and sleep except for the `kitchen`; `captured` answers the capture of a monitor.
 */
async function sleeping(t: TestContext, captured: Handler, timing: Partial<Timing> = {}) {
  const sinks = [
    sinkFields(0, 'living', { state: SUSPENDED }),
    sinkFields(1, 'kitchen', { state: RUNNING }),
    sinkFields(2, 'hall', { state: SUSPENDED }),
  ];
  const all: Handler = ({ tag }, { reply }) => reply(tag, ...sinks);
  const one: Handler = ({ tag, fields }, { reply }) =>
    reply(tag, sinks[fields.readUInt32BE(1)] ?? assert.fail('no such sink'));
  const handler = but({
    ...{ [COMMAND.createRecordStream]: captured, [COMMAND.getSink]: one, [COMMAND.getSinks]: all },
    [COMMAND.getServerInfo]: ({ tag }, { reply }) => reply(tag, serverFields({ packageName: PIPEWIRE })),
  });
  const both = await connected(t, handler, timing);
  return { ...both, captures: () => both.server.count(COMMAND.createRecordStream) };
}

describe('a sleeping output', DEADLINE, () => {
  test('whose monitor cannot be captured accepts the command all the same', async (t) => {
    const { backend, server, captures } = await sleeping(t, ({ tag }, { error }) => error(tag, 1));
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captures(), 1);
    await until('the capture has ended', () => server.open() === 1);
  });

  for (const [what, captured] of VAIN) {
    test(`${what} is left asleep, and is not tried again, nor on a later connection to that server`, async (t) => {
      const { backend, server, seen, captures } = await sleeping(t, captured, { wakeMs: 1_000 });
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(seen.output('living')?.muted, false);
      await until('the capture has ended', () => server.open() === 1);
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(captures(), 1);
      assert.equal(seen.up, true);
      server.say.hangUp(0);
      await until('the connection is lost', () => !seen.up);
      await until('the next connection is up', () => seen.up);
      assert.deepEqual(await backend.handle(MUTE), OK);
      assert.equal(captures(), 1);
    });

    test(`${what} delays no other output, awake or asleep`, async (t) => {
      const { backend, server, captures } = await sleeping(t, captured, { wakeMs: 1_000 });
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

  test('that is removed meanwhile delays nobody', async (t) => {
    const { backend, server, captures } = await sleeping(t, ({ tag }, { reply, send }) => {
      send(event(EVENT.sinkRemove, 0), 0);
      return reply(tag, recordStreamFields());
    });
    assert.equal(faultOf(await backend.handle(MUTE)), 'no-such-output');
    assert.equal(captures(), 1);
    await until('the capture has ended', () => server.open() === 1);
  });

  test('whose server goes meanwhile delays nobody', async (t) => {
    const { backend, server, seen, captures } = await sleeping(t, (_, { hangUp }) => {
      hangUp(0);
      return undefined;
    });
    assert.equal(faultOf(await backend.handle(MUTE)), 'unavailable');
    assert.equal(captures(), 1);
    await until('the connection is made anew, and the capture is gone', () => seen.up && server.open() === 1);
  });

  test('does not hold up the end of the daemon', async (t) => {
    const { backend, server, captures } = await sleeping(t, () => undefined);
    const answer = backend.handle(MUTE);
    await until('the output is captured', () => captures() === 1);
    await backend.stop();
    assert.equal(faultOf(await answer), 'unavailable');
    await until('all connections have ended', () => server.open() === 0);
  });
});
