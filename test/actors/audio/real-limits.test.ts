// Tests on real sound servers: volume limits, passthrough, and outputs that share a name. These servers
// change volumes by themselves: flat volumes make an output as loud as its loudest stream, and a passthrough
// stream sets its output to 100 %.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { AudioCommand, AudioTarget } from '../../../src/protocol/actor/commands.js';
import type { AudioSettings } from '../../../src/protocol/actor/settings.js';
import { percents } from '../../sound/pactl.js';
import type { SoundServer } from '../../sound/server.js';
import { SOUND_SERVERS, startPulseAudio } from '../../sound/servers.js';
import { skipReason } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { startBackend } from './start-backend.js';

const output = (ref: string): AudioTarget => ({ kind: 'output', ref });
const client = (ref: string): AudioTarget => ({ kind: 'client', ref });
const setVolume = (target: AudioTarget, volume: number): AudioCommand => ({ do: 'volume', target, volume });

async function startOn(t: TestContext, server: SoundServer, volumeLimit?: AudioSettings['volumeLimit']) {
  const { backend, recorder } = startBackend(t, server.socketPath, {
    home: server.directory,
    settings: { volumeLimit },
  });
  t.after(() => server.stop());
  await until('the backend is up', () => recorder.isUp);
  /** Carries a command out, and returns its fault; `none` if it is accepted. */
  const run = async (command: AudioCommand): Promise<string> => faultOf(await backend.handle(command));
  /** Carries a command out, and returns the reason of its refusal; `none` if it is accepted. */
  const refusal = async (command: AudioCommand): Promise<string> => {
    const answer = await backend.handle(command);
    return answer.ok ? 'none' : answer.error.detail;
  };
  const loudestPercent = async (name: string): Promise<number> => {
    const sink = (await server.sinks()).find((listed) => listed.name === name);
    return Math.max(...percents(sink ?? assert.fail(`there is no sink ${name}`)));
  };
  return { server, recorder, run, refusal, loudestPercent };
}

/** The modules of filters, with their arguments. Each filter plays to the output `living`. */
const FILTERS = {
  'module-virtual-sink': 'sink_name=filter master=living',
  'module-echo-cancel': 'sink_name=filter sink_master=living source_master=microphone aec_method=speex',
  'module-remap-sink': 'sink_name=filter master=living',
};

const SINKS = [{ name: 'living' }, { name: 'kitchen' }];

