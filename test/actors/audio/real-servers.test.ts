// Tests the audio backend on real sound servers of both kinds. test/contract/audio.test.ts has further cases,
// on the whole daemon.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Timing } from '../../../src/actors/audio/timing.js';
import type { AudioCommand, AudioTarget } from '../../../src/protocol/actor/commands.js';
import { startProgram } from '../../sound/program.js';
import type { SoundServer } from '../../sound/server.js';
import { SOUND_SERVERS, startPulseAudio } from '../../sound/servers.js';
import { skipReason } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { startBackend } from './start-backend.js';

const SERVER: AudioTarget = { kind: 'server' };
const output = (ref: string): AudioTarget => ({ kind: 'output', ref });
const client = (ref: string): AudioTarget => ({ kind: 'client', ref });

/** A backend that reads everything at this interval does so once in a test: when the connection begins. */
const HOUR_MS = 3_600_000;

/**
 * WirePlumber 0.4 and 0.5 store the cube of the loudest channel's volume. For 40 % this is 0.064. The
 * raw volume 26214 is slightly less than 40 %, so 0.063… may be stored.
 */
const KITCHEN_AT_40 = /kitchen.*0\.06[34]/;

function startOn(t: TestContext, server: SoundServer, timing: Partial<Timing> = {}) {
  const { backend, recorder } = startBackend(t, server.socketPath, { timing, home: server.directory });
  return {
    server,
    recorder,
    /** Carries a command out, and fails unless it is accepted. */
    run: async (command: AudioCommand) =>
      assert.deepEqual(await backend.handle(command), { ok: true, value: {} }, JSON.stringify(command)),
    /** The fault in the answer to the command. */
    faultOfCommand: async (command: AudioCommand) => faultOf(await backend.handle(command)),
  };
}

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 2 }, () => {
    async function startNode(t: TestContext, timing?: Partial<Timing>) {
      const sinks = [{ name: 'living', description: 'Living room' }, { name: 'kitchen' }];
      const server = await start({ sinks });
      const started = startOn(t, server, timing);
      t.after(() => server.stop());
      await until(
        'both outputs are published',
        () => started.recorder.isUp && started.recorder.outputs().length === 2,
      );
      await until('the default is known', () => started.recorder.server?.default_sink === 'living');
      return started;
    }

    describe('an output that has never been awake', () => {
      const listCaptures = (server: SoundServer) => server.pactl('list', 'short', 'source-outputs');

      test('has the requested volume when the command is answered, and the backend ends the capture that has woken the output', async (t) => {
        const { server, recorder, run } = await startNode(t);
        await run({ do: 'volume', target: output('kitchen'), volume: 0.4 });
        assert.equal(recorder.output('kitchen')?.volume, 0.4);

        // A command to the server acts on the default output, `living`.
        await run({ do: 'mute', target: SERVER });
        assert.equal(recorder.server?.muted, true);

        const reported = (await server.sinks()).map(({ name, mute, volume }) => {
          const [left] = Object.values(volume);
          return `${name} ${mute} ${left?.value_percent}`;
        });
        assert.deepEqual(reported.sort(), ['kitchen false 40%', 'living true 100%']);
        await until('no capture is left', async () => (await listCaptures(server)).trim() === '');
      });

      test('wakes with the volume and balance that another program has set, and keeps this balance through a volume of 0', async (t) => {
        const { server, recorder, run } = await startNode(t);
        for (const name of ['living', 'kitchen']) {
          const EIGHTY_PERCENT_RAW = '52428';
          const FORTY_PERCENT_RAW = '26214';
          await server.pactl('set-sink-volume', name, EIGHTY_PERCENT_RAW, FORTY_PERCENT_RAW);
        }
        // PipeWire 1.4 reports the balance only after this command has woken the kitchen.
        await run({ do: 'mute', target: output('kitchen'), muted: true });
        await until(
          'the balance that pactl has set is published',
          () => recorder.output('kitchen')?.balance === -0.5,
        );

        for (const volume of [0, 0.6]) await run({ do: 'volume', target: output('kitchen'), volume });
        assert.deepEqual(
          [recorder.output('kitchen')?.volume, recorder.output('kitchen')?.balance],
          [0.6, -0.5],
        );

        // The stream wakes `living`.
        await server.play({ sink: 'living' });
        await until(
          'the volume that pactl has set is published',
          () => recorder.output('living')?.volume === 0.8,
        );
        assert.equal(recorder.output('living')?.balance, -0.5);
      });

      // Unlike PipeWire, PulseAudio restores the volume of an output before it announces the output.
      if (kind === 'pipewire')
        test('changes by a step from the volume that the server restores', async (t) => {
          const { server, recorder, run } = await startNode(t);
          const playing = await server.play({ sink: 'kitchen' });
          const FORTY_PERCENT_RAW = '26214';
          const TWENTY_PERCENT_RAW = '13107';
          await server.pactl('set-sink-volume', 'kitchen', FORTY_PERCENT_RAW, TWENTY_PERCENT_RAW);
          const folder = join(server.directory, '.local/state/wireplumber');
          await until('the volume is stored', () =>
            readdirSync(folder).some((file) => KITCHEN_AT_40.test(readFileSync(join(folder, file), 'utf8'))),
          );

          await playing.stop();
          await server.restart();
          await until('the server is back', () => recorder.isUp && recorder.outputs().length === 2);

          await run({ do: 'delta', target: output('kitchen'), delta: -0.05 });
          const kitchen = recorder.output('kitchen');
          assert.deepEqual([kitchen?.volume, kitchen?.balance], [0.35, -0.5]);
        });
    });

    test('a command for the server changes the output that has just become the default', async (t) => {
      const { recorder, run } = await startNode(t);
      for (let round = 1; round <= 10; round += 1) {
        const name = round % 2 === 1 ? 'kitchen' : 'living';
        await run({ do: 'default', output: name });
        await run({ do: 'volume', target: SERVER, volume: round / 20 });
        assert.equal(recorder.output(name)?.volume, round / 20, `round ${round}`);
      }
    });

    test('the streams move to a new default, except those by which a combined output plays', async (t) => {
      const { server, recorder, run } = await startNode(t);
      const playing = await server.play({ sink: 'living', name: 'News' });
      const following = await server.play({ name: 'Following' });
      const args = 'slaves=living,kitchen sink_name=both'.split(' ');
      await server.pactl('load-module', 'module-combine-sink', ...args);
      await server.pactl('load-module', 'module-null-sink', 'sink_name=attic');
      const onBoth = await server.play({ sink: 'both', name: 'Everywhere' });
      await until(
        'the attic and the stream are published',
        () => recorder.output('attic') && recorder.client(onBoth.id),
      );

      // The server itself plays from `both` to `living` and `kitchen`, so these two streams have no process.
      const streamsOfBoth = (await server.sinkInputs()).filter(
        ({ properties }) => !properties['application.process.id'],
      );
      assert.equal(streamsOfBoth.length, 2);

      await run({ do: 'default', output: 'attic', move: true });
      const streams = [playing, following, onBoth];
      const outputs = streams.map(({ id }) => recorder.client(id)?.output);
      assert.deepEqual(outputs, ['attic', 'attic', 'attic']);

      const attic = (await server.sinks()).find(({ name }) => name === 'attic');
      const playedAtAttic = (await server.sinkInputs()).filter(({ sink }) => sink === attic?.index);
      assert.deepEqual(playedAtAttic.map(({ index }) => index).sort(), streams.map(({ id }) => id).sort());
      assert.equal((await server.pactl('get-default-sink')).trim(), 'attic');
    });

    // On PipeWire, another program can make a filter. On PulseAudio, only modules make filters.
    if (kind === 'pipewire')
      test('a filter of another program still plays to its output after the streams have moved to a new default', async (t) => {
        const { server, recorder, run } = await startNode(t);
        const program = startProgram(
          'pw-loopback',
          [
            '--name=equalizer',
            '--capture-props=media.class=Audio/Sink node.name=equalizer',
            '--playback-props=target.object=living',
          ],
          { env: server.env, log: join(server.directory, 'pw-loopback.log') },
        );
        t.after(() => program.end());
        await until('the filter is published', () => recorder.output('equalizer'));
        const playing = await server.play({ sink: 'equalizer', name: 'News' });
        await until('the streams are published', () => recorder.clients().length === 2);
        const filterStream = recorder.clients().find(({ id }) => id !== playing.id);
        const id = filterStream?.id ?? assert.fail('the filter has no stream');
        await until('the filter plays to the living room', () => recorder.client(id)?.output === 'living');

        await run({ do: 'default', output: 'kitchen', move: true });
        await until('the stream of News has moved', () => recorder.client(playing.id)?.output === 'kitchen');
        const sinks = await server.sinks();
        const living = sinks.find(({ name }) => name === 'living');
        const listed = (await server.sinkInputs()).find(({ index }) => index === id);
        assert.equal(listed?.sink, living?.index);
      });

    test('a paused stream that follows the default output is published with its new output, although the backend does not read everything again', async (t) => {
      const { server, recorder, run } = await startNode(t, { reconcileMs: HOUR_MS });
      const streams = await server.streams();
      await streams.open([{ corked: true, props: { 'media.name': 'Paused' } }]);
      await until('the stream is published', () => recorder.client('Paused')?.output === 'living');
      await server.pactl('set-default-sink', 'kitchen');
      await until('the stream has its new output', () => recorder.client('Paused')?.output === 'kitchen');

      // After a command, the record has the new output as soon as the command is answered.
      await run({ do: 'move', client: 'Paused', output: 'living' });
      assert.equal(recorder.client('Paused')?.output, 'living');
    });

    test('the names of clients and the balance of an output are kept while a sound server hangs and after it continues', async (t) => {
      // The backend reads everything every 100 ms. A reading without a reply ends the connection after 5 s.
      const { server, recorder, run } = await startNode(t, {
        requestMs: 5_000,
        authMs: 5_000,
        reconcileMs: 100,
      });
      await server.play({ sink: 'kitchen' });
      await server.pactl('set-sink-volume', 'kitchen', '65536', '32768');
      await until('the balance is published', () => recorder.output('kitchen')?.balance === -0.5);
      // Silent channels do not show their balance, so the backend has to remember it.
      await run({ do: 'volume', target: output('kitchen'), volume: 0 });

      const streams = await server.streams('Radio');
      const song = { props: { 'media.name': 'Song' } };
      const [older, younger] = (await streams.open([song, song])).toSorted((a, b) => a.id - b.id);
      assert.ok(older && younger);
      await until('the younger stream has a numbered name', () => recorder.client(`Song #${younger.id}`));
      await older.remove();
      await until('the older stream is gone', () => recorder.client(older.id) === undefined);

      server.freeze();
      await until('the hanging server is noticed', () => !recorder.isUp);
      server.thaw();
      await until('the server is found again', () => recorder.isUp && recorder.client(younger.id));

      assert.equal(recorder.client(younger.id)?.name, `Song #${younger.id}`);
      assert.equal(recorder.output('kitchen')?.balance, -0.5);

      await run({ do: 'volume', target: output('kitchen'), volume: 0.6 });
      const sink = (await server.sinks()).find(({ name }) => name === 'kitchen');
      const channels = Object.values(sink?.volume ?? {}).map(({ value_percent }) => value_percent);
      assert.deepEqual(channels, ['60%', '30%']);
    });
  });
}

