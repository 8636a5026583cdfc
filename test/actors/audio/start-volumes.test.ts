// Tests that an output gets its start volume at its first appearance in a life of the sound server. A life
// lasts from one start of the sound server to the next. The last tests use real sound servers, which also
// restore the volumes that they have stored.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { planCommand } from '../../../src/actors/audio/commands.js';
import { KnownOutputs } from '../../../src/actors/audio/known-outputs.js';
import type { SoundCommand } from '../../../src/actors/audio/setting-plan.js';
import { StartVolumes } from '../../../src/actors/audio/start-volumes.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { AudioSettings } from '../../../src/protocol/actor/settings.js';
import { ManualClock } from '../../manual-clock.js';
import { percents } from '../../sound/pactl.js';
import type { SoundServer } from '../../sound/server.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { serverInfo, sinkInfo } from './sound-records.js';
import { startBackend } from './start-backend.js';

const WISHES = { outputs: { kitchen: { startVolume: 0.3 } } };
/** The raw volume of 25 %. */
const QUARTER = 0x4000;
/** The sound server has another cookie in each of its lives. These are the cookies of two lives. */
const COOKIE = 1;
const NEXT_COOKIE = 2;
/** Longer than the pause before an output gets its start volume (start-volumes.ts). */
const SETTLED_MS = 1_000;

/**
 * Stands for a start of the service. `folder` is its runtime directory, which has the file of the known
 * outputs. These are the outputs that have appeared in the present life of the sound server. `connect` begins
 * a connection to a sound server with this cookie.
 */
function startService(folder: string) {
  const clock = new ManualClock();
  const context = { env: { XDG_RUNTIME_DIR: folder }, uid: 0, home: folder, machineId: undefined };
  const knownOutputs = new KnownOutputs(context, clock, () => undefined);
  const commands: SoundCommand[] = [];
  const connect = (cookie: number) => {
    const state = new SoundState(WISHES);
    state.putServer(serverInfo({ cookie }));
    const run = async (command: SoundCommand) => {
      commands.push(command);
      return { ok: true, value: {} } as const;
    };
    const log = () => undefined;
    const startVolumes = new StartVolumes({ state, wishes: WISHES, knownOutputs, clock, log, run });
    /**
     * Makes `startVolumes` read the outputs in `state`, lets `ms` pass, and returns the commands since the
     * last call. If `ms` is less than `SETTLED_MS`, start volumes may still be pending.
     */
    const commandsAfter = async (ms = SETTLED_MS): Promise<readonly SoundCommand[]> => {
      startVolumes.update();
      // `update` sets its timers only after the file of the known outputs has been read.
      await knownOutputs.enterLife(cookie);
      await knownOutputs.flush();
      clock.advance(ms);
      if (ms >= SETTLED_MS) await until('nothing is pending', () => clock.timers === 0);
      await knownOutputs.flush();
      return commands.splice(0);
    };
    return { state, startVolumes, commandsAfter };
  };
  return { connect };
}

const startVolumeCommand = (index: number): SoundCommand => ({
  do: 'start-volume',
  output: String(index),
  volume: 0.3,
});

describe('the start volume of an output', () => {
  test('an output gets its start volume at its first appearance in a life of the sound server, and not when it comes back', async (t) => {
    const { connect } = startService(temporaryFolder(t));
    const { state, commandsAfter } = connect(COOKIE);
    assert.deepEqual(await commandsAfter(), []);
    state.putSink(sinkInfo(3, 'kitchen'));
    state.putSink(sinkInfo(4, 'living'));
    assert.deepEqual(await commandsAfter(), [startVolumeCommand(3)]);

    state.remove('sink', 3);
    assert.deepEqual(await commandsAfter(), []);
    state.putSink(sinkInfo(5, 'kitchen'));
    assert.deepEqual(await commandsAfter(), [], 'the kitchen is not new in the same life');

    const nextLife = connect(NEXT_COOKIE);
    nextLife.state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(
      await nextLife.commandsAfter(),
      [startVolumeCommand(3)],
      'the kitchen is new in the next life',
    );
  });

  test('after a restart of the service, an output gets its start volume again only in a new life of the sound server', async (t) => {
    const folder = temporaryFolder(t);
    // The service starts twice in the first life of the sound server.
    const expectedByStart = [[startVolumeCommand(3)], []];
    for (const expected of expectedByStart) {
      const { state, commandsAfter } = startService(folder).connect(COOKIE);
      state.putSink(sinkInfo(3, 'kitchen'));
      assert.deepEqual(await commandsAfter(), expected);
    }

    const { state, commandsAfter } = startService(folder).connect(NEXT_COOKIE);
    state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await commandsAfter(), [startVolumeCommand(3)]);
  });

  test('an output gets its start volume on the next connection, if the first one ended before the volume was set', async (t) => {
    const { connect } = startService(temporaryFolder(t));
    const { state, startVolumes, commandsAfter } = connect(COOKIE);
    state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await commandsAfter(0), []);

    startVolumes.end();
    const next = connect(COOKIE);
    next.state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await next.commandsAfter(), [startVolumeCommand(3)]);
  });

  test('the start volume of an output is not sent if another output has replaced it at its index', async (t) => {
    const { state, commandsAfter } = startService(temporaryFolder(t)).connect(COOKIE);
    state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await commandsAfter(0), []);

    state.putSink(sinkInfo(3, 'living'));
    assert.deepEqual(await commandsAfter(), []);
  });

  test('an output gets its start volume even if the file of the known outputs is not valid', async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'tonearm'));
    for (const text of ['', '{"cookie":1', '{"cookie":1,"names":5}', '{"cookie":1,"names":[null]}']) {
      writeFileSync(join(folder, 'tonearm/outputs.json'), text);
      const { state, commandsAfter } = startService(folder).connect(COOKIE);
      state.putSink(sinkInfo(3, 'kitchen'));
      assert.deepEqual(await commandsAfter(), [startVolumeCommand(3)], text);
    }
  });

  test('an output gets its volume limit in place of its start volume, if the limit is lower', () => {
    const state = new SoundState({ outputs: {}, volumeLimit: { kitchen: 0.25 } });
    state.putSink(sinkInfo(3, 'kitchen', { volume: [0, 0] }));

    const plan = planCommand(state, { do: 'start-volume', output: '3', volume: 0.3 });
    assert.ok(plan.kind === 'set' && plan.setting.command === 'SET_SINK_VOLUME');
    const { volume } = plan.setting.args;
    assert.deepEqual(volume, [QUARTER, QUARTER]);
  });
});

