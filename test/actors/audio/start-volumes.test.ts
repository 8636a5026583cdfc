// The volume that an output gets at its first appearance in a life of the sound server: when it is set, and
// when not; then on real sound servers, which restore volumes of their own.

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
/** Longer than an output has until its stored volume is restored. */
const SETTLED_MS = 1_000;

/** A service with one connection after the other, in the same runtime directory each time. */
function service(folder: string) {
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
    const follow = async (): Promise<void> => {
      volumes.update();
      await knownOutputs.enterLife(cookie);
      await knownOutputs.flush();
    };
    /** The commands after the outputs have been read, and time has passed. */
    const sent = async (ms = SETTLED_MS): Promise<readonly SoundCommand[]> => {
      await follow();
      clock.advance(ms);
      await until('nothing is pending', () => clock.timers === 0 || ms < SETTLED_MS);
      await knownOutputs.flush();
      return commands.splice(0);
    };
    return { state, volumes, sent };
  };
  return { connect };
}

const set = (output: number): SoundCommand => ({ do: 'start-volume', output: String(output), volume: 0.3 });

describe('an output gets its start volume', () => {
  test('when it appears, once in a life of the sound server', async (t) => {
    const { connect } = service(temporaryFolder(t));
    const { state, sent } = connect(1);
    assert.deepEqual(await sent(), []);
    state.putSink(sinkInfo(3, 'kitchen'));
    state.putSink(sinkInfo(4, 'living'));
    assert.deepEqual(await sent(), [set(3)]);
    state.remove('sink', 3);
    assert.deepEqual(await sent(), []);
    state.putSink(sinkInfo(5, 'kitchen'));
    assert.deepEqual(await sent(), [], 'it comes back');
    const later = connect(2);
    later.state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await later.sent(), [set(3)], 'the sound server is a new one');
  });

  test('an output gets no start volume again after a restart of the service', async (t) => {
    const folder = temporaryFolder(t);
    for (const expected of [[set(3)], []]) {
      const { state, sent } = service(folder).connect(1);
      state.putSink(sinkInfo(3, 'kitchen'));
      assert.deepEqual(await sent(), expected);
    }
    const { state, sent } = service(folder).connect(2);
    state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await sent(), [set(3)]);
  });

  test('on the next connection where the first one ended too early', async (t) => {
    const { connect } = service(temporaryFolder(t));
    const { state, volumes, sent } = connect(1);
    state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await sent(0), []);
    volumes.end();
    const again = connect(1);
    again.state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await again.sent(), [set(3)]);
  });

  test('an output gets no start volume if it has gone before this is sent, or if another output has its index', async (t) => {
    const { state, sent } = service(temporaryFolder(t)).connect(1);
    state.putSink(sinkInfo(3, 'kitchen'));
    assert.deepEqual(await sent(0), []);
    state.putSink(sinkInfo(3, 'living'));
    assert.deepEqual(await sent(), []);
  });

  test('an output gets its start volume if the file is not valid', async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'tonearm'));
    for (const text of ['', '{"cookie":1', '{"cookie":1,"names":5}', '{"cookie":1,"names":[null]}']) {
      writeFileSync(join(folder, 'tonearm/outputs.json'), text);
      const { state, sent } = service(folder).connect(1);
      state.putSink(sinkInfo(3, 'kitchen'));
      assert.deepEqual(await sent(), [set(3)], text);
    }
  });

  test('only up to its limit, if the limit is lower', () => {
    const state = new SoundState({ outputs: {}, volumeLimit: { kitchen: 0.25 } });
    state.putSink(sinkInfo(3, 'kitchen', { volume: [0, 0] }));
    const plan = planCommand(state, { do: 'start-volume', output: '3', volume: 0.3 });
    assert.ok(plan.kind === 'set' && plan.setting.command === 'SET_SINK_VOLUME');
    const { volume } = plan.setting.args;
    assert.deepEqual(
      volume,
      [0.25, 0.25].map((part) => Math.round(Math.cbrt(part ** 3) * 0x10000)),
    );
  });
});

test('the file has the newest names only, and no more than the bound', async (t) => {
  const folder = temporaryFolder(t);
  const { state, sent } = service(folder).connect(1);
  for (let index = 0; index < 300; index += 1) state.putSink(sinkInfo(index, `output-${index}`));
  await sent();
  const { names } = JSON.parse(readFileSync(join(folder, 'tonearm/outputs.json'), 'utf8'));
  assert.deepEqual([names.length, names[0], names.at(-1)], [256, 'output-44', 'output-299']);
});

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 2 }, () => {
    const SETTINGS: Partial<AudioSettings> = { ...WISHES, volumeLimit: { attic: 0.2 } };

    function begin(t: TestContext, server: SoundServer) {
      const settings = { ...SETTINGS, outputs: { ...WISHES.outputs, attic: { startVolume: 0.3 } } };
      return startBackend(t, server.socketPath, {}, server.directory, settings);
    }

    async function loudness(server: SoundServer, name: string): Promise<number> {
      const sink = (await server.sinks()).find((each) => each.name === name);
      return Math.max(...percents(sink ?? assert.fail(`there is no sink ${name}`)));
    }

    test('an output that is there at the start, and one that is plugged in, have their start volume', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const { recorder, backend } = begin(t, server);
      await until('the output has its volume', () => recorder.output('kitchen')?.volume === 0.3);
      await server.addSink('attic');
      await until('the new output has its limit', () => recorder.output('attic')?.volume === 0.2);
      assert.deepEqual(
        await Promise.all(['living', 'kitchen', 'attic'].map((name) => loudness(server, name))),
        [100, 30, 20],
      );
      await backend.stop();
    });

    test('it changes no volume in the same life again, also after a restart of the service', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const first = begin(t, server);
      await until('the output has its volume', () => first.recorder.output('kitchen')?.volume === 0.3);
      await server.pactl('set-sink-volume', 'kitchen', '60%');
      await until('others have set a volume', () => first.recorder.output('kitchen')?.volume === 0.6);
      await first.backend.stop();
      const { recorder } = begin(t, server);
      await until('it is there', () => recorder.output('kitchen'));
      await server.removeSink('kitchen');
      await until('it is gone', () => recorder.output('kitchen') === undefined);
      await server.addSink('kitchen');
      // By then the first output would have its volume again, too.
      await server.addSink('attic');
      await until('another has its start volume', () => recorder.output('attic')?.volume === 0.2);
      assert.notEqual(await loudness(server, 'kitchen'), 30);
    });

    test('it is set again in the next life of the sound server', async (t) => {
      const server = await start();
      t.after(() => server.stop());
      const { recorder } = begin(t, server);
      await until('the output has its volume', () => recorder.output('kitchen')?.volume === 0.3);
      await server.pactl('set-sink-volume', 'kitchen', '60%');
      await until('others have set a volume', () => recorder.output('kitchen')?.volume === 0.6);
      await server.restart();
      await until('the output has its volume again', () => recorder.output('kitchen')?.volume === 0.3);
      assert.equal(await loudness(server, 'kitchen'), 30);
    });
  });
}
