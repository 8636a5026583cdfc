// Tests groups on real sound servers. The daemon makes, keeps, finds again and removes its groups, while
// outputs and the server itself come and go. group-modules.test.ts tests without a server which modules are
// loaded and unloaded.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Groups } from '../../../src/actors/audio/group-modules.js';
import type { SoundServer } from '../../sound/server.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { startBackend } from './start-backend.js';

const OUTPUTS = ['living', 'kitchen'];
const GROUPS: Groups = { all: { label: `Everywhere & "so" {1}`, outputs: OUTPUTS } };
const PLAYS_NOWHERE = 'The group "all" plays nowhere: none of its outputs is there';

/** A line for each client that was ever published. */
const publishedClients = ({ published }: { readonly published: readonly string[] }): readonly string[] => [
  ...new Set(published.filter((line) => line.startsWith('put audio.clients'))),
];

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 2 }, () => {
    const startDaemon = (t: TestContext, server: SoundServer, groups: Groups) =>
      startBackend(t, server.socketPath, { home: server.directory, settings: { groups } });

    async function startWithSinks(t: TestContext, sinks: readonly string[]) {
      const server = await start({ sinks: sinks.map((name) => ({ name })) });
      t.after(() => server.stop());
      return { server, ...startDaemon(t, server, GROUPS) };
    }

    const listGroupModules = async (server: SoundServer): Promise<readonly string[]> =>
      (await server.pactl('list', 'short', 'modules'))
        .split('\n')
        .filter((line) => line.includes('sink_name=tonearm.'));

    /** The names of the outputs at which the group plays. */
    async function outputsOfGroup(server: SoundServer): Promise<readonly string[]> {
      const sinks = await server.sinks();
      // A stream that `SoundServer.play` starts has the id of its process as a property. A stream of the
      // group has no such property.
      const streamsOfGroup = (await server.sinkInputs()).filter(
        ({ properties }) => properties['application.process.id'] === undefined,
      );
      const names = streamsOfGroup.map(
        ({ sink }) => sinks.find(({ index }) => index === sink)?.name ?? 'nowhere',
      );
      return names.sort();
    }

    const waitUntilGroupPlaysAt = (server: SoundServer, outputs: readonly string[]) =>
      until(`the group plays at ${outputs.join(' and ')}`, async () => {
        // If the wait is in vain, its error says at which outputs the group plays.
        assert.deepEqual(await outputsOfGroup(server), [...outputs].sort());
        return true;
      });

    test('a group is listed as an output with its own volume, and the streams from the group to its outputs are not listed as clients', async (t) => {
      const { server, recorder, backend } = await startWithSinks(t, OUTPUTS);
      const group = await until('the group is published', () => recorder.output('tonearm.all'));
      assert.deepEqual([group.group, group.label], [OUTPUTS, GROUPS['all']?.label]);
      assert.equal(recorder.output('living')?.group, undefined);

      const playing = await server.play({ sink: 'tonearm.all', name: 'News' });
      await waitUntilGroupPlaysAt(server, OUTPUTS);
      await until('the stream is published', () => recorder.client(playing.id)?.output === 'tonearm.all');
      assert.deepEqual(publishedClients(recorder), [`put audio.clients ${playing.id}`]);

      const streamOfGroup = (await server.sinkInputs()).find(({ index }) => index !== playing.id);
      const ref = `${streamOfGroup?.index}`;
      const answer = await backend.handle({ do: 'mute', target: { kind: 'client', ref } });
      assert.equal(faultOf(answer), 'no-such-client');

      const target = { kind: 'output', ref: 'tonearm.all' } as const;
      assert.equal(faultOf(await backend.handle({ do: 'volume', target, volume: 0.4 })), 'none');
      await until('the group has its volume', () => recorder.output('tonearm.all')?.volume === 0.4);
      const volumesOfOutputs = OUTPUTS.map((name) => recorder.output(name)?.volume);
      assert.deepEqual(volumesOfOutputs, [1, 1], 'the outputs keep their own volumes');
    });

    test('the next daemon finds a group again, and a daemon without configured groups removes it', async (t) => {
      const { server, recorder, backend } = await startWithSinks(t, OUTPUTS);
      // The test loads this module as another program would, so the daemon must not unload it.
      await server.pactl('load-module', 'module-combine-sink', 'sink_name=both', 'slaves=living,kitchen');
      await until('the group is published', () => recorder.output('tonearm.all'));
      const modulesBefore = await listGroupModules(server);
      const playing = await server.play({ sink: 'tonearm.all' });

      await backend.stop();
      const next = startDaemon(t, server, { ...GROUPS, some: { outputs: ['kitchen'] } });
      await until('another group is made', () => next.recorder.output('tonearm.some'));
      const modulesNow = await listGroupModules(server);
      // The module of the group `some` is newer, so it comes last.
      assert.deepEqual(modulesNow.slice(0, 1), modulesBefore);
      assert.equal(next.recorder.client(playing.id)?.output, 'tonearm.all');

      await next.backend.stop();
      const withoutGroups = startDaemon(t, server, {});
      await until('the groups are gone', () => {
        const names = withoutGroups.recorder.outputs().map(({ name }) => name);
        return withoutGroups.recorder.isUp && names.sort().join() === 'both,kitchen,living';
      });

      assert.deepEqual(await listGroupModules(server), []);
      await until('the stream has moved from the group to another output', () => {
        const { output } = withoutGroups.recorder.client(playing.id) ?? {};
        return output !== undefined && output !== 'tonearm.all';
      });
      // The module of `both` plays one stream to each output. Both streams are published as clients, because
      // the module is not the daemon's.
      const streamsOfBoth = 2;
      assert.equal(publishedClients(withoutGroups.recorder).length, 1 + streamsOfBoth);
    });

    test('a client plays to a group again after the configured outputs of the group have changed', async (t) => {
      const { server, recorder, backend } = await startWithSinks(t, [...OUTPUTS, 'attic']);
      await until('the group is published', () => recorder.output('tonearm.all'));
      const playing = await server.play({ sink: 'tonearm.all' });
      await waitUntilGroupPlaysAt(server, OUTPUTS);

      await backend.stop();
      const outputs = ['kitchen', 'attic'];
      const next = startDaemon(t, server, { all: { outputs } });
      await waitUntilGroupPlaysAt(server, outputs);
      await until('the stream plays to the changed group', () => {
        const group = next.recorder.output('tonearm.all')?.group?.join();
        const output = next.recorder.client(playing.id)?.output;
        return group === outputs.join() && output === 'tonearm.all';
      });
    });

    test('a group is made even if one of its outputs is missing, and it always plays at exactly those of its outputs that exist', async (t) => {
      const { server, recorder } = await startWithSinks(t, ['living']);
      await until('the group is published', () => recorder.output('tonearm.all'));
      assert.equal(recorder.output('kitchen'), undefined, 'the stand-in is not published');
      await server.play({ sink: 'tonearm.all' });
      await waitUntilGroupPlaysAt(server, ['living']);

      await server.addSink('kitchen');
      await waitUntilGroupPlaysAt(server, OUTPUTS);

      await server.removeSink('living');
      await waitUntilGroupPlaysAt(server, ['kitchen']);

      await server.addSink('living');
      await waitUntilGroupPlaysAt(server, OUTPUTS);

      assert.ok(!recorder.published.some((line) => line.startsWith('drop audio.clients')));
      assert.equal((await listGroupModules(server)).length, 1);
    });

    test('each record of the server names a default output, and each record of a client names an output, even if a stand-in takes the name of the removed default output', async (t) => {
      const server = await start({ sinks: [{ name: 'attic' }, ...OUTPUTS.map((name) => ({ name }))] });
      t.after(() => server.stop());
      await server.pactl('set-default-sink', 'attic');
      const playing = await server.play({ name: 'News' });
      await server.removeSink('attic');
      await until('the stream plays to another output', async () => {
        const [living, kitchen] = await server.sinks();
        const stream = (await server.sinkInputs()).find(({ index }) => index === playing.id);
        return [living?.index, kitchen?.index].includes(stream?.sink ?? -1);
      });

      const { recorder } = startDaemon(t, server, { all: { outputs: [...OUTPUTS, 'attic'] } });
      const records: string[] = [];
      const put = recorder.put.bind(recorder);
      recorder.put = (collection, key, json) => {
        if (collection === 'audio.server' || collection === 'audio.clients') records.push(json);
        put(collection, key, json);
      };
      await until('the group is published', () => recorder.output('tonearm.all'));
      await until('the stand-in is gone', async () =>
        (await server.sinks()).every(({ name }) => name !== 'attic'),
      );
      // After `cellar` is published, `records` has all changes that the stand-in has caused.
      await server.addSink('cellar');
      await until('a later output is published', () => recorder.output('cellar'));

      const parsed: readonly { default_sink?: string; name?: string; output?: string }[] = records.map(
        (json) => JSON.parse(json),
      );
      const serverRecordsWithoutDefault = parsed.filter(({ default_sink }) => default_sink === '');
      assert.deepEqual(serverRecordsWithoutDefault, []);
      // The records of the server have no `name`.
      const clients = parsed.filter(({ name }) => name !== undefined);
      const clientRecordsWithoutOutput = clients.filter(({ output }) => output === undefined);
      assert.deepEqual(clientRecordsWithoutOutput, []);
    });

    test('/health reports a group that plays to no output', async (t) => {
      const { server, recorder } = await startWithSinks(t, ['attic']);
      await until('the remark is published', () => recorder.state === `up: ${PLAYS_NOWHERE}`);

      await server.addSink('kitchen');
      await until('the group is published', () => recorder.output('tonearm.all'));
      await until('the remark is gone', () => recorder.state === 'up');

      await server.removeSink('kitchen');
      await until('the remark is published again', () => recorder.state === `up: ${PLAYS_NOWHERE}`);
      assert.ok(recorder.output('tonearm.all'));
    });

    // Without `adjust_time=0` (group-modules.ts), PulseAudio 16 may abort in this test
    // (docs/development/what-we-learnt.md, "PulseAudio and PipeWire").
    test('if the default output is a group that is made again, a stream moves to the new group, and the sound server survives the move', async (t) => {
      const { server, recorder, backend } = await startWithSinks(t, OUTPUTS);
      await until('the group is published', () => recorder.output('tonearm.all'));
      assert.equal(faultOf(await backend.handle({ do: 'default', output: 'tonearm.all' })), 'none');
      const playing = await server.play({ name: 'News' });

      for (let round = 0; round < 3; round += 1) {
        const idBefore = recorder.output('tonearm.all')?.id;
        await server.pactl('unload-module', 'module-combine-sink');
        await until('the group is made again', () => {
          const id = recorder.output('tonearm.all')?.id;
          return id !== undefined && id !== idBefore;
        });
        await until(
          'the stream plays to the group',
          () => recorder.client(playing.id)?.output === 'tonearm.all',
        );
        await waitUntilGroupPlaysAt(server, OUTPUTS);
      }
      assert.ok(!recorder.published.some((line) => line.startsWith('connecting')), 'the server has died');
    });

    test('a group is made again when the sound server has died while the group played', async (t) => {
      const { server, recorder, backend } = await startWithSinks(t, OUTPUTS);
      await until('the group is published', () => recorder.output('tonearm.all'));
      await server.play({ sink: 'tonearm.all' });
      await waitUntilGroupPlaysAt(server, OUTPUTS);

      await server.kill('SIGKILL');
      await until('the server is away', () => !recorder.isUp);
      await server.restart();

      const playing = await server.play({ name: 'News' });
      await until('the group is published', () => recorder.output('tonearm.all'));
      await until('the stream is published', () => recorder.client(playing.id));

      const move = { do: 'move', client: `${playing.id}`, output: 'tonearm.all' } as const;
      assert.equal(faultOf(await backend.handle(move)), 'none');
      await waitUntilGroupPlaysAt(server, OUTPUTS);
      assert.equal((await listGroupModules(server)).length, 1);
    });
  });
}
