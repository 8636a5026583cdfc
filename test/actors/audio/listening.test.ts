// Tests on real sound servers of both kinds that inputs are heard at outputs. An input is heard through a
// loopback, which is a module of the sound server. The daemon makes, finds again, makes again and removes its
// own loopbacks. The loopbacks of other programs stay.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { AudioSettings } from '../../../src/protocol/actor/settings.js';
import type { SoundServer } from '../../sound/server.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { DEADLINE, startBackend } from './start-backend.js';

const loopbacks = async (server: SoundServer): Promise<readonly string[]> =>
  (await server.pactl('list', 'short', 'modules')).split('\n').filter((line) => line.includes('loopback'));

function startDaemon(t: TestContext, server: SoundServer, settings: Partial<AudioSettings> = {}) {
  const { backend, recorder } = startBackend(t, server.socketPath, { home: server.directory, settings });
  const faultOfCommand = async (command: Parameters<typeof backend.handle>[0]) =>
    faultOf(await backend.handle(command));
  return {
    backend,
    recorder,
    /** Resolves with the fault that answers the command, or with `none` if the command is accepted. */
    listen: (output: string, input = 'mike') => faultOfCommand({ do: 'listen', input, output }),
    /** Resolves like `listen`. Without `output`, the input is no longer heard at any output. */
    stop: (output?: string, input = 'mike') =>
      faultOfCommand({ do: 'stop-listen', input, ...(output !== undefined && { output }) }),
    /** The outputs at which `mike` is heard, according to its record. */
    outputsOfMike: () => recorder.input('mike')?.listen ?? [],
  };
}

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 2, ...DEADLINE }, () => {
    async function startWithInput(t: TestContext, settings?: Partial<AudioSettings>) {
      const server = await start();
      t.after(() => server.stop());
      await server.addInput('mike');
      const daemon = startDaemon(t, server, settings);
      await until('the input is published', () => daemon.recorder.input('mike'));
      return { server, ...daemon };
    }

    test('an input is heard through one loopback at each output until a command ends the listening, and the stream of the loopback is named after the input', async (t) => {
      const { server, recorder, listen, stop, outputsOfMike } = await startWithInput(t);
      assert.equal(await listen('living'), 'none');
      assert.deepEqual(outputsOfMike(), ['living'], 'the record has the output before the answer');
      assert.equal(await listen('living'), 'none');

      assert.equal((await loopbacks(server)).length, 1);
      const stream = recorder.clients().find(({ input }) => input === 'mike');
      assert.equal(stream?.output, 'living');
      assert.equal(stream?.name, recorder.input('mike')?.description);

      assert.equal(await listen(String(recorder.output('kitchen')?.id)), 'none');
      assert.deepEqual(outputsOfMike(), ['kitchen', 'living']);

      assert.equal(await stop('living'), 'none');
      assert.deepEqual(outputsOfMike(), ['kitchen']);

      assert.equal(await stop(), 'none');
      assert.deepEqual(outputsOfMike(), []);
      assert.deepEqual(await loopbacks(server), []);
    });

    test('a command for an input or output that does not exist is refused', async (t) => {
      const { listen, stop } = await startWithInput(t);
      // No input or output is called `none`. As an answer, `none` means that the command is accepted.
      assert.equal(await listen('living', 'none'), 'no-such-input');
      assert.equal(await listen('none'), 'no-such-output');
      assert.equal(await stop('living', 'none'), 'no-such-input');
      assert.equal(await stop('none'), 'no-such-output');
      assert.equal(await stop(), 'none');
    });

    test('an input stays audible while the daemon is away, and the next daemon can stop it', async (t) => {
      const { server, backend, listen } = await startWithInput(t);
      assert.equal(await listen('living'), 'none');

      await backend.stop();
      assert.equal((await loopbacks(server)).length, 1);

      const next = startDaemon(t, server);
      await until('the record of the next daemon has the output', () => next.outputsOfMike().length === 1);
      assert.equal(await next.listen('living'), 'none');
      assert.equal((await loopbacks(server)).length, 1);
      assert.equal(await next.stop(), 'none');
      assert.deepEqual(await loopbacks(server), []);
    });

    test('an input is heard again when it comes back after a restart of the sound server', async (t) => {
      const { server, recorder, listen, outputsOfMike } = await startWithInput(t);
      assert.equal(await listen('kitchen'), 'none');

      await server.restart();
      await until('the daemon is connected again', () => recorder.isUp && recorder.outputs().length === 2);
      assert.deepEqual(await loopbacks(server), []);

      await server.addInput('mike');
      await until('the input is heard again', () => outputsOfMike().length === 1);
      assert.equal((await loopbacks(server)).length, 1);
    });

    test('a configured input is heard without a command, also after its output has come back', async (t) => {
      const { server, outputsOfMike, stop } = await startWithInput(t, { listen: { mike: 'attic' } });
      await server.addSink('attic');
      await until('the input is heard', () => outputsOfMike().length === 1);

      await server.removeSink('attic');
      await until('the loopback is gone', async () => (await loopbacks(server)).length === 0);
      await server.addSink('attic');
      await until('the input is heard again', () => outputsOfMike().length === 1);
      assert.equal(await stop('attic'), 'none');
      assert.deepEqual(await loopbacks(server), []);
    });

    test('an input is no longer heard when the configuration does not name it any more', async (t) => {
      const { server, backend, outputsOfMike } = await startWithInput(t, { listen: { mike: 'living' } });
      await until('the input is heard', () => outputsOfMike().length === 1);
      await backend.stop();
      startDaemon(t, server);
      await until('the loopback is gone', async () => (await loopbacks(server)).length === 0);
    });

    test('a configured loopback still counts as configured after a client has stopped it and begun it again', async (t) => {
      const { server, backend, outputsOfMike, listen, stop } = await startWithInput(t, {
        listen: { mike: 'living' },
      });
      await until('the input is heard', () => outputsOfMike().length === 1);
      assert.equal(await stop('living'), 'none');
      assert.equal(await listen('living'), 'none');
      const [loopback = ''] = await loopbacks(server);
      assert.match(loopback, /tonearm\.listen_by=configuration/);

      // A daemon without this configuration unloads configured loopbacks, but keeps those of commands.
      await backend.stop();
      startDaemon(t, server);
      await until('the loopback is gone', async () => (await loopbacks(server)).length === 0);
    });

    test('the listening that a command has begun ends when its output goes, and does not begin again when the output comes back', async (t) => {
      const { server, listen, outputsOfMike } = await startWithInput(t);
      await server.addSink('attic');
      // The command is refused, and tried again, until the daemon knows the attic.
      await until('the attic is known', async () => (await listen('attic')) === 'none');
      await until('the input is heard', () => outputsOfMike().length === 1);
      assert.equal(await listen('living'), 'none');

      await server.removeSink('attic');
      await until('one loopback is left', async () => (await loopbacks(server)).length === 1);
      await server.addSink('attic');
      // The loopback that remains plays at `living`. When this loopback is unloaded, the daemon reads all
      // outputs, and makes the loopback again. If the input were still to be heard at the attic, the daemon
      // would now make a loopback for the attic, too.
      const [remaining = ''] = await loopbacks(server);
      const [moduleIndex = ''] = remaining.split('\t');
      await server.pactl('unload-module', moduleIndex);
      await until('the loopback is made again', async () => (await loopbacks(server)).length > 0);
      await until('the record of the input has the output', () => outputsOfMike().join() === 'living');
      assert.equal((await loopbacks(server)).length, 1);
    });

    test('the loopback of another program stays when a command ends the listening to the same input', async (t) => {
      const { server, recorder, listen, stop, outputsOfMike } = await startWithInput(t);
      await server.pactl('load-module', 'module-loopback', 'source=mike', 'sink=kitchen', 'latency_msec=200');
      await until('the stream is published', () => recorder.clients().length === 1);
      const [foreignStream] = recorder.clients();
      assert.equal(foreignStream?.input, undefined, 'only a loopback of tonearm names its input');

      assert.equal(await listen('kitchen'), 'none');
      await until('the streams of both loopbacks are published', () => recorder.clients().length === 2);
      await until('the record of the input has the output', () => outputsOfMike().join() === 'kitchen');

      assert.equal(await stop(), 'none');
      const [foreign = '', ...others] = await loopbacks(server);
      assert.match(foreign, /latency_msec=200/);
      assert.deepEqual(others, []);
    });

    // One kind of server is enough here, because the daemon enforces this limit. PipeWire 1.4.2 may crash
    // while it makes these outputs and loopbacks (docs/development/what-we-learnt.md, "PulseAudio and
    // PipeWire").
    if (kind === 'pulseaudio')
      test('an input is heard at eight outputs at most', async (t) => {
        const { server, recorder, listen } = await startWithInput(t);
        // With `living` and `kitchen` these are nine outputs.
        for (let room = 0; room < 7; room += 1) await server.addSink(`room${room}`);
        await until('all outputs are published', () => recorder.outputs().length === 9);

        const answers: string[] = [];
        for (const { name } of recorder.outputs()) answers.push(await listen(name));
        assert.deepEqual(answers, [...Array(8).fill('none'), 'too-many-listens']);
        assert.equal((await loopbacks(server)).length, 8);
      });
  });
}
