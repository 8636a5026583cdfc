// Tests the sleep on real sound servers: the fade, the pause of the players, the volume that is put back, a
// volume that somebody sets, and restarts.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { SleepRecord } from '../../../src/protocol/actor/schemas.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';
import { startBackend } from './start-backend.js';

/** The schema allows clients no sleep of less than a minute, but these tests call the backend directly. */
const SOON_MINUTES = 0.01;
/** The volumes of the left and of the right channel at the start. The balance is -0.5 then. */
const FIFTY_PERCENT_RAW = '32768';
const TWENTY_FIVE_PERCENT_RAW = '16384';

const INACTIVE: SleepRecord = { active: false };

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 2 }, () => {
    async function startPlaying(t: TestContext) {
      const server = await start({ sinks: [{ name: 'living' }, { name: 'kitchen' }] });
      t.after(() => server.stop());
      const { backend, recorder } = startBackend(t, server.socketPath, { home: server.directory });
      await until('the default is known', () => recorder.isUp && recorder.server?.default_sink === 'living');
      const stream = await server.play({ sink: 'living' });
      await server.pactl('set-sink-volume', 'living', FIFTY_PERCENT_RAW, TWENTY_FIVE_PERCENT_RAW);
      const volume = (): number | undefined => recorder.output('living')?.volume;
      /** Resolves with the record of the output as soon as the output has this volume. */
      const waitForVolume = (expected: number) =>
        until(`the volume is ${expected}`, () => volume() === expected && recorder.output('living'));
      await waitForVolume(0.5);
      await until('the stream plays', () => recorder.client(stream.id)?.corked === false);
      const sleep = (): SleepRecord | undefined => recorder.newest('audio.sleep');
      /** True after the backend has requested that the players pause. */
      const isPaused = (): boolean => recorder.requested.includes('pausePlayers');
      return { server, backend, recorder, stream, volume, waitForVolume, sleep, isPaused };
    }

    test('the output fades, the players pause, and the volume is put back when nothing plays any more', async (t) => {
      const { server, backend, stream, volume, waitForVolume, sleep, isPaused } = await startPlaying(t);
      assert.deepEqual(sleep(), INACTIVE);

      await backend.handle({ do: 'sleep', minutes: SOON_MINUTES, fade: 2 });
      assert.equal(sleep()?.active, true);
      await until('the output fades', () => (volume() ?? 1) < 0.4);
      assert.ok(!isPaused());

      await waitForVolume(0);
      await until('the players are paused', isPaused);
      await until('the sleep is over', () => sleep()?.active === false);
      assert.equal(volume(), 0, 'the volume stays 0 while the stream plays');

      await stream.stop();
      assert.equal((await waitForVolume(0.5)).balance, -0.5);
      const file = join(dirname(server.socketPath), 'tonearm/sleep.json');
      await until('the file is gone', () => !existsSync(file));
    });

    test('if something still plays to the output when a service ends, the next service puts the volume back', async (t) => {
      const { server, backend, stream, waitForVolume, sleep } = await startPlaying(t);
      await backend.handle({ do: 'sleep', minutes: SOON_MINUTES, fade: 1 });
      await waitForVolume(0);
      await until('the sleep is over', () => sleep()?.active === false);
      await backend.stop();

      const { recorder } = startBackend(t, server.socketPath, { home: server.directory });
      await until('the next service is up', () => recorder.isUp);
      assert.equal(recorder.output('living')?.volume, 0);
      await stream.stop();
      const volume = () => recorder.output('living')?.volume;
      await until('the volume is put back', () => volume() === 0.5);
    });

    // In these tests, only PipeWire stores volumes. An output of PulseAudio would not come back silent.
    if (kind === 'pipewire')
      test('if the output disappears after the fade, it gets its volume when it is there again', async (t) => {
        const { server, backend, stream, volume, waitForVolume, sleep } = await startPlaying(t);
        await backend.handle({ do: 'sleep', minutes: SOON_MINUTES, fade: 1 });
        await waitForVolume(0);
        await until('the sleep is over', () => sleep()?.active === false);

        await server.removeSink('living');
        await until('the output is gone', () => volume() === undefined);
        await stream.stop();
        await server.addSink('living');
        await waitForVolume(0.5);
      });

    test('a volume that somebody sets ends the fade, but the players are paused all the same', async (t) => {
      const { server, backend, stream, recorder, volume, waitForVolume, isPaused } = await startPlaying(t);
      await backend.handle({ do: 'sleep', minutes: SOON_MINUTES, fade: 3 });
      await until('the output fades', () => (volume() ?? 1) < 0.45);

      await server.pactl('set-sink-volume', 'living', '80%');
      await waitForVolume(0.8);

      const countBefore = recorder.published.length;
      await until('the players are paused', isPaused);
      await waitForVolume(0.8);
      await stream.stop();
      await until('the stream is gone', () => recorder.client(stream.id) === undefined);

      // The server's record has the volume of the default output.
      const furtherVolumes = recorder.published
        .slice(countBefore)
        .filter((line) => line === 'put audio.server');
      // The last step of the fade may still publish its volume. The fade then sets the volume of 80 % again
      // (fade.ts), which is published, too.
      assert.ok(furtherVolumes.length <= 2, `${furtherVolumes.length} further volumes`);
      assert.equal(volume(), 0.8);
    });

    test('if a sleep is stopped during its fade, the volume is put back and no player is paused', async (t) => {
      const { backend, volume, waitForVolume, sleep, isPaused } = await startPlaying(t);
      await backend.handle({ do: 'sleep', minutes: SOON_MINUTES, fade: 60 });
      await until('the output fades', () => (volume() ?? 1) < 0.5);

      await backend.handle({ do: 'sleep/stop' });
      await waitForVolume(0.5);
      assert.deepEqual([sleep(), isPaused()], [INACTIVE, false]);
    });

    test('a sleep fades the new default output, even if an earlier sleep has silenced an output that is gone', async (t) => {
      const { server, backend, recorder, stream, waitForVolume, sleep } = await startPlaying(t);
      await backend.handle({ do: 'sleep', minutes: SOON_MINUTES, fade: 1 });
      await waitForVolume(0);
      await until('the sleep is over', () => sleep()?.active === false);

      await server.removeSink('living');
      await until('the stream plays to the other output', () => {
        const isDefault = recorder.server?.default_sink === 'kitchen';
        return isDefault && recorder.client(stream.id)?.output === 'kitchen';
      });
      await backend.handle({ do: 'sleep', minutes: SOON_MINUTES, fade: 2 });
      await until('the other output fades', () => (recorder.output('kitchen')?.volume ?? 1) < 0.9);
    });

    test('a restart keeps the sleep, but a service that ends during the fade puts the volume back', async (t) => {
      const { server, backend, sleep } = await startPlaying(t);
      await backend.handle({ do: 'sleep', minutes: 90, fade: 7 });
      const sleepBefore = sleep();

      await backend.stop();
      const next = startBackend(t, server.socketPath, { home: server.directory });
      await until('the next service publishes a sleep', () => next.recorder.newest('audio.sleep'));
      assert.deepEqual(next.recorder.newest('audio.sleep'), sleepBefore);

      await until('the next service is up', () => next.recorder.isUp);
      await next.backend.handle({ do: 'sleep', minutes: SOON_MINUTES, fade: 60 });
      await until('the output fades', () => (next.recorder.output('living')?.volume ?? 1) < 0.5);

      await next.backend.stop();
      const third = startBackend(t, server.socketPath, { home: server.directory });
      await until('the third service is up', () => third.recorder.isUp);
      assert.equal(third.recorder.output('living')?.volume, 0.5);
    });

    test('a sleep in the file of an earlier process is over if it should have ended long ago', async (t) => {
      const server = await start({ sinks: [{ name: 'living' }] });
      t.after(() => server.stop());
      const file = join(dirname(server.socketPath), 'tonearm/sleep.json');
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${JSON.stringify({ until: '2020-01-01T00:00:00.000Z', fade: 20 })}\n`);

      const { recorder } = startBackend(t, server.socketPath, { home: server.directory });
      await until('the sleep is over', () => recorder.newest<SleepRecord>('audio.sleep')?.active === false);
      await until('the file is gone', () => !existsSync(file));
    });
  });
}