test('the file of the known outputs has at most 256 names, the newest ones', async (t) => {
  const folder = temporaryFolder(t);
  const { state, commandsAfter } = startService(folder).connect(COOKIE);
  // The bound is in known-outputs.ts. The oldest 44 of these 300 names are forgotten.
  for (let index = 0; index < 300; index += 1) state.putSink(sinkInfo(index, `output-${index}`));
  await commandsAfter();

  const { names } = JSON.parse(readFileSync(join(folder, 'tonearm/outputs.json'), 'utf8'));
  assert.deepEqual([names.length, names[0], names.at(-1)], [256, 'output-44', 'output-299']);
});

test('the file of the known outputs never has the names of one life together with the cookie of the next life', async (t) => {
  const folder = temporaryFolder(t);
  const context = { env: { XDG_RUNTIME_DIR: folder }, uid: 0, home: folder, machineId: undefined };
  const file = join(folder, 'tonearm/outputs.json');
  const knownOutputs = new KnownOutputs(context, new ManualClock(), () => undefined);
  await knownOutputs.enterLife(COOKIE);
  knownOutputs.add(['kitchen']);
  // The write of `living` begins when the write of `kitchen` has ended.
  knownOutputs.add(['living']);
  // The next life begins between these two writes: the file is there, but the service does not know it yet,
  // because the inner loop lets it do nothing.
  while (!existsSync(file)) {
    await setImmediate();
    const spinEndMs = performance.now() + 5;
    while (!existsSync(file) && performance.now() < spinEndMs);
  }
  await knownOutputs.enterLife(NEXT_COOKIE);
  await knownOutputs.flush();

  const { cookie, names } = JSON.parse(readFileSync(file, 'utf8'));
  if (cookie === NEXT_COOKIE) assert.deepEqual(names, []);
});

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 2 }, () => {
    /** The volume limit of `attic` lowers its start volume to 0.2. `living` has no start volume. */
    const SETTINGS: Partial<AudioSettings> = {
      outputs: { ...WISHES.outputs, attic: { startVolume: 0.3 } },
      volumeLimit: { attic: 0.2 },
    };

    const startBackendOn = (t: TestContext, server: SoundServer) =>
      startBackend(t, server.socketPath, { home: server.directory, settings: SETTINGS });

    async function loudestPercent(server: SoundServer, name: string): Promise<number> {
      const sink = (await server.sinks()).find((listed) => listed.name === name);
      return Math.max(...percents(sink ?? assert.fail(`there is no sink ${name}`)));
    }

    test('an output gets its start volume at the start of the service, or when the output appears later', async (t) => {
      // The sound server begins with the outputs `living` and `kitchen`.
      const server = await start();
      t.after(() => server.stop());
      const { recorder, backend } = startBackendOn(t, server);
      await until('the kitchen has its start volume', () => recorder.output('kitchen')?.volume === 0.3);

      await server.addSink('attic');
      await until('the attic has its start volume', () => recorder.output('attic')?.volume === 0.2);

      assert.deepEqual(
        await Promise.all(['living', 'kitchen', 'attic'].map((name) => loudestPercent(server, name))),
        [100, 30, 20],
      );
      await backend.stop();
    });

    test('the start volume is not set again in the same life of the sound server, even after a restart of the service', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const first = startBackendOn(t, server);
      await until('the kitchen has its start volume', () => first.recorder.output('kitchen')?.volume === 0.3);

      await server.pactl('set-sink-volume', 'kitchen', '60%');
      await until(
        'the volume that pactl has set is published',
        () => first.recorder.output('kitchen')?.volume === 0.6,
      );
      await first.backend.stop();

      const { recorder } = startBackendOn(t, server);
      await until('the kitchen is published', () => recorder.output('kitchen'));

      await server.removeSink('kitchen');
      await until('the kitchen is gone', () => recorder.output('kitchen') === undefined);
      await server.addSink('kitchen');
      // The service sets start volumes in the order in which outputs appear. So no start volume of the
      // kitchen is pending when the attic has its start volume.
      await server.addSink('attic');
      await until('the attic has its start volume', () => recorder.output('attic')?.volume === 0.2);

      // The sound server itself decides with which volume the kitchen comes back. Only the start volume
      // (30 %) would be wrong.
      assert.notEqual(await loudestPercent(server, 'kitchen'), 30);
    });

    test('the start volume is set again in the next life of the sound server', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const { recorder } = startBackendOn(t, server);
      await until('the kitchen has its start volume', () => recorder.output('kitchen')?.volume === 0.3);

      await server.pactl('set-sink-volume', 'kitchen', '60%');
      await until(
        'the volume that pactl has set is published',
        () => recorder.output('kitchen')?.volume === 0.6,
      );

      await server.restart();
      await until('the kitchen has its start volume again', () => recorder.output('kitchen')?.volume === 0.3);
      assert.equal(await loudestPercent(server, 'kitchen'), 30);
    });
  });
}
