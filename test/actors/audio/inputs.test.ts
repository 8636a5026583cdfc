// Tests inputs. The first tests run on real sound servers of both kinds. The later tests have a scripted
// server, or no server.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { planCommand } from '../../../src/actors/audio/commands.js';
import { SUSPENDED } from '../../../src/actors/audio/device-states.js';
import { SoundPublisher } from '../../../src/actors/audio/publisher.js';
import { SOURCES_MAX_RECORDS } from '../../../src/actors/audio/sources.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { AudioCommand, AudioTarget } from '../../../src/protocol/actor/commands.js';
import type { InputRecord } from '../../../src/protocol/actor/schemas.js';
import { source, text, u32, volumes } from '../../protocol/pulse/bytes.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';
import { faultOf, Recorder } from '../recorder.js';
import { COMMAND, ERROR, event, type Handler, ordinaryExcept } from './scripted-server.js';
import { serverInfo, sourceInfo } from './sound-records.js';
import { startBackend, startOnScriptedServer } from './start-backend.js';

/** The number of this state in the records of sources. */
const RUNNING = 0;
const MIKE: AudioTarget = { kind: 'input', ref: 'mike' };
/** No source was removed while a list was read. */
const NONE_REMOVED: ReadonlySet<number> = new Set();

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}, an input`, { skip, concurrency: 2 }, () => {
    async function startWithMike(t: TestContext) {
      const server = await start();
      t.after(() => server.stop());
      const { backend, recorder } = startBackend(t, server.socketPath, { home: server.directory });
      await until('the backend is up', () => recorder.isUp);
      await server.addInput('mike');
      await until('the input is published', () => recorder.input('mike'));
      const mike = () => recorder.input('mike') ?? assert.fail('the input is gone');
      const run = async (command: AudioCommand) =>
        assert.equal(faultOf(await backend.handle(command)), 'none');
      const faultOfCommand = async (command: AudioCommand) => faultOf(await backend.handle(command));
      return { server, recorder, mike, run, faultOfCommand };
    }

    test('has a record until it goes, and a monitor has no record', async (t) => {
      const { server, recorder, mike, run } = await startWithMike(t);
      assert.deepEqual(
        recorder.inputs().map(({ name }) => name),
        ['mike'],
      );

      const { muted, volume, balance, ports, state } = mike();
      assert.deepEqual([muted, volume, balance, ports], [false, 1, 0, undefined]);
      assert.match(state, /idle|suspended/);

      // PipeWire 1.4 announces no change of a virtual input that has never been awake. A command wakes it.
      await run({ do: 'mute', target: MIKE, muted: false });
      await server.pactl('set-source-volume', 'mike', '40%');
      await until('the change is published', () => mike().volume === 0.4);

      await server.removeInput('mike');
      await until('its record is gone', () => recorder.inputs().length === 0);
    });

    test('has the volume, mute or balance of a command as soon as the command is answered', async (t) => {
      const { mike, run } = await startWithMike(t);
      await run({ do: 'balance', input: 'mike', balance: -0.5 });
      await run({ do: 'volume', target: MIKE, volume: 0.4 });
      await run({ do: 'delta', target: MIKE, delta: -0.1 });
      await run({ do: 'mute', target: MIKE });
      assert.deepEqual([mike().volume, mike().balance, mike().muted], [0.3, -0.5, true]);

      await run({ do: 'volume', target: MIKE, volume: 0 });
      assert.equal(mike().balance, -0.5);

      await run({ do: 'volume', target: { kind: 'input', ref: String(mike().id) }, volume: 0.6 });
      assert.deepEqual([mike().volume, mike().balance], [0.6, -0.5]);
    });

    test('becomes the default in the place of the former default', async (t) => {
      const { server, recorder, mike, run } = await startWithMike(t);
      await server.addInput('line');
      await until('both inputs are published', () => recorder.inputs().length === 2);
      for (const name of ['line', 'mike']) {
        await run({ do: 'default', input: name });
        assert.equal((await server.pactl('get-default-source')).trim(), name);
        const isMikeDefault = name === 'mike';
        await until(`${name} is published as the default`, () => mike().default === isMikeDefault);
      }
    });

    test('is not found by a command if it does not exist or is a monitor, and cannot be switched to a port if it has no ports', async (t) => {
      const { faultOfCommand } = await startWithMike(t);
      assert.equal(
        await faultOfCommand({ do: 'mute', target: { kind: 'input', ref: 'none' } }),
        'no-such-input',
      );
      assert.equal(await faultOfCommand({ do: 'default', input: 'living.monitor' }), 'no-such-input');
      assert.equal(await faultOfCommand({ do: 'port', input: 'mike', port: 'line' }), 'no-ports');
    });
  });
}

test('an input no longer counts as left out when it is read again and there is room', () => {
  const { sources } = new SoundState();
  for (let index = 0; index <= SOURCES_MAX_RECORDS; index += 1)
    sources.put(sourceInfo(index, `mike-${index}`));
  assert.equal(sources.leftOutCount, 1);

  sources.remove(0);
  sources.put(sourceInfo(SOURCES_MAX_RECORDS, `mike-${SOURCES_MAX_RECORDS}`));
  assert.equal(sources.leftOutCount, 0);
});

// A command wakes an input only if `hasNotBeenAwake` returns true for the input (wake.ts).
test('an input can be woken even if an earlier input with its index was awake and went without an event', () => {
  const { sources } = new SoundState();
  const mikes = Array.from({ length: SOURCES_MAX_RECORDS }, (_, index) => sourceInfo(index, `mike-${index}`));
  const leftOut = { ...sourceInfo(SOURCES_MAX_RECORDS, 'left-out'), state: RUNNING };
  // There is no room for `left-out`, which is awake. The second list lacks `left-out`, so its index is free
  // for `asleep`.
  sources.replace([...mikes, leftOut], NONE_REMOVED);
  sources.replace(mikes.slice(1), NONE_REMOVED);
  sources.put({ ...sourceInfo(SOURCES_MAX_RECORDS, 'asleep'), state: SUSPENDED });
  assert.ok(sources.hasNotBeenAwake(SOURCES_MAX_RECORDS), 'an input that was left out had this index before');

  sources.put({ ...sourceInfo(1, 'mike-1'), state: RUNNING });
  assert.ok(!sources.hasNotBeenAwake(1));
  sources.put({ ...sourceInfo(1, 'another'), state: SUSPENDED });
  assert.ok(sources.hasNotBeenAwake(1), 'an input that was kept had this index before');
});

test('inputs beyond the first SOURCES_MAX_RECORDS have no record until earlier inputs have gone, and one line of the log reports this', () => {
  const recorder = new Recorder();
  const publisher = new SoundPublisher(recorder);
  const state = new SoundState();
  state.putServer(serverInfo());
  const mikes = Array.from({ length: SOURCES_MAX_RECORDS + 2 }, (_, index) =>
    sourceInfo(index, `mike-${index}`),
  );
  const monitor = sourceInfo(99, 'living.monitor', { monitorOf: 0 });

  state.sources.replace([...mikes, monitor], NONE_REMOVED);
  publisher.update(state);
  assert.equal(recorder.all('audio.inputs').length, SOURCES_MAX_RECORDS);

  state.sources.put(sourceInfo(3, 'mike-3', { volumes: volumes(1, 1) }));
  publisher.update(state);
  assert.deepEqual(recorder.logs, ['warn: too many inputs: some are left out']);

  // SOURCES_MAX_RECORDS is 16, so these last two inputs had no record before.
  state.sources.replace(mikes.slice(-2), NONE_REMOVED);
  publisher.update(state);
  assert.deepEqual(
    recorder.all<InputRecord>('audio.inputs').map(({ name }) => name),
    ['mike-16', 'mike-17'],
  );
});

test('only the first of two inputs with one name is the default', () => {
  const recorder = new Recorder();
  const publisher = new SoundPublisher(recorder);
  const state = new SoundState();
  state.putServer(serverInfo({ defaultSource: 'twin' }));
  state.sources.put(sourceInfo(91, 'twin'));
  state.sources.put(sourceInfo(98, 'twin'));
  publisher.update(state);
  const defaults = recorder
    .all<InputRecord>('audio.inputs')
    .map(({ id, default: isDefault }) => [id, isDefault]);
  assert.deepEqual(defaults, [
    [91, true],
    [98, false],
  ]);
});

test('the port of an input is switched, and a switch to a port that the input lacks is refused', () => {
  const state = new SoundState();
  const description = text(null);
  const priority = u32(0);
  const availability = u32(2);
  const availabilityGroup = text(null);
  const type = u32(0);
  const portBytes = (name: string) =>
    [text(name), description, priority, availability, availabilityGroup, type].flat();
  const ports = [portBytes('line'), portBytes('front')];
  state.sources.put(sourceInfo(4, 'mike', { ports, activePort: 'line' }));

  assert.deepEqual(planCommand(state, { do: 'port', input: 'mike', port: 'front' }), {
    kind: 'set',
    setting: { command: 'SET_SOURCE_PORT', args: { index: 4, port: 'front' } },
    changed: { kind: 'source', index: 4 },
  });
  const refusal = planCommand(state, { do: 'port', input: 'mike', port: 'rear' });
  assert.equal(refusal.kind === 'fault' && refusal.fault.fault, 'no-such-port');
});

test('a command that sets the default input fails if the server accepts the command, but does not change its default input', async (t) => {
  const { backend, server } = await startOnScriptedServer(
    t,
    ordinaryExcept({ [COMMAND.getSources]: source({ name: 'line' }) }),
  );
  // No event has announced the input. The backend knows it from the list of all inputs.
  assert.equal(server.count(COMMAND.getSource), 0);
  assert.deepEqual(faultOf(await backend.handle({ do: 'default', input: 'line' })), 'refused');
});

test('an input that cannot be read when it is announced is read again when it changes', async (t) => {
  const INDEX = 77;
  let isReady = false;
  const handler = ordinaryExcept({
    [COMMAND.getSource]: ({ tag }, { error, reply }) =>
      isReady ? reply(tag, source({ index: INDEX, name: 'line' })) : error(tag, ERROR.noEntity),
  });
  const { server, recorder } = await startOnScriptedServer(t, handler);
  server.responder.send(event('sourceNew', INDEX));
  await until('the input is read', () => server.count(COMMAND.getSource) === 1);
  assert.deepEqual(recorder.inputs(), []);

  isReady = true;
  server.responder.send(event('sourceChange', INDEX));
  await until('the input is published', () => recorder.input('line'));
});

test('a monitor that changes is not read', async (t) => {
  const { server } = await startOnScriptedServer(t);
  // The only sink of the server names the source 0 as its monitor.
  const monitorEvent = event('sourceChange', 0);
  // This event comes second. When the stream 5 is read, the backend has handled the monitor's event, too.
  const streamEvent = event('sinkInputChange', 5);
  server.responder.send(Buffer.concat([monitorEvent, streamEvent]));
  await until('the stream is read', () => server.count(COMMAND.getInput) > 0);
  assert.equal(server.count(COMMAND.getSource), 0);
});

test('an input that changes is read, even if an output names the input as its monitor', async (t) => {
  // The only sink of the server names the source 0 as its monitor. In PipeWire one device can be both an
  // output and an input, with the same index.
  const duplex = (raw: number) => source({ index: 0, name: 'duplex', volumes: volumes(raw, raw) });
  const { server, recorder } = await startOnScriptedServer(
    t,
    ordinaryExcept({ [COMMAND.getSources]: duplex(0x10000), [COMMAND.getSource]: duplex(0x8000) }),
  );
  assert.equal(recorder.input('duplex')?.volume, 1);
  server.responder.send(event('sourceChange', 0));
  await until('the change is published', () => recorder.input('duplex')?.volume === 0.5);
});

test('small deltas add up at an input whose mixer rounds volumes, and its record has the rounded volume', async (t) => {
  /** 3 % of full volume. */
  const MIXER_STEP_RAW = 1966;
  let rounded = 10 * MIXER_STEP_RAW;
  const mike: Handler = ({ tag }, { reply }) =>
    reply(tag, source({ index: 7, name: 'mike', volumes: volumes(rounded, 0) }));
  const handler = ordinaryExcept({
    [COMMAND.getSources]: mike,
    [COMMAND.getSource]: mike,
    [COMMAND.setSourceVolume]: ({ tag, fields }, { reply }) => {
      // The letter v and the number of channels are before the volume of the first channel.
      const raw = fields.readUInt32BE(fields.indexOf('v') + 2);
      rounded = Math.round(raw / MIXER_STEP_RAW) * MIXER_STEP_RAW;
      return reply(tag);
    },
  });
  const { backend, recorder } = await startOnScriptedServer(t, handler);
  // The deltas add up to 0.31, 0.32, 0.33, 0.34, 0.35, 0.34, 0.33 and 0.32. The mixer rounds each of these
  // volumes to a multiple of 3 %.
  const reported = [];
  for (const delta of [0.01, 0.01, 0.01, 0.01, 0.01, -0.01, -0.01, -0.01]) {
    await backend.handle({ do: 'delta', target: MIKE, delta });
    reported.push(recorder.input('mike')?.volume);
  }
  assert.deepEqual(reported, [0.3, 0.33, 0.33, 0.33, 0.36, 0.33, 0.33, 0.33]);
});

test('a volume that a command has set on an input does not count for a later input with the same index', () => {
  const state = new SoundState();
  state.sources.put(sourceInfo(4, 'mike'));
  state.putRequestedVolume('source', 4, 0x8000);
  state.sources.put(sourceInfo(4, 'line'));
  const plan = planCommand(state, { do: 'delta', target: { kind: 'input', ref: 'line' }, delta: -0.1 });
  const args = plan.kind === 'set' && 'volume' in plan.setting.args ? plan.setting.args : undefined;
  assert.equal(args?.volume[0], Math.round(0.9 * 0x10000));
});
