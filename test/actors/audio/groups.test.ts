// Groups on real sound servers: made, kept, found again and taken away, while outputs and the server itself
// come and go. The single steps: group-modules.test.ts.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Groups } from '../../../src/actors/audio/group-modules.js';
import type { SoundServer } from '../../sound/server.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { startBackend } from './backed.js';

const OUTPUTS = ['living', 'kitchen'];
const GROUPS: Groups = { all: { label: `Everywhere & "so" {1}`, outputs: OUTPUTS } };
const NOWHERE = 'The group "all" plays nowhere: none of its outputs is there';

const publishedClients = ({ published }: { readonly published: readonly string[] }): readonly string[] => [
  ...new Set(published.filter((what) => what.startsWith('put audio.clients'))),
];

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 2 }, () => {
    const begin = (t: TestContext, server: SoundServer, groups: Groups) =>
      startBackend(t, server.socketPath, {}, server.directory, { groups });

    async function started(t: TestContext, sinks: readonly string[], groups = GROUPS) {
      const server = await start({ sinks: sinks.map((name) => ({ name })) });
      t.after(() => server.stop());
      return { server, ...begin(t, server, groups) };
    }

    const groupModules = async (server: SoundServer): Promise<readonly string[]> =>
      (await server.pactl('list', 'short', 'modules'))
        .split('\n')
        .filter((line) => line.includes('sink_name=tonearm.'));

    /** The names of the outputs at which the group plays. */
    async function playedAt(server: SoundServer): Promise<readonly string[]> {
      const sinks = await server.sinks();
      const own = (await server.sinkInputs()).filter(
        ({ properties }) => properties['application.process.id'] === undefined,
      );
      const names = own.map(({ sink }) => sinks.find(({ index }) => index === sink)?.name ?? 'nowhere');
      return names.sort();
    }

    const playsAt = (server: SoundServer, outputs: readonly string[]) =>
      until(`the group plays at ${outputs.join(' and ')}`, async () => {
        return (await playedAt(server)).join() === [...outputs].sort().join();
      });

    test('a group is listed as an output, and its own streams are not listed as clients', async (t) => {
      const { server, recorder, backend } = await started(t, OUTPUTS);
      const group = await until('the group is published', () => recorder.output('tonearm.all'));
      assert.deepEqual([group.group, group.label], [OUTPUTS, GROUPS['all']?.label]);
      assert.equal(recorder.output('living')?.group, undefined);
      const playing = await server.play({ sink: 'tonearm.all', name: 'News' });
      await playsAt(server, OUTPUTS);
      await until('the stream is published', () => recorder.client(playing.id)?.output === 'tonearm.all');
      assert.deepEqual(publishedClients(recorder), [`put audio.clients ${playing.id}`]);
      const own = (await server.sinkInputs()).find(({ index }) => index !== playing.id);
      const mute = await backend.handle({ do: 'mute', target: { kind: 'client', ref: `${own?.index}` } });
      assert.equal(faultOf(mute), 'no-such-client');
      const target = { kind: 'output', ref: 'tonearm.all' } as const;
      assert.equal(faultOf(await backend.handle({ do: 'volume', target, volume: 0.4 })), 'none');
      await until('the group has its volume', () => recorder.output('tonearm.all')?.volume === 0.4);
      assert.deepEqual(
        OUTPUTS.map((name) => recorder.output(name)?.volume),
        [1, 1],
      );
    });

    test('a group stays when the daemon ends, is found again, and is removed when it is no longer configured', async (t) => {
      const { server, recorder, backend } = await started(t, OUTPUTS);
      await server.pactl('load-module', 'module-combine-sink', 'sink_name=both', 'slaves=living,kitchen');
      await until('the group is published', () => recorder.output('tonearm.all'));
      const made = await groupModules(server);
      const playing = await server.play({ sink: 'tonearm.all' });
      await backend.stop();
      const again = begin(t, server, { ...GROUPS, some: { outputs: ['kitchen'] } });
      await until('another group is made', () => again.recorder.output('tonearm.some'));
      assert.deepEqual((await groupModules(server)).slice(0, 1), made);
      assert.equal(again.recorder.client(playing.id)?.output, 'tonearm.all');
      await again.backend.stop();
      const without = begin(t, server, {});
      await until('the groups are gone', () => {
        const names = without.recorder.outputs().map(({ name }) => name);
        return without.recorder.up && names.sort().join() === 'both,kitchen,living';
      });
      assert.deepEqual(await groupModules(server), []);
      await until('the stream plays elsewhere', () => {
        const { output } = without.recorder.client(playing.id) ?? {};
        return output !== undefined && output !== 'tonearm.all';
      });
      const others = 2;
      assert.equal(publishedClients(without.recorder).length, 1 + others, 'the stream, and those of `both`');
    });

    test('after the outputs of a group are changed, its clients play to it again', async (t) => {
      const { server, recorder, backend } = await started(t, [...OUTPUTS, 'attic']);
      await until('the group is published', () => recorder.output('tonearm.all'));
      const playing = await server.play({ sink: 'tonearm.all' });
      await playsAt(server, OUTPUTS);
      await backend.stop();
      const outputs = ['kitchen', 'attic'];
      const again = begin(t, server, { all: { outputs } });
      await playsAt(server, outputs);
      await until('the stream plays to it', () => {
        const group = again.recorder.output('tonearm.all')?.group?.join();
        const output = again.recorder.client(playing.id)?.output;
        return group === outputs.join() && output === 'tonearm.all';
      });
    });

    test('a group is made with one of its outputs, and other outputs join while it plays', async (t) => {
      const { server, recorder } = await started(t, ['living']);
      await until('the group is published', () => recorder.output('tonearm.all'));
      assert.equal(recorder.output('kitchen'), undefined);
      await server.play({ sink: 'tonearm.all' });
      await playsAt(server, ['living']);
      await server.addSink('kitchen');
      await playsAt(server, OUTPUTS);
      await server.removeSink('living');
      await playsAt(server, ['kitchen']);
      await server.addSink('living');
      await playsAt(server, OUTPUTS);
      assert.ok(!recorder.published.some((what) => what.startsWith('drop audio.clients')));
      assert.equal((await groupModules(server)).length, 1);
    });

    test('/health reports a group that plays to no output', async (t) => {
      const { server, recorder } = await started(t, ['attic']);
      await until('the remark is published', () => recorder.state === `up: ${NOWHERE}`);
      await server.addSink('kitchen');
      await until('the group is published', () => recorder.output('tonearm.all'));
      await until('the remark is gone', () => recorder.state === 'up');
      await server.removeSink('kitchen');
      await until('the remark is published again', () => recorder.state === `up: ${NOWHERE}`);
      assert.ok(recorder.output('tonearm.all'));
    });

    test('a default group is made again even while a stream moves to it', async (t) => {
      const { server, recorder, backend } = await started(t, OUTPUTS);
      await until('the group is published', () => recorder.output('tonearm.all'));
      assert.equal(faultOf(await backend.handle({ do: 'default', output: 'tonearm.all' })), 'none');
      const playing = await server.play({ name: 'News' });
      for (let round = 0; round < 3; round += 1) {
        const before = recorder.output('tonearm.all')?.id;
        await server.pactl('unload-module', 'module-combine-sink');
        await until(
          'another is made',
          () => ![undefined, before].includes(recorder.output('tonearm.all')?.id),
        );
        await until('the stream plays there', () => recorder.client(playing.id)?.output === 'tonearm.all');
        await playsAt(server, OUTPUTS);
      }
      assert.ok(!recorder.published.some((what) => what.startsWith('connecting')), 'the server has died');
    });

    test('a group is made again when the sound server has died while it played', async (t) => {
      const { server, recorder, backend } = await started(t, OUTPUTS);
      await until('the group is published', () => recorder.output('tonearm.all'));
      await server.play({ sink: 'tonearm.all' });
      await playsAt(server, OUTPUTS);
      await server.kill('SIGKILL');
      await until('the server is away', () => !recorder.up);
      await server.restart();
      const playing = await server.play({ name: 'News' });
      await until('the group is published', () => recorder.output('tonearm.all'));
      await until('the stream is published', () => recorder.client(playing.id));
      const move = { do: 'move', client: `${playing.id}`, output: 'tonearm.all' } as const;
      assert.equal(faultOf(await backend.handle(move)), 'none');
      await playsAt(server, OUTPUTS);
      assert.equal((await groupModules(server)).length, 1);
    });
  });
}
