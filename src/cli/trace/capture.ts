// Stores a trace in files: the bytes of each direction of each connection as consecutive whole frames, and a list of these files and
// frames in the form of the project's own captures (test/golden/manifest.json), without cookies. All functions may throw system errors.

import { closeSync, openSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { CONTROL_CHANNEL, HEADER_BYTES } from '../../protocol/pulse/frame.js';
import {
  type Conversation,
  labelOf,
  type Side,
  withoutCookie,
} from '../../protocol/pulse/trace/conversation.js';

/** Only the first frames of a file are listed. */
const LISTED_MAX = 10_000;
const NOTE =
  'Byte streams of clients and a sound server, as they passed; each file is one direction of one connection, a concatenation of whole ' +
  'frames; frame = 20-byte header (length, channel, offset_hi, offset_lo, flags; u32 big-endian) + payload. Cookies are zeros.';

/** The file of one direction of a connection. */
export interface CapturedSide {
  keep(frame: Buffer, channel: number): void;
  /** Closes the file, and adds it to the list. */
  end(conversation: Conversation): void;
}

export class Capture {
  readonly #stem: string;
  readonly #list: number;
  #files = 0;

  /** `path` is that of the list, with or without `.json`. */
  constructor(path: string) {
    this.#stem = path.replace(/\.json$/, '');
    this.#list = openSync(`${this.#stem}.json`, 'w', 0o600);
    writeFileSync(this.#list, `{\n "note": ${JSON.stringify(NOTE)},\n "files": [`);
  }

  open(connection: number, from: Side): CapturedSide {
    const path = `${this.#stem}-${connection}-${from}.bin`;
    const file = openSync(path, 'w', 0o600);
    const frames: object[] = [];
    let [bytes, frame_count] = [0, 0];
    return {
      keep: (frame, channel) => {
        const isCommand = channel === CONTROL_CHANNEL;
        writeFileSync(file, isCommand ? withoutCookie(frame) : frame);
        const entry = { offset: bytes, payload: frame.length - HEADER_BYTES, channel };
        if (frame_count < LISTED_MAX) frames.push({ ...entry, ...(isCommand && labelOf(frame)) });
        bytes += frame.length;
        frame_count += 1;
      },
      end: ({ offered: offered_version, negotiated: negotiated_version }) => {
        closeSync(file);
        const description = `connection ${connection}, from the ${from}`;
        const versions = { offered_version, negotiated_version };
        this.#enter({ file: basename(path), description, ...versions, bytes, frame_count, frames });
      },
    };
  }

  #enter(entry: object): void {
    writeFileSync(this.#list, `${this.#files === 0 ? '' : ','}\n${JSON.stringify(entry)}`);
    this.#files += 1;
  }

  end(): void {
    writeFileSync(this.#list, '\n ]\n}\n');
    closeSync(this.#list);
  }
}
