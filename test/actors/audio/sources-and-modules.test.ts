// Tests the commands for sources and modules on real sound servers of both kinds.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { peakStream } from '../../../src/actors/audio/levels.js';
import { RAW_NORM } from '../../../src/protocol/pulse/volume.js';
import { Mixer } from '../../contract/stream-mixer.js';
import type { SoundServer } from '../../sound/server.js';
import { SOUND_SERVERS } from '../../sound/servers.js';
import { until } from '../../until.js';

const MICROPHONE = {
  pulseaudio: { name: 'module-null-source', argument: 'source_name=microphone description=Mike' },
  pipewire: {
    name: 'module-null-sink',
    argument: 'media.class=Audio/Source/Virtual sink_name=microphone channel_map=mono',
  },
};
const HALF = Math.round(RAW_NORM / 2);
/** PipeWire converts volumes, so the source's volume may differ by one. */
const isAboutHalf = (raw: number): boolean => Math.abs(raw - HALF) < 2;
/** The two kinds of server refuse an unknown port with different errors. */
const UNKNOWN_PORT = /NOTIMPLEMENTED|NOENTITY/;

async function addMicrophone(server: SoundServer) {
  const mixer = await Mixer.connect(server.socketPath);
  const { index: module } = await mixer.ask('LOAD_MODULE', MICROPHONE[server.kind]);
  const { index } = await until('the source is listed', async () =>
    (await mixer.ask('GET_SOURCE_INFO_LIST', {})).find(({ name }) => name === 'microphone'),
  );
  return { mixer, module, index, read: () => mixer.ask('GET_SOURCE_INFO', { index }) };
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

    test('a source can be read and set, but not to an unknown port', async (t) => {
      const { mixer, index, read } = await startWithMicrophone(t);
      // A monitor names its sink. The microphone is no monitor, and names no sink.
      const [sink] = await mixer.ask('GET_SINK_INFO_LIST', {});
      const sources = await mixer.ask('GET_SOURCE_INFO_LIST', {});
      const monitor = sources.find((source) => source.index === sink?.monitorSource);
      assert.deepEqual([monitor?.monitorOfSink, monitor?.monitorOfSinkName], [sink?.index, sink?.name]);

      const before = await read();
      assert.deepEqual([before.monitorOfSink, before.ports], [undefined, []]);
      // PipeWire 1.4 reports a new volume only after the source has been awake.
      const letsDeviceSleep = false;
      const wakingStream = peakStream(index, before.channelMap, 'Wake up', letsDeviceSleep);
      await mixer.ask('CREATE_RECORD_STREAM', wakingStream);

      const volume = before.channelMap.map(() => HALF);
      await mixer.ask('SET_SOURCE_VOLUME', { index, volume });
      await mixer.ask('SET_SOURCE_MUTE', { index, muted: true });
      await until('the source has the volume, and is muted', async () => {
        const { volume: volumes, muted } = await read();
        return muted && volumes.every(isAboutHalf);
      });

      await mixer.ask('SET_DEFAULT_SOURCE', { name: 'microphone' });
      await until('the microphone is the default', async () => {
        return (await mixer.ask('GET_SERVER_INFO', {})).defaultSource === 'microphone';
      });

      await assert.rejects(mixer.ask('SET_SOURCE_PORT', { index, port: 'none' }), UNKNOWN_PORT);
    });

    test('a stream that reads a source is listed', async (t) => {
      const { mixer, index, read } = await startWithMicrophone(t);
      const { channelMap } = await read();
      const letsDeviceSleep = true;
      const stream = peakStream(index, channelMap, 'Peaks', letsDeviceSleep);
      const { sourceOutput } = await mixer.ask('CREATE_RECORD_STREAM', stream);

      const outputs = await mixer.ask('GET_SOURCE_OUTPUT_INFO_LIST', {});
      const listed = outputs.find((output) => output.index === sourceOutput);
      assert.deepEqual([listed?.source, listed?.props['media.name']], [index, 'Peaks']);
    });

    test('a module is listed with its unchanged argument until it is unloaded; an unknown module is refused', async (t) => {
      const { mixer, module } = await startWithMicrophone(t);
      const { name, argument } = MICROPHONE[kind];
      const modules = await mixer.ask('GET_MODULE_INFO_LIST', {});
      const listed = modules.find(({ index }) => index === module);
      assert.deepEqual([listed?.name, listed?.argument], [name, argument]);
      assert.deepEqual(await mixer.ask('GET_MODULE_INFO', { index: module }), listed);

      await mixer.ask('UNLOAD_MODULE', { index: module });
      await assert.rejects(mixer.ask('GET_MODULE_INFO', { index: module }), /NOENTITY/);
      // The message of `ask` contains the kind of the error, which is `server` if the server refuses.
      await assert.rejects(mixer.ask('LOAD_MODULE', { name: 'module-nothing', argument: '' }), /server/);
    });
  });
}
