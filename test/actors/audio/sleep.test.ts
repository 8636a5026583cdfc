// The sleep on real sound servers: the fade, the pause, the volume that comes back, hands on it, restarts.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { SleepRecord } from '../../../src/protocol/actor/schemas.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';
import { startBackend } from './backed.js';

/** Below what a client may ask for. */
const SOON = 0.01;
const INACTIVE: SleepRecord = { active: false };

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 2 }, () => {
    async function playing(t: TestContext) {
      const server = await start({ sinks: [{ name: 'living' }, { name: 'kitchen' }] });
      t.after(() => server.stop());
      const { backend, recorder } = startBackend(t, server.socketPath, {}, server.directory);
      await until('the default is known', () => recorder.up && recorder.server?.default_sink === 'living');
      const stream = await server.play({ sink: 'living' });
      await server.pactl('set-sink-volume', 'living', '32768', '16384');
      const volume = (): number | undefined => recorder.output('living')?.volume;
      const volumeIs = (expected: number) =>
        until(`the volume is ${expected}`, () => volume() === expected && recorder.output('living'));
      await volumeIs(0.5);
      await until('it plays', () => recorder.client(stream.id)?.corked === false);
      const sleep = (): SleepRecord | undefined => recorder.one('audio.sleep');
      const isPaused = (): boolean => recorder.requested.includes('pausePlayers');
      return { server, backend, recorder, stream, volume, volumeIs, sleep, isPaused };
    }

    test('the output fades, the players pause, and the volume is put back when nothing sounds', async (t) => {
      const { server, backend, stream, volume, volumeIs, sleep, isPaused } = await playing(t);
      assert.deepEqual(sleep(), INACTIVE);
      await backend.handle({ do: 'sleep', minutes: SOON, fade: 2 });
      assert.equal(sleep()?.active, true);
      await until('it fades', () => (volume() ?? 1) < 0.4);
      assert.ok(!isPaused());
      await volumeIs(0);
      await until('the players are paused', isPaused);
      await until('the sleep is over', () => sleep()?.active === false);
      assert.ok(!existsSync(join(dirname(server.socketPath), 'tonearm/sleep.json')));
      assert.equal(volume(), 0, 'the stream sounds on');
      await stream.stop();
      assert.equal((await volumeIs(0.5)).balance, -0.5);
    });

    test('a volume that somebody sets ends the fade, but the players are still paused at the end', async (t) => {
      const { server, backend, stream, recorder, volume, volumeIs, isPaused } = await playing(t);
      await backend.handle({ do: 'sleep', minutes: SOON, fade: 3 });
      await until('it fades', () => (volume() ?? 1) < 0.45);
      await server.pactl('set-sink-volume', 'living', '80%');
      await volumeIs(0.8);
      const steps = recorder.published.length;
      await until('the players are paused', isPaused);
      await volumeIs(0.8);
      await stream.stop();
      await until('the stream is gone', () => recorder.client(stream.id) === undefined);
      const further = recorder.published.slice(steps).filter((line) => line === 'put audio.server');
      // A step that was on its way to the server is published, and then the volume that is set again.
      assert.ok(further.length <= 2, `${further.length} further volumes`);
      assert.equal(volume(), 0.8);
    });

    test('a sleep that is stopped while it fades puts the volume back and pauses nobody', async (t) => {
      const { backend, volume, volumeIs, sleep, isPaused } = await playing(t);
      await backend.handle({ do: 'sleep', minutes: SOON, fade: 60 });
      await until('it fades', () => (volume() ?? 1) < 0.5);
      await backend.handle({ do: 'sleep/stop' });
      await volumeIs(0.5);
      assert.deepEqual([sleep(), isPaused()], [INACTIVE, false]);
    });

    test('a restart keeps the sleep timer; a service that ends during the fade puts the volume back', async (t) => {
      const { server, backend, sleep } = await playing(t);
      await backend.handle({ do: 'sleep', minutes: 90, fade: 7 });
      const before = sleep();
      await backend.stop();
      const next = startBackend(t, server.socketPath, {}, server.directory);
      await until('it is known', () => next.recorder.one('audio.sleep'));
      assert.deepEqual(next.recorder.one('audio.sleep'), before);
      await until('it is up', () => next.recorder.up);
      await next.backend.handle({ do: 'sleep', minutes: SOON, fade: 60 });
      await until('it fades', () => (next.recorder.output('living')?.volume ?? 1) < 0.5);
      await next.backend.stop();
      const last = startBackend(t, server.socketPath, {}, server.directory);
      await until('it is up', () => last.recorder.up);
      assert.equal(last.recorder.output('living')?.volume, 0.5);
    });

    test('a sleep timer that an earlier process left long ago is over', async (t) => {
      const server = await start({ sinks: [{ name: 'living' }] });
      t.after(() => server.stop());
      const file = join(dirname(server.socketPath), 'tonearm/sleep.json');
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${JSON.stringify({ until: '2020-01-01T00:00:00.000Z', fade: 20 })}\n`);
      const { recorder } = startBackend(t, server.socketPath, {}, server.directory);
      await until('it is over', () => recorder.one<SleepRecord>('audio.sleep')?.active === false);
      await until('the file is gone', () => !existsSync(file));
    });
  });
}
