// Starts cmus in a hidden terminal, for tests. cmus-remote reads the true state of cmus, not over the bus.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { childrenOf } from '../node/process-tree.js';
import { until } from '../until.js';
import type { Session } from './session.js';

const execute = promisify(execFile);

const DEADLINE_MS = 10_000;

export type Cmus = Awaited<ReturnType<typeof startCmus>>;

/**
 * Starts a cmus that plays the album as its playlist. Resolves when cmus plays. cmus ends when its terminal
 * ends.
 */
export async function startCmus({ env, path, run, files }: Session) {
  const socket = path('cmus.socket');
  // cmus needs a terminal, which the program `script` makes.
  const scriptArguments = ['--quiet', '--flush', '--command', `exec cmus --listen ${socket}`, '/dev/null'];
  const terminal = run('script', scriptArguments, { TERM: 'xterm' });
  const remote = async (...words: readonly string[]): Promise<string> =>
    (await execute('cmus-remote', ['--server', socket, ...words], { env, timeout: DEADLINE_MS })).stdout;
  /** The line of `cmus-remote -Q` that begins with `name`, without `name`; undefined where there is none. */
  const get = async (name: string): Promise<string | undefined> => {
    const lines = (await remote('-Q')).split('\n');
    return lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
  };
  const pid = await until('cmus runs', () => childrenOf(terminal.pid)[0]);
  await until('cmus listens', () => existsSync(socket));
  await remote('-C', 'set output_plugin=pulse', 'set play_library=false', 'view playlist');
  for (const file of files) await remote('-C', `add -p ${file}`);
  // cmus adds the files in the background, so it may still have none at the first `--play`.
  await until('cmus plays', async () => {
    await remote('--play');
    return (await get('status')) === 'playing';
  });
  return { pid, get };
}
