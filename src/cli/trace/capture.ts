// Stores a trace in files: the bytes of each direction of each connection as consecutive whole frames, and a
// list of these files and frames in the form of the project's own captures (test/golden/manifest.json),
// without cookies. All functions may throw system errors.

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

  /** The file of one direction of a connection. */
  open(connection: number, from: Side) {
    const path = `${this.#stem}-${connection}-${from}.bin`;
    const file = openSync(path, 'w', 0o600);
    const frames: object[] = [];
    let bytes = 0;
    let frame_count = 0;
    return {
      keep: (frame: Buffer, channel: number): void => {
        const isCommand = channel === CONTROL_CHANNEL;
        writeFileSync(file, isCommand ? withoutCookie(frame) : frame);
        const entry = { offset: bytes, payload: frame.length - HEADER_BYTES, channel };
        if (frame_count < LISTED_MAX) frames.push({ ...entry, ...(isCommand && labelOf(frame)) });
        bytes += frame.length;
        frame_count += 1;
      },
      /** Closes the file, and adds it to the list. */
      end: ({ offered: offered_version, negotiated: negotiated_version }: Conversation): void => {
        closeSync(file);
        const description = `connection ${connection}, from the ${from}`;
        const versions = { offered_version, negotiated_version };
        const entry = { file: basename(path), description, ...versions, bytes, frame_count, frames };
        writeFileSync(this.#list, `${this.#files === 0 ? '' : ','}\n${JSON.stringify(entry)}`);
        this.#files += 1;
      },
    };
  }

  end(): void {
    writeFileSync(this.#list, '\n ]\n}\n');
    closeSync(this.#list);
  }
}