describe('with PulseAudio', {
  skip: skipReason({ programs: ['pulseaudio', 'pactl', 'pacat'] }),
  concurrency: 2,
}, () => {
  for (const [module, args] of Object.entries(FILTERS)) {
    test(`a filter of ${module} has the limit of the output to which it plays`, async (t) => {
      const sound = await startPulseAudio({ sinks: SINKS });
      const { server, recorder, run, loudestPercent } = await startOn(t, sound, { living: 0.5 });
      await server.pactl('load-module', 'module-null-source', 'source_name=microphone');
      await server.pactl('set-sink-volume', 'living', '40%');
      await server.pactl('load-module', module, ...args.split(' '));
      await until('the filter is published', () => recorder.output('filter'));

      assert.equal(recorder.output('filter')?.volume_limit, 0.5);
      assert.equal(await run(setVolume(output('filter'), 0.9)), 'bad-value');
      assert.equal(await run(setVolume(output('filter'), 0.45)), 'none');
      for (let step = 0; step < 3; step += 1)
        assert.equal(await run({ do: 'delta', target: output('filter'), delta: 0.2 }), 'none');

      assert.equal(await loudestPercent('filter'), 50);
      assert.ok((await loudestPercent('living')) <= 50);
    });
  }

  test('a filter whose stream is moved has the limit of the new output', async (t) => {
    const sound = await startPulseAudio({ sinks: SINKS });
    const { server, recorder, run } = await startOn(t, sound, { kitchen: 0.3 });
    await server.pactl('set-sink-volume', 'kitchen', '20%');
    await server.pactl('load-module', 'module-virtual-sink', 'sink_name=filter', 'master=living');
    await until('the filter is published', () => recorder.output('filter'));
    assert.equal(recorder.output('filter')?.volume_limit, undefined);

    const [streamOfFilter] = await server.sinkInputs();
    const ref = String(streamOfFilter?.index);
    assert.equal(
      await run(setVolume(client(ref), 0.5)),
      'no-volume',
      'the volume of this stream follows the filter',
    );

    assert.equal(await run({ do: 'move', client: ref, output: 'kitchen' }), 'none');
    await until('the filter has its new limit', () => recorder.output('filter')?.volume_limit === 0.3);
    assert.equal(await run(setVolume(output('filter'), 0.5)), 'bad-value');
  });

  test('a client gets no louder than the limit of its output under flat volumes, even if it plays through a filter', async (t) => {
    const flat = await startPulseAudio({ sinks: SINKS, flatVolumes: true });
    const { server, recorder, run, loudestPercent } = await startOn(t, flat, { living: 0.5 });
    await server.pactl('set-sink-volume', 'living', '40%');
    await server.pactl('load-module', 'module-virtual-sink', 'sink_name=filter', 'master=living');
    for (const sink of ['living', 'filter']) {
      const playing = await server.play({ sink, name: `on ${sink}` });
      await until('the stream is published', () => recorder.client(playing.id));
      const stream = client(`${playing.id}`);
      for (const volume of [1, 0.8]) assert.equal(await run(setVolume(stream, volume)), 'none');
      assert.equal(await run({ do: 'delta', target: stream, delta: 0.3 }), 'none');
      assert.equal(await loudestPercent('living'), 50);
      assert.equal(recorder.client(playing.id)?.volume, 0.5);
      await playing.stop();
    }

    const playingWithoutLimit = await server.play({ sink: 'kitchen' });
    await until('the stream is published', () => recorder.client(playingWithoutLimit.id));
    assert.equal(await run(setVolume(client(`${playingWithoutLimit.id}`), 1)), 'none');
    assert.equal(await loudestPercent('kitchen'), 100);
  });

  test('a volume that another program sets above the limit is published unchanged, also after commands that set no volume', async (t) => {
    const sound = await startPulseAudio({ sinks: SINKS });
    const { server, recorder, run } = await startOn(t, sound, { living: 0.5 });
    await server.pactl('set-sink-volume', 'living', '90%');
    await until('the volume of 90 % is published', () => recorder.output('living')?.volume === 0.9);

    assert.equal(await run({ do: 'default', output: 'living' }), 'none');
    assert.equal(await run({ do: 'mute', target: output('living') }), 'none');
    assert.equal(recorder.output('living')?.volume, 0.9);
  });

  test('while a passthrough stream plays to an output, the output refuses volume, step and balance, but accepts a mute', async (t) => {
    const sound = await startPulseAudio({ sinks: [{ name: 'living' }] });
    const { server, recorder, run } = await startOn(t, sound);
    const streams = await server.streams();
    const [film] = await streams.open([{ passthrough: true, props: { 'media.name': 'Film' } }]);
    await until('the stream is published', () => recorder.client('Film'));

    const commands: readonly AudioCommand[] = [
      setVolume(output('living'), 0.5),
      setVolume({ kind: 'server' }, 0.5),
      { do: 'delta', target: output('living'), delta: -0.1 },
      { do: 'balance', output: 'living', balance: 0.5 },
    ];
    for (const command of commands) assert.equal(await run(command), 'no-volume', JSON.stringify(command));
    assert.equal(await run({ do: 'mute', target: output('living'), muted: true }), 'none');
    assert.equal((await server.sinks())[0]?.mute, true);

    await film?.remove();
    // The backend reads the record of the stream again before it refuses a command. So the test need not
    // wait for the event about the stream's end.
    for (const command of commands) assert.equal(await run(command), 'none', JSON.stringify(command));
  });

  test('while a stream in AC-3 plays, neither the stream nor its output has a volume, and a refusal says why', async (t) => {
    const sound = await startPulseAudio({ sinks: SINKS });
    const { server, recorder, run, refusal } = await startOn(t, sound);
    // With these formats, the output takes AC-3 besides PCM.
    const formats = `formats='ac3-iec61937, format.rate = "[ 44100, 48000 ]"; pcm'`;
    await server.pactl('load-module', 'module-null-sink', 'sink_name=cinema', 'rate=48000', formats);
    const streams = await server.streams();
    const [film] = await streams.open([{ ac3: true, sink: 'cinema', props: { 'media.name': 'Film' } }]);

    const record = await until('the stream is published', () => recorder.client('Film'));
    assert.equal(record.volume, undefined);
    const detail = 'The output has no volume while "Film" is played as AC-3 (passthrough)';
    assert.equal(await refusal(setVolume(output('cinema'), 0.5)), detail);

    await film?.remove();
    assert.equal(await run(setVolume(output('cinema'), 0.5)), 'none');
  });

  test('a passthrough stream is not moved to an output with a limit, because the stream would set that output to 100 %', async (t) => {
    const sound = await startPulseAudio({ sinks: SINKS });
    const { server, recorder, run } = await startOn(t, sound, { kitchen: 0.5 });
    const streams = await server.streams();
    await streams.open([{ passthrough: true, sink: 'living', props: { 'media.name': 'Film' } }]);
    await until('the stream is published', () => recorder.client('Film'));
    assert.equal(await run({ do: 'move', client: 'Film', output: 'kitchen' }), 'no-volume');
  });

  test('an output with a limit does not become the default if a passthrough stream would then move to that output', async (t) => {
    const sound = await startPulseAudio({ sinks: SINKS });
    const { server, recorder, run, refusal, loudestPercent } = await startOn(t, sound, { kitchen: 0.5 });
    await server.pactl('set-sink-volume', 'kitchen', '30%');
    const streams = await server.streams();
    const [film] = await streams.open([{ passthrough: true, props: { 'media.name': 'Film' } }]);
    await until('the stream is published', () => recorder.client('Film')?.output === 'living');

    for (const move of [false, true])
      assert.equal(await run({ do: 'default', output: 'kitchen', move }), 'no-volume');
    const detail =
      '"Film" may follow to the output; it is played as it is (passthrough), which sets the output to 100 %, above its volume_limit';
    assert.equal(await refusal({ do: 'default', output: 'kitchen' }), detail);
    assert.equal(await loudestPercent('kitchen'), 30);
    assert.equal(await run({ do: 'default', output: 'living' }), 'none', 'living is already the default');

    await film?.remove();
    assert.equal(await run({ do: 'default', output: 'kitchen' }), 'none');
  });
});

// Only PipeWire lets two outputs have the same name. PulseAudio gives the second one another name.
for (const { kind, skip, start } of SOUND_SERVERS.filter((server) => server.kind === 'pipewire')) {
  test(`with ${kind} two outputs with the same name are commanded by id, but neither can become the default`, {
    skip,
  }, async (t) => {
    const { server, recorder, run } = await startOn(t, await start({ sinks: SINKS }));
    await server.pactl('load-module', 'module-null-sink', 'sink_name=kitchen');
    await until('both outputs called kitchen are published', () => recorder.outputs().length === 3);
    const ids = recorder.outputs().flatMap(({ id, name }) => (name === 'kitchen' ? [String(id)] : []));

    for (const [index, id] of ids.entries()) {
      assert.equal(await run(setVolume(output(id), 0.2 + index / 10)), 'none');
      assert.equal(await run({ do: 'default', output: id }), 'same-name');
    }

    const volumes = ids.map((id) => recorder.outputs().find((record) => String(record.id) === id)?.volume);
    assert.deepEqual(volumes, [0.2, 0.3]);
    assert.equal(await run({ do: 'default', output: 'kitchen' }), 'same-name');
    assert.equal(await run({ do: 'default', output: 'living' }), 'none');
  });
}
