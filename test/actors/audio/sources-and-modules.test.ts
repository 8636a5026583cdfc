// Tests the sound server's protocol on real servers, PulseAudio and PipeWire: the requests for sources and
// modules.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { peakStream } from '../../../src/actors/audio/levels.js';
import { RAW_NORM } from '../../../src/protocol/pulse/volume.js';
import { Mixer } from '../../contract/stream-mixer.js';
import type { SoundServer } from '../../sound/server.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';

/** The module that makes the source `microphone`, by the kind of the server. */
const MICROPHONE_MODULES = {
  pulseaudio: { name: 'module-null-source', argument: 'source_name=microphone description=Mike' },
  pipewire: {
    name: 'module-null-sink',
    argument: 'media.class=Audio/Source/Virtual sink_name=microphone channel_map=mono',
  },
};
const HALF = Math.round(RAW_NORM / 2);
/** PipeWire converts volumes, so the volume that it reports may differ from `HALF` by one. */
const isAboutHalf = (raw: number): boolean => Math.abs(raw - HALF) < 2;
/** The two kinds of server refuse an unknown port with different errors. */
const UNKNOWN_PORT = /NOTIMPLEMENTED|NOENTITY/;

async function addMicrophone(server: SoundServer) {
  const mixer = await Mixer.connect(server.socketPath);
  const { index: moduleIndex } = await mixer.ask('LOAD_MODULE', MICROPHONE_MODULES[server.kind]);
  const { index } = await until('the source is listed', async () =>
    (await mixer.ask('GET_SOURCE_INFO_LIST', {})).find(({ name }) => name === 'microphone'),
  );
  return { mixer, moduleIndex, index, readSource: () => mixer.ask('GET_SOURCE_INFO', { index }) };
}

for (const { kind, skip, start } of SOUND_SERVERS) {
  describe(`with ${kind}`, { skip, concurrency: 1 }, () => {
    async function startWithMicrophone(t: TestContext) {
      const server = await start();
      t.after(() => server.stop());
      const microphone = await addMicrophone(server);
      t.after(() => microphone.mixer.close());
      return microphone;
    }

    test('the volume and mute of a source can be set, a source can become the default, and an unknown port is refused', async (t) => {
      const { mixer, index, readSource } = await startWithMicrophone(t);
      // A monitor names its sink. The microphone is no monitor, and names no sink.
      const [sink] = await mixer.ask('GET_SINK_INFO_LIST', {});
      const sources = await mixer.ask('GET_SOURCE_INFO_LIST', {});
      const monitor = sources.find((source) => source.index === sink?.monitorSource);
      assert.deepEqual([monitor?.monitorOfSink, monitor?.monitorOfSinkName], [sink?.index, sink?.name]);

      const before = await readSource();
      assert.deepEqual([before.monitorOfSink, before.ports], [undefined, []]);
      // PipeWire 1.4 reports a new volume only after the source has been awake. This stream wakes the source.
      const letsDeviceSleep = false;
      const wakingStream = peakStream(index, before.channelMap, 'Wake up', letsDeviceSleep);
      await mixer.ask('CREATE_RECORD_STREAM', wakingStream);

      const volume = before.channelMap.map(() => HALF);
      await mixer.ask('SET_SOURCE_VOLUME', { index, volume });
      await mixer.ask('SET_SOURCE_MUTE', { index, muted: true });
      await until('the source has the volume, and is muted', async () => {
        const { volume: volumes, muted } = await readSource();
        return muted && volumes.every(isAboutHalf);
      });

      await mixer.ask('SET_DEFAULT_SOURCE', { name: 'microphone' });
      await until('the microphone is the default', async () => {
        return (await mixer.ask('GET_SERVER_INFO', {})).defaultSource === 'microphone';
      });

      await assert.rejects(mixer.ask('SET_SOURCE_PORT', { index, port: 'none' }), UNKNOWN_PORT);
    });

    test('a stream that captures a source is listed with its source and its name', async (t) => {
      const { mixer, index, readSource } = await startWithMicrophone(t);
      const { channelMap } = await readSource();
      const letsDeviceSleep = true;
      const stream = peakStream(index, channelMap, 'Peaks', letsDeviceSleep);
      const { sourceOutput } = await mixer.ask('CREATE_RECORD_STREAM', stream);

      const sourceOutputs = await mixer.ask('GET_SOURCE_OUTPUT_INFO_LIST', {});
      const listed = sourceOutputs.find((candidate) => candidate.index === sourceOutput);
      assert.deepEqual([listed?.source, listed?.props['media.name']], [index, 'Peaks']);
    });

    test('a module is listed with the argument of LOAD_MODULE, and is gone after UNLOAD_MODULE; the server refuses to load an unknown module', async (t) => {
      const { mixer, moduleIndex } = await startWithMicrophone(t);
      const { name, argument } = MICROPHONE_MODULES[kind];
      const modules = await mixer.ask('GET_MODULE_INFO_LIST', {});
      const listed = modules.find(({ index }) => index === moduleIndex);
      assert.deepEqual([listed?.name, listed?.argument], [name, argument]);
      assert.deepEqual(await mixer.ask('GET_MODULE_INFO', { index: moduleIndex }), listed);

      await mixer.ask('UNLOAD_MODULE', { index: moduleIndex });
      await assert.rejects(mixer.ask('GET_MODULE_INFO', { index: moduleIndex }), /NOENTITY/);
      // The error of `ask` has `server` in its message if the server refuses the request.
      await assert.rejects(mixer.ask('LOAD_MODULE', { name: 'module-nothing', argument: '' }), /server/);
    });
  });
}
