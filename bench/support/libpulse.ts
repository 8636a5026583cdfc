// Runs libpulse's codec in a process of its own (libpulse-codec.c), which is compiled when it is needed. It
// reports a missing C compiler or libpulsecommon.

import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Encoded } from './codecs.js';

const SOURCE = fileURLToPath(new URL('../../../bench/support/libpulse-codec.c', import.meta.url));
const LIBRARY = /^libpulsecommon-[\d.]+\.so$/;
const ANSWER_DEADLINE_MS = 60_000;

export class LibPulse {
  readonly #directory: string;
  readonly #program: ChildProcessWithoutNullStreams;
  readonly #lines: Interface;

  private constructor(directory: string, program: ChildProcessWithoutNullStreams) {
    this.#directory = directory;
    this.#program = program;
    this.#lines = createInterface({ input: program.stdout });
    // The program's error messages are passed on. After one, its answers are missing.
    program.stderr.pipe(process.stderr);
  }

  /** Starts the program, which knows `frames` by their place. A text says why it cannot be measured here. */
  static start(frames: readonly Uint8Array[]): LibPulse | string {
    const library = findLibrary();
    if (library === undefined) return 'libpulse (no libpulsecommon here)';
    const directory = mkdtempSync(join(tmpdir(), 'tonearm-libpulse-'));
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
    const program = join(directory, 'codec');
    const { folder, file } = library;
    const linked = [join(folder, file), `-Wl,-rpath,${folder}`];
    try {
      execFileSync('cc', ['-O2', '-o', program, SOURCE, ...linked], { stdio: ['ignore', 'ignore', 'pipe'] });
    } catch (error) {
      return `libpulse (no C compiler that makes its program: ${String(error).split('\n')[0]})`;
    }
    const files = frames.map((bytes, at) => {
      const path = join(directory, String(at));
      writeFileSync(path, bytes);
      return path;
    });
    return new LibPulse(directory, spawn(program, files));
  }

  /** Nanoseconds for one list. */
  decode(frame: number, times: number): Promise<number> {
    return this.#number(`decode ${frame} ${times}`);
  }

  /** Bytes that one decoded list takes. */
  heap(frame: number): Promise<number> {
    return this.#number(`heap ${frame} 0`);
  }

  /** Nanoseconds for one command. */
  encode(what: Encoded, times: number): Promise<number> {
    return this.#number(`${what} 0 ${times}`);
  }

  /** A command's payload. */
  async encoded(what: Encoded): Promise<Buffer> {
    return Buffer.from(await this.#ask(`bytes ${what} 0`), 'hex');
  }

  async end(): Promise<void> {
    const exit = once(this.#program, 'exit');
    this.#program.stdin.end();
    await exit;
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #number(order: string): Promise<number> {
    return Number(await this.#ask(order));
  }

  /** The program reads three words for each order. A word that the order does not need is `0`. */
  async #ask(order: string): Promise<string> {
    const answer = once(this.#lines, 'line', { signal: AbortSignal.timeout(ANSWER_DEADLINE_MS) });
    this.#program.stdin.write(`${order}\n`);
    const [line] = (await answer) as [string];
    return line;
  }
}

/** The library, in the folders where Debian, Fedora and others keep it. */
function findLibrary(): { readonly folder: string; readonly file: string } | undefined {
  const parents = [
    '/usr/lib64',
    '/usr/lib',
    ...readdirSync('/usr/lib').map((name) => join('/usr/lib', name)),
  ];
  for (const parent of parents) {
    const folder = join(parent, 'pulseaudio');
    const file = existsSync(folder) ? readdirSync(folder).find((name) => LIBRARY.test(name)) : undefined;
    if (file !== undefined) return { folder, file };
  }
  return undefined;
}
