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
    return new CapturedSide(`${this.#stem}-${connection}-${from}.bin`);
  }

  /** Closes the file of one direction, and adds it to the list. */
  enter(side: CapturedSide, description: string, { offered, negotiated }: Conversation): void {
    const entry = {
      ...{ file: side.name, description, offered_version: offered, negotiated_version: negotiated },
      ...side.end(),
    };
    writeFileSync(this.#list, `${this.#files === 0 ? '' : ','}\n${JSON.stringify(entry)}`);
    this.#files += 1;
  }

  end(): void {
    writeFileSync(this.#list, '\n ]\n}\n');
    closeSync(this.#list);
  }
}

export class CapturedSide {
  readonly name: string;
  readonly #file: number;
  readonly #frames: object[] = [];
  #bytes = 0;
  #count = 0;

  constructor(path: string) {
    this.name = basename(path);
    this.#file = openSync(path, 'w', 0o600);
  }

  keep(frame: Buffer, channel: number): void {
    const isCommand = channel === CONTROL_CHANNEL;
    writeFileSync(this.#file, isCommand ? withoutCookie(frame) : frame);
    const entry = { offset: this.#bytes, payload: frame.length - HEADER_BYTES, channel };
    if (this.#count < LISTED_MAX) this.#frames.push({ ...entry, ...(isCommand && labelOf(frame)) });
    this.#bytes += frame.length;
    this.#count += 1;
  }

  end(): object {
    closeSync(this.#file);
    return { bytes: this.#bytes, frame_count: this.#count, frames: this.#frames };
  }
}