describe('only with PulseAudio', { skip: skipReason({ programs: ['pulseaudio', 'pactl'] }) }, () => {
  test('a passthrough stream has no volume, and a command to set its volume is refused', async (t) => {
    const server = await startPulseAudio({ sinks: [{ name: 'living' }] });
    const { recorder, faultOfCommand } = startOn(t, server);
    t.after(() => server.stop());
    await until('the backend is up', () => recorder.isUp);
    const streams = await server.streams();
    const [stream] = await streams.open([{ passthrough: true, props: { 'media.name': 'Film' } }]);
    const record = await until('the stream is published', () => recorder.client('Film'));

    assert.equal(record.id, stream?.id);
    assert.equal('volume' in record, false);
    assert.equal(await faultOfCommand({ do: 'volume', target: client('Film'), volume: 0.5 }), 'no-volume');
  });

  test('a server without outputs has no default, and the first output that is added becomes the default', async (t) => {
    const server = await startPulseAudio({ sinks: [], alwaysSink: false });
    const { recorder, faultOfCommand } = startOn(t, server);
    t.after(() => server.stop());
    await until('the backend is up', () => recorder.isUp);

    const { default_sink: defaultSink, volume } = recorder.server ?? {};
    assert.deepEqual([defaultSink, volume, recorder.outputs()], ['', 0, []]);
    assert.equal(await faultOfCommand({ do: 'volume', target: SERVER, volume: 0.5 }), 'no-such-output');

    await server.addSink('garden');
    await until('the new output is the default', () => recorder.output('garden')?.default === true);
    assert.equal(recorder.server?.default_sink, 'garden');
  });
});
