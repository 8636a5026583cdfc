// Decides how a trace is stored. Each direction of a connection is a file of whole frames. A list in JSON
// describes the files and their frames, in the form of test/golden/manifest.json. Cookies, which are secrets
// of the sound server, are stored as zeros. All functions may throw system errors.

import { appendFileSync, closeSync, openSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { CONTROL_CHANNEL, HEADER_BYTES } from '../../protocol/pulse/frame.js';
import {
  type Conversation,
  commandAndTagOf,
  type Side,
  withoutCookie,
} from '../../protocol/pulse/trace/conversation.js';

/**
 * The list describes at most this many frames of a file, because the descriptions stay in memory until the
 * file is closed.
 */
const LISTED_FRAMES_MAX = 10_000;
const NOTE =
  'Byte streams of clients and a sound server, as they passed; each file is one direction of one connection, a concatenation of whole ' +
  'frames; frame = 20-byte header (length, channel, offset_hi, offset_lo, flags; u32 big-endian) + payload. Cookies are zeros.';

/** The file for one direction of a connection. */
export class CaptureFile {
  readonly path: string;
  readonly #descriptor: number;
  readonly #frameDescriptions: object[] = [];
  #byteCount = 0;
  #frameCount = 0;

  constructor(path: string) {
    this.path = path;
    this.#descriptor = openSync(path, 'w', 0o600);
  }

  /** Writes the frame to the file. The list counts every frame, but describes only the first ones. */
  keep(frame: Buffer, channel: number): void {
    const isCommand = channel === CONTROL_CHANNEL;
    writeFileSync(this.#descriptor, isCommand ? withoutCookie(frame) : frame);
    // In the list, `payload` is the length of the payload.
    const common = { offset: this.#byteCount, payload: frame.length - HEADER_BYTES, channel };
    const description = isCommand ? { ...common, ...commandAndTagOf(frame) } : common;
    if (this.#frameCount < LISTED_FRAMES_MAX) this.#frameDescriptions.push(description);
    this.#byteCount += frame.length;
    this.#frameCount += 1;
  }

  /** Returns the size of the file, and the count and the descriptions of its frames. */
  close() {
    closeSync(this.#descriptor);
    return { bytes: this.#byteCount, frame_count: this.#frameCount, frames: this.#frameDescriptions };
  }
}

export class Capture {
  readonly #stem: string;
  readonly #listPath: string;
  #fileCount = 0;

  /** `path` is the path of the list, with or without `.json`. Nothing is written before `begin`. */
  constructor(path: string) {
    this.#stem = path.replace(/\.json$/, '');
    this.#listPath = `${this.#stem}.json`;
  }

  /** Begins the list. A file with its name is overwritten. */
  begin(): void {
    const beginning = `{\n "note": ${JSON.stringify(NOTE)},\n "files": [`;
    writeFileSync(this.#listPath, beginning, { mode: 0o600 });
  }

  /** Opens the file of one direction of a connection. */
  open(connection: number, from: Side): CaptureFile {
    return new CaptureFile(`${this.#stem}-${connection}-${from}.bin`);
  }

  /** Closes the file of one direction, and adds it to the list. */
  close(file: CaptureFile, connection: number, from: Side, conversation: Conversation): void {
    const { bytes, frame_count, frames } = file.close();
    const { offeredVersion: offered_version, negotiatedVersion: negotiated_version } = conversation;
    const description = `connection ${connection}, from the ${from}`;
    const versions = { offered_version, negotiated_version };
    const entry = { file: basename(file.path), description, ...versions, bytes, frame_count, frames };
    appendFileSync(this.#listPath, `${this.#fileCount === 0 ? '' : ','}\n${JSON.stringify(entry)}`);
    this.#fileCount += 1;
  }

  /** Ends the list. */
  end(): void {
    appendFileSync(this.#listPath, '\n ]\n}\n');
  }
}
