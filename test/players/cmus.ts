// cmus as a test holds it, in a terminal that nobody sees: what it really does is asked by cmus-remote, not on the bus.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { childrenOf } from '../node/process-tree.js';
import { type Program, startProgram } from '../sound/program.js';
import { until } from '../until.js';
import type { Session } from './session.js';

const run = promisify(execFile);

const DEADLINE_MS = 10_000;

export class Cmus {
  readonly pid: number;
  readonly #terminal: Program;
  readonly #session: Session;

  private constructor(session: Session, terminal: Program, pid: number) {
    this.#session = session;
    this.#terminal = terminal;
    this.pid = pid;
  }

  /** Plays the files as its playlist. Resolves when it plays. */
  static async start(session: Session, files: readonly string[]): Promise<Cmus> {
    const command = `exec cmus --listen ${session.path('cmus.socket')}`;
    const terminal = startProgram('script', ['--quiet', '--flush', '--command', command, '/dev/null'], {
      env: { ...session.env, TERM: 'xterm' },
      log: session.path('cmus.log'),
    });
    const pid = await until('cmus runs', () => childrenOf(terminal.pid)[0]);
    const cmus = new Cmus(session, terminal, pid);
    await until('cmus listens', () => existsSync(session.path('cmus.socket')));
    await cmus.#remote('-C', 'set output_plugin=pulse', 'set play_library=false', 'view playlist');
    for (const file of files) await cmus.#remote('-C', `add -p ${file}`);
    await until('cmus plays', async () => {
      await cmus.#remote('--play');
      return (await cmus.get('status')) === 'playing';
    });
    return cmus;
  }

  /** A line of `cmus-remote -Q`, without its first words; undefined where there is none. */
  async get(name: string): Promise<string | undefined> {
    const lines = (await this.#remote('-Q')).split('\n');
    return lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
  }

  async end(): Promise<void> {
    // The terminal's end is a hang-up for what runs in it.
    await this.#terminal.end();
    await until('cmus has ended', () => !existsSync(`/proc/${this.pid}`));
  }

  async #remote(...args: readonly string[]): Promise<string> {
    const { env } = this.#session;
    const server = ['--server', this.#session.path('cmus.socket')];
    return (await run('cmus-remote', [...server, ...args], { env, timeout: DEADLINE_MS })).stdout;
  }
}
