// Two codecs in JavaScript, each as its own client uses it: ours, and the npm package pulseaudio.js. Both
// decode whole frames, or chunks of one, to plain objects, and encode the same two commands.

import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { COMMANDS, type RequestArgs, writeCommand } from '../../src/protocol/pulse/commands.js';
import { Framer, HEADER_BYTES } from '../../src/protocol/pulse/frame.js';
import { Reader } from '../../src/protocol/pulse/reader.js';
import { TextCache } from '../../src/protocol/pulse/text-cache.js';
import { NEWEST_VERSION } from '../../src/protocol/pulse/wire.js';
import { Writer } from '../../src/protocol/pulse/writer.js';

/** Commands to encode: the volume of one stream, and the name of a client with its properties. */
export type Encoded = 'volume' | 'name';

export interface Codec {
  readonly name: string;
  decode(chunks: readonly Buffer[]): readonly object[];
  /** The chunks to write to the socket. */
  encode: Readonly<Record<Encoded, () => readonly Uint8Array[]>>;
}

const INDEX = 5;
const VOLUMES = [32_768, 32_768];
/** The same values stand in libpulse-codec.c. */
const PROPS = {
  'application.name': 'Music Player Daemon',
  'application.version': '1.2.3',
  'application.language': 'C.UTF-8',
  'application.process.id': '1234',
  'application.process.user': 'somebody',
  'application.process.host': 'node',
};
const TAG = 7;

class Ours implements Codec {
  readonly name = 'tonearm';
  readonly #framer = new Framer();
  readonly #writer = new Writer();
  readonly #texts = new TextCache();
  readonly encode = {
    volume: () => this.#written('SET_SINK_INPUT_VOLUME', { index: INDEX, volume: VOLUMES }),
    name: () => this.#written('SET_CLIENT_NAME', { props: PROPS }),
  };

  #written<C extends 'SET_SINK_INPUT_VOLUME' | 'SET_CLIENT_NAME'>(
    command: C,
    args: RequestArgs<C>,
  ): Uint8Array[] {
    writeCommand(this.#writer, command, TAG, args);
    return [this.#writer.take()];
  }

  decode(chunks: readonly Buffer[]): readonly object[] {
    let list: readonly object[] = [];
    for (const chunk of chunks) {
      this.#framer.push(chunk, (framed, start, end) => {
        const reader = new Reader(framed, NEWEST_VERSION, this.#texts, start, end);
        // The command and its tag.
        reader.u32();
        reader.u32();
        list = COMMANDS.GET_SINK_INPUT_INFO_LIST.reply.read(reader);
        reader.finish();
      });
    }
    return list;
  }
}

/** The part of pulseaudio.js that encodes and decodes, which its types do not export. */
interface TheirCommand {
  readonly type: number;
  finalize(): readonly Buffer[];
}
interface TheirModule {
  readonly Command: new (body: Buffer, header: Buffer) => TheirCommand;
  readonly PA_COMMAND: Readonly<Record<string, number>>;
  readonly SetVolumeByIndex: new (command: number, index: number, volumes: readonly number[]) => TheirCommand;
  readonly SetClientName: new (props: object) => TheirCommand;
  readonly GetSinkInputList: { readonly prototype: { processResponse(packet: TheirCommand): object[] } };
}

const require = createRequire(import.meta.url);

class Theirs implements Codec {
  readonly name = 'pulseaudio.js';
  readonly #their = require('pulseaudio.js/dist/command') as TheirModule;
  readonly encode = {
    volume: () => {
      const code = this.#their.PA_COMMAND['SET_SINK_INPUT_VOLUME'] ?? Number.NaN;
      return new this.#their.SetVolumeByIndex(code, INDEX, VOLUMES).finalize();
    },
    name: () => new this.#their.SetClientName(PROPS).finalize(),
  };

  decode(chunks: readonly Buffer[]): readonly object[] {
    const [whole] = chunks;
    if (whole === undefined || chunks.length > 1) return this.#decodeStream(chunks);
    return this.#list(whole.subarray(0, HEADER_BYTES), whole.subarray(HEADER_BYTES));
  }

  /** Decodes like its client does: the socket joins the chunks. */
  #decodeStream(chunks: readonly Buffer[]): readonly object[] {
    const socket = new Readable({ read: () => undefined });
    for (const chunk of chunks) socket.push(chunk);
    const header = socket.read(HEADER_BYTES) as Buffer;
    return this.#list(header, socket.read(header.readUInt32BE()) as Buffer);
  }

  #list(header: Buffer, body: Buffer): readonly object[] {
    return this.#their.GetSinkInputList.prototype.processResponse(new this.#their.Command(body, header));
  }
}

/** Makes codecs. Each codec remembers only what it has read itself. */
export const CODECS = { ours: (): Codec => new Ours(), theirs: (): Codec => new Theirs() } as const;
