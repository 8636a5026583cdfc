// Reads captures: a list in JSON, and files beside it with the whole frames that one side has sent.

import { readFileSync } from 'node:fs';

export interface Capture {
  readonly file: string;
  readonly bytes: number;
  readonly negotiated_version?: number;
  readonly decoded?: unknown;
  readonly count?: number;
  readonly code?: number;
  readonly events?: readonly string[];
  readonly counts?: Readonly<Record<string, number>>;
  readonly frames: readonly {
    readonly offset: number;
    readonly payload: number;
    readonly channel: number;
    readonly command?: number;
    readonly tag?: number;
  }[];
}

/** The captures of a list, and a function that reads one's bytes. `list` is the address of the JSON file. */
export function captures(list: URL) {
  const { files } = JSON.parse(readFileSync(list, 'utf8')) as { readonly files: readonly Capture[] };
  return { files, read: ({ file }: Pick<Capture, 'file'>) => readFileSync(new URL(file, list)) };
}

/** The captures of real servers in test/golden. */
export const GOLDEN = captures(new URL('../../../../test/golden/manifest.json', import.meta.url));
