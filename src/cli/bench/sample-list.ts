// Makes a list of streams as a sound server sends it. With this list, `tonearm bench` measures how long the
// decoding and the encoding take. Pure.

import { clientRecord, PropertyCache } from '../../actors/audio/view.js';
import { FROM_SERVER, REQUESTS, type Reply } from '../../protocol/pulse/commands.js';
import { Framer } from '../../protocol/pulse/frame.js';
import { Reader } from '../../protocol/pulse/reader.js';
import { TextCache } from '../../protocol/pulse/text-cache.js';
import { RAW_NORM } from '../../protocol/pulse/volume.js';
import { NEWEST_VERSION, NONE } from '../../protocol/pulse/wire.js';
import { Writer } from '../../protocol/pulse/writer.js';

/** The cost of the frame around this number of streams is negligible. */
const STREAMS = 30;
/** The format is PA_SAMPLE_S16LE. */
export const SAMPLE_SPEC = { format: 3, channels: 2, rate: 44_100 };
/** PA_CHANNEL_POSITION_FRONT_LEFT and PA_CHANNEL_POSITION_FRONT_RIGHT. */
export const STEREO = [1, 2];
export const FULL_VOLUMES = [RAW_NORM, RAW_NORM];
/** PA_ENCODING_PCM. */
const PCM = 1;
const PROPS = {
  'media.name': 'Some song by somebody',
  'application.name': 'Music Player Daemon',
  'native-protocol.peer': 'UNIX socket client',
  'native-protocol.version': '35',
  'application.process.id': '1234',
  'application.process.user': 'somebody',
  'application.process.host': 'node',
  'application.process.binary': 'mpd',
  'application.language': 'C.UTF-8',
  'module-stream-restore.id': 'sink-input-by-application-name:Music Player Daemon',
};

/** These members are equal in all streams, like the constants above. */
const SHARED_MEMBERS = {
  ownerModule: NONE,
  sink: 0,
  bufferLatencyUs: 0,
  sinkLatencyUs: 20_000,
  resampleMethod: 'copy',
  driver: 'protocol-native.c',
  muted: false,
  corked: false,
  hasVolume: true,
  volumeWritable: true,
};

type SinkInputList = Reply<'GET_SINK_INPUT_INFO_LIST'>;

/**
 * The whole frame of the server's reply, at the newest protocol version. Each stream has the fields of
 * SINK_INPUT_INFO (protocol/pulse/records.ts), in the same order.
 */
function streamListFrame(): Uint8Array {
  const writer = new Writer();
  const tag = 0;
  writer.begin(FROM_SERVER.REPLY, tag);
  for (let index = 0; index < STREAMS; index += 1) {
    writer.u32(index);
    writer.optionalText(`Song ${index}`);
    writer.u32(SHARED_MEMBERS.ownerModule);
    const client = index;
    writer.u32(client);
    writer.u32(SHARED_MEMBERS.sink);
    writer.sampleSpec(SAMPLE_SPEC);
    writer.channelMap(STEREO);
    writer.volumes(FULL_VOLUMES);
    writer.usec(SHARED_MEMBERS.bufferLatencyUs);
    writer.usec(SHARED_MEMBERS.sinkLatencyUs);
    writer.optionalText(SHARED_MEMBERS.resampleMethod);
    writer.optionalText(SHARED_MEMBERS.driver);
    writer.bool(SHARED_MEMBERS.muted);
    writer.props(PROPS);
    writer.bool(SHARED_MEMBERS.corked);
    writer.bool(SHARED_MEMBERS.hasVolume);
    writer.bool(SHARED_MEMBERS.volumeWritable);
    writer.format({ encoding: PCM, props: { 'format.rate': '44100' } });
  }
  writer.end();
  return writer.take();
}

/**
 * Makes the functions whose duration the bench measures. `decode` turns the server's bytes into objects, and
 * `encode` turns these objects into JSON for clients. `streams` is the number of streams that each call
 * handles.
 */
export function sampleWork() {
  const bytes = streamListFrame();
  const framer = new Framer();
  const texts = new TextCache();
  const decode = (): SinkInputList => {
    let decoded: SinkInputList = [];
    framer.push(bytes, (chunk, start, end) => {
      const reader = new Reader(chunk, NEWEST_VERSION, texts, start, end);
      // The two numbers are the command and its tag.
      reader.u32();
      reader.u32();
      decoded = REQUESTS.GET_SINK_INPUT_INFO_LIST.reply.read(reader);
      reader.finish();
    });
    return decoded;
  };
  const list = decode();
  // The JSON of a stream also has parts that the server does not send with the stream.
  const context = { kind: 'pulseaudio', name: 'Song', output: 'speakers' } as const;
  return {
    streams: list.length,
    decode,
    // Each call has a new cache, because the streams are the same in all calls: with an old cache, only the
    // first call would do the whole work.
    encode: () => {
      const cache = new PropertyCache();
      return list.map((info) => JSON.stringify(clientRecord(info, context, cache)));
    },
  };
}
