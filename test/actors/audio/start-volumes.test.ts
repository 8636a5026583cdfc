// Tests when an output gets its start volume: at its first appearance in a life of the sound server. The
// last tests use real sound servers, which restore volumes of their own.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
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
import { startBackend } from './backed.js';
import { serverInfo, sinkInfo } from './sound-records.js';

const WISHES = { outputs: { kitchen: { startVolume: 0.3 } } };
/** The raw volume of 25 %. */
const QUARTER = 0x4000;
/** The cookies of two lives of the sound server. */
const COOKIE = 1;
const NEXT_COOKIE = 2;
/** Longer than the pause before an output gets its start volume (start-volumes.ts). */
const SETTLED_MS = 1_000;

/**
 * Starts a service whose runtime directory is `folder`. `connect` begins a connection to the sound server.
 * Another cookie means another life of the sound server.
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
    const volumes = new StartVolumes({ state, wishes: WISHES, knownOutputs, clock, log, run });
    /**
     * Updates the volumes from the outputs in the state, lets time pass, and returns the new commands. If
     * less than `SETTLED_MS` passes, start volumes may still be pending.
     */
    const commandsAfter = async (ms = SETTLED_MS): Promise<readonly SoundCommand[]> => {
      volumes.update();
      // `update` sets its timers only when the known names have been read.
      await knownOutputs.enterLife(cookie);
      await knownOutputs.flush();
      clock.advance(ms);
      if (ms >= SETTLED_MS) await until('nothing is pending', () => clock.timers === 0);
      await knownOutputs.flush();
      return commands.splice(0);
    };
    return { state, volumes, commandsAfter };
  };
  return { connect };
}

const setStartVolume = (output: number): SoundCommand => ({
  do: 'start-volume',
  output: String(output),
  volume: 0.3,
});

describe('the start volume of an output', () => {
  test('an output gets its start volume when it appears, once in a life of the sound server', async (t) => {
    const { connect } = startService(temporaryFolder(t));
    const { state, commandsAfter } = connect(COOKIE);
    assert.deepEqual(await commandsAfter(), []);
    state.putSink(sinkInfo(3, 'kitchen'));
    state.putSink(sinkInfo(4, 'living'));
    assert.deepEqual(await commandsAfter(), [setStartVolume(3)]);

    state.remove('sink', 3);
    assert.deepEqual(await commandsAfter(), []);
    state.putSink(sinkInfo(5, 'kitchen'));
    assert.deepEqual(await commandsAfter(), [], 'the output comes back');

    const nextLife = connect(NEXT_COOKIE);
    nextLife.state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(
      await nextLife.commandsAfter(),
      [setStartVolume(3)],
      'the sound server has another cookie',
    );
  });

  test('after a restart of the service, an output gets its start volume again only in a new life of the sound server', async (t) => {
    const folder = temporaryFolder(t);
    const expectedByService = [[setStartVolume(3)], []];
    for (const expected of expectedByService) {
      const { state, commandsAfter } = startService(folder).connect(COOKIE);
      state.putSink(sinkInfo(3, 'kitchen'));
      assert.deepEqual(await commandsAfter(), expected);
    }

    const { state, commandsAfter } = startService(folder).connect(NEXT_COOKIE);
    state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await commandsAfter(), [setStartVolume(3)]);
  });

  test('an output gets its start volume on the next connection, if the first one ended before the volume was set', async (t) => {
    const { connect } = startService(temporaryFolder(t));
    const { state, volumes, commandsAfter } = connect(COOKIE);
    state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await commandsAfter(0), []);

    volumes.end();
    const next = connect(COOKIE);
    next.state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await next.commandsAfter(), [setStartVolume(3)]);
  });

  test('an output gets no start volume if another output takes its index before the volume is sent', async (t) => {
    const { state, commandsAfter } = startService(temporaryFolder(t)).connect(COOKIE);
    state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await commandsAfter(0), []);

    state.putSink(sinkInfo(3, 'living'));
    assert.deepEqual(await commandsAfter(), []);
  });

  test('an output gets its start volume if the file of the known outputs is not valid', async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'tonearm'));
    for (const text of ['', '{"cookie":1', '{"cookie":1,"names":5}', '{"cookie":1,"names":[null]}']) {
      writeFileSync(join(folder, 'tonearm/outputs.json'), text);
      const { state, commandsAfter } = startService(folder).connect(COOKIE);
      state.putSink(sinkInfo(3, 'kitchen'));
      assert.deepEqual(await commandsAfter(), [setStartVolume(3)], text);
    }
  });

  test('an output gets its volume limit, if the limit is lower than its start volume', () => {
    const state = new SoundState({ outputs: {}, volumeLimit: { kitchen: 0.25 } });
    state.putSink(sinkInfo(3, 'kitchen', { volume: [0, 0] }));

    const plan = planCommand(state, { do: 'start-volume', output: '3', volume: 0.3 });
    assert.ok(plan.kind === 'set' && plan.setting.command === 'SET_SINK_VOLUME');
    const { volume } = plan.setting.args;
    assert.deepEqual(volume, [QUARTER, QUARTER]);
  });
});

