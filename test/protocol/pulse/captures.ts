// Reads captures. Each is a file with the frames that one side has sent. A list in JSON describes the
// captures.

import { readFileSync } from 'node:fs';

export interface Capture {
  readonly file: string;
  /** The length of the file. */
  readonly bytes: number;
  readonly negotiated_version?: number;
  /** The contents of the frames as values, in a form that depends on the capture. */
  readonly decoded?: unknown;
  /** How many records the reply has. */
  readonly count?: number;
  /** The code of the server's error. */
  readonly code?: number;
  /** The events as texts, such as `CHANGE SINK #0`. */
  readonly events?: readonly string[];
  /** How many events there are of each kind. */
  readonly counts?: Readonly<Record<string, number>>;
  readonly frames: readonly {
    readonly offset: number;
    /** The length of the payload in bytes. */
    readonly payload: number;
    readonly channel: number;
    readonly command?: number;
    readonly tag?: number;
  }[];
}

/** The captures of the list in this JSON file, and a function that reads the bytes of a capture. */
export function capturesOf(list: URL) {
  const { files } = JSON.parse(readFileSync(list, 'utf8')) as { readonly files: readonly Capture[] };
  return { files, read: ({ file }: Pick<Capture, 'file'>) => readFileSync(new URL(file, list)) };
}

/**
 * The captures in test/golden: of real servers, and one of libpulse as a client. The path begins at
 * build/test/protocol/pulse, where the compiled file lies.
 */
export const GOLDEN = capturesOf(new URL('../../../../test/golden/manifest.json', import.meta.url));
