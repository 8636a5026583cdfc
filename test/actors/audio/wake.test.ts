// An output that keeps its volume to itself is woken, when that is needed and no longer: against a scripted server, for what
// becomes of it on the way. On real servers: real-servers.test.ts.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { AudioBackend, TIMING, type Timing } from '../../../src/actors/audio/backend.js';
import type { Setting } from '../../../src/actors/audio/commands.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import { unsaidBy } from '../../../src/actors/audio/wake.js';
import type { AudioCommand } from '../../../src/protocol/actor/commands.js';
import type { SinkInfo } from '../../../src/protocol/pulse/records.js';
import { until } from '../../until.js';
import { Recorder } from './recorder.js';
import {
  COMMAND,
  EVENT,
  event,
  type Handler,
  ordinary,
  recordStreamFields,
  type ScriptedServer,
  type SinkFields,
  scriptedServer,
  serverFields,
  sinkFields,
} from './scripted-server.js';
import { serverInfo, sinkInfo } from './sound-records.js';

/** What never ends fails its test. */
const DEADLINE = { timeout: 20_000 };
const PIPEWIRE = 'PulseAudio (on PipeWire 1.4.2)';
const SUSPENDED = 2;
const OK = { ok: true } as const;
const LIVING = { kind: 'output', ref: 'living' } as const;
const MUTE: AudioCommand = { do: 'mute', target: LIVING, muted: true };

describe('a volume is unsaid', () => {
  const half: Setting = { command: 'SET_SINK_VOLUME', args: { index: 0, volume: [0x8000, 0x8000] } };
  const mute: Setting = { command: 'SET_SINK_MUTE', args: { index: 0, muted: true } };
  const rows: readonly (readonly [
    what: string,
    setting: Setting,
    after: Partial<SinkInfo> | 'gone',
    unsaid: boolean,
    packageName?: string,
  ])[] = [
    ['by a record that is as before', half, {}, true],
    ['by a suspended one', half, { state: SUSPENDED }, true],
    ['not by the record that has it', half, { volume: [0x8000, 0x8000] }, false],
    ['not by one that came as near as it can', half, { volume: [0x8100, 0x8100] }, false],
    ['by one that has just woken', half, { state: 0 }, true],
    ['not by an output that has gone', half, 'gone', false],
    ['not by PulseAudio', half, {}, false, 'pulseaudio'],
    ['and so is a mute', mute, {}, true],
    ['but not one that shows', mute, { muted: true }, false],
    ['nor one that was there before', { ...mute, args: { index: 0, muted: false } }, {}, false],
    ['nor a default', { command: 'SET_DEFAULT_SINK', args: { name: 'living' } }, {}, false],
    ['nor what a stream was told', { ...half, command: 'SET_SINK_INPUT_VOLUME' }, {}, false],
  ];
  for (const [what, setting, after, unsaid, packageName = PIPEWIRE] of rows) {
    test(what, () => {
      const state = new SoundState();
      state.putServer(serverInfo({ packageName }));
      state.putSink(sinkInfo(0, 'living'));
      const sleeper = unsaidBy(state, setting);
      if (after === 'gone') state.remove('sink', 0);
      else state.putSink(sinkInfo(0, 'living', after));
      assert.equal(sleeper()?.index, unsaid ? 0 : undefined);
    });
  }
});

interface Sleeping {
  readonly server: ScriptedServer;
  readonly backend: AudioBackend;
  readonly seen: Recorder;
  /** What the output's record says from now on. */
  readonly sink: { -readonly [K in keyof SinkFields]: SinkFields[K] };
  captures(): number;
}