test('the file of the known outputs has only the newest names, up to its bound', async (t) => {
  const folder = temporaryFolder(t);
  const { state, commandsAfter } = startService(folder).connect(COOKIE);
  // The bound is 256 names (known-outputs.ts), so the oldest 44 of these are forgotten.
  for (let index = 0; index < 300; index += 1) state.putSink(sinkInfo(index, `output-${index}`));
  await commandsAfter();

  const { names } = JSON.parse(readFileSync(join(folder, 'tonearm/outputs.json'), 'utf8'));
  assert.deepEqual([names.length, names[0], names.at(-1)], [256, 'output-44', 'output-299']);
});

test('the file never has names of an earlier life with the cookie of the next one', async (t) => {
  const folder = temporaryFolder(t);
  const context = { env: { XDG_RUNTIME_DIR: folder }, uid: 0, home: folder, machineId: undefined };
  const knownOutputs = new KnownOutputs(context, new ManualClock(), () => undefined);
  await knownOutputs.enterLife(COOKIE);
  knownOutputs.add(['kitchen']);
  // This write waits for the one before it, so it begins in the next life.
  knownOutputs.add(['living']);
  await knownOutputs.enterLife(NEXT_COOKIE);
  await knownOutputs.flush();

  const content = JSON.parse(readFileSync(join(folder, 'tonearm/outputs.json'), 'utf8'));
  assert.deepEqual(content, { cookie: NEXT_COOKIE, names: [] });
});

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 2 }, () => {
    /** The limit of `attic` lowers its start volume to 0.2. `living` has no start volume. */
    const SETTINGS: Partial<AudioSettings> = {
      outputs: { ...WISHES.outputs, attic: { startVolume: 0.3 } },
      volumeLimit: { attic: 0.2 },
    };

    const startOn = (t: TestContext, server: SoundServer) =>
      startBackend(t, server.socketPath, { home: server.directory, settings: SETTINGS });

    async function loudestPercent(server: SoundServer, name: string): Promise<number> {
      const sink = (await server.sinks()).find((output) => output.name === name);
      return Math.max(...percents(sink ?? assert.fail(`there is no sink ${name}`)));
    }

    test('an output gets its start volume at the start of the service, or when it is plugged in', async (t) => {
      // The sound server begins with the outputs `living` and `kitchen`.
      const server = await start();
      t.after(() => server.stop());
      const { recorder, backend } = startOn(t, server);
      await until('the output has its volume', () => recorder.output('kitchen')?.volume === 0.3);

      await server.addSink('attic');
      await until('the new output has its limit', () => recorder.output('attic')?.volume === 0.2);

      assert.deepEqual(
        await Promise.all(['living', 'kitchen', 'attic'].map((name) => loudestPercent(server, name))),
        [100, 30, 20],
      );
      await backend.stop();
    });

    test('the start volume is not set again in the same life of the sound server, even after a restart of the service', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const first = startOn(t, server);
      await until('the output has its volume', () => first.recorder.output('kitchen')?.volume === 0.3);

      await server.pactl('set-sink-volume', 'kitchen', '60%');
      await until(
        'the volume that others set is published',
        () => first.recorder.output('kitchen')?.volume === 0.6,
      );
      await first.backend.stop();

      const { recorder } = startOn(t, server);
      await until('the output is published', () => recorder.output('kitchen'));

      await server.removeSink('kitchen');
      await until('the output is gone', () => recorder.output('kitchen') === undefined);
      await server.addSink('kitchen');
      // The attic comes after the kitchen, so a start volume of the kitchen would be set before that of the
      // attic.
      await server.addSink('attic');
      await until('the attic has its start volume', () => recorder.output('attic')?.volume === 0.2);

      // The sound server itself decides with which volume the kitchen comes back. Only the start volume (30)
      // would be wrong.
      assert.notEqual(await loudestPercent(server, 'kitchen'), 30);
    });

    test('the start volume is set again in the next life of the sound server', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const { recorder } = startOn(t, server);
      await until('the output has its volume', () => recorder.output('kitchen')?.volume === 0.3);

      await server.pactl('set-sink-volume', 'kitchen', '60%');
      await until(
        'the volume that others set is published',
        () => recorder.output('kitchen')?.volume === 0.6,
      );

      await server.restart();
      await until('the output has its volume again', () => recorder.output('kitchen')?.volume === 0.3);
      assert.equal(await loudestPercent(server, 'kitchen'), 30);
    });
  });
}