/** A backend whose output accepts everything and says nothing; `captured` answers the capture of its monitor. */
async function sleeping(t: TestContext, captured: Handler, timing: Partial<Timing> = {}): Promise<Sleeping> {
  const sink: SinkFields = { state: SUSPENDED };
  const server = await scriptedServer(t, (request, say) => {
    const { command, tag } = request;
    if (command === COMMAND.createRecordStream) return captured(request, say);
    if (command === COMMAND.getServerInfo) return say.reply(tag, serverFields({ packageName: PIPEWIRE }));
    if (command === COMMAND.getSink || command === COMMAND.getSinks)
      return say.reply(tag, sinkFields(0, 'living', sink));
    return ordinary(request, say);
  });
  const seen = new Recorder();
  const env = { PULSE_SERVER: `unix:${server.socketPath}` };
  const place = { env, uid: 0, home: '/nonexistent', machineId: undefined };
  const settings = { enabled: true, serveCookie: false };
  const backend = new AudioBackend(settings, place, seen, { ...TIMING, ...timing });
  backend.start();
  t.after(() => backend.stop());
  await until('the backend is up', () => seen.up);
  const captures = () => server.heard.filter((command) => command === COMMAND.createRecordStream).length;
  return { server, backend, seen, sink, captures };
}

describe('a sleeping output', DEADLINE, () => {
  test('is captured until it says what was set, and answered for then', async (t) => {
    let wake = (): void => undefined;
    const { backend, seen, sink, server, captures } = await sleeping(t, ({ tag }, { reply, send }) => {
      wake = () => {
        sink.muted = true;
        send(event(EVENT.sinkChange, 0), 0);
      };
      return reply(tag, recordStreamFields());
    });
    let answered = false;
    const answer = backend.handle(MUTE).then((result) => {
      answered = true;
      return result;
    });
    await until('it is captured', () => captures() === 1);
    sink.state = 0;
    server.say.send(event(EVENT.sinkChange, 0), 0);
    await until('its record is read in vain', () => seen.output('living')?.state === 'running');
    assert.equal(answered, false);
    wake();
    assert.deepEqual(await answer, OK);
    assert.equal(seen.output('living')?.muted, true);
    await until('the capture has ended', () => server.open() === 1);
    assert.deepEqual(await backend.handle({ do: 'mute', target: LIVING, muted: true }), OK);
    assert.equal(captures(), 1);
  });

  test('is not captured when it was awake', async (t) => {
    const { backend, seen, server, sink, captures } = await sleeping(t, ordinary);
    sink.state = 0;
    server.say.send(event(EVENT.sinkChange, 0));
    await until('it is awake', () => seen.output('living')?.state === 'running');
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captures(), 0);
  });

  test('whose monitor cannot be captured has accepted all the same', async (t) => {
    const { backend, server, captures } = await sleeping(t, ({ tag }, { error }) => error(tag, 1));
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captures(), 1);
    await until('the capture has ended', () => server.open() === 1);
  });

  test('that will not wake is let sleep, and is not tried again', async (t) => {
    const { backend, server, seen, captures } = await sleeping(t, () => undefined, { wakeMs: 50 });
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(seen.output('living')?.muted, false);
    await until('the capture has ended', () => server.open() === 1);
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captures(), 1);
    assert.equal(seen.up, true);
  });

  test('that goes meanwhile keeps nobody waiting', async (t) => {
    const { backend, server, captures } = await sleeping(t, ({ tag }, { reply, send }) => {
      send(event(EVENT.sinkRemove, 0), 0);
      return reply(tag, recordStreamFields());
    });
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captures(), 1);
    await until('the capture has ended', () => server.open() === 1);
  });

  test('of a server that goes meanwhile keeps nobody waiting', async (t) => {
    const { backend, server, seen, captures } = await sleeping(t, (_, { hangUp }) => {
      hangUp(0);
      return undefined;
    });
    assert.deepEqual(await backend.handle(MUTE), OK);
    assert.equal(captures(), 1);
    await until('the connection is made anew, and the capture is gone', () => seen.up && server.open() === 1);
  });

  test('does not hold up the end of the daemon', async (t) => {
    const { backend, server, captures } = await sleeping(t, () => undefined);
    const answer = backend.handle(MUTE);
    await until('it is captured', () => captures() === 1);
    await backend.stop();
    assert.deepEqual(await answer, OK);
    await until('all connections have ended', () => server.open() === 0);
  });
});
