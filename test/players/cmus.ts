// cmus as a test holds it, in a terminal that nobody sees: what it really does is asked by cmus-remote, not on the bus.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { childrenOf } from '../node/process-tree.js';
import { startProgram } from '../sound/program.js';
import { until } from '../until.js';
import type { Session } from './session.js';

const run = promisify(execFile);

const DEADLINE_MS = 10_000;

export type Cmus = Awaited<ReturnType<typeof startCmus>>;

/** Plays the files as its playlist. Resolves when it plays. */
export async function startCmus(session: Session, files: readonly string[]) {
  const { env } = session;
  const socket = session.path('cmus.socket');
  const command = `exec cmus --listen ${socket}`;
  const terminal = startProgram('script', ['--quiet', '--flush', '--command', command, '/dev/null'], {
    env: { ...env, TERM: 'xterm' },
    log: session.path('cmus.log'),
  });
  const remote = async (...args: readonly string[]): Promise<string> =>
    (await run('cmus-remote', ['--server', socket, ...args], { env, timeout: DEADLINE_MS })).stdout;
  /** A line of `cmus-remote -Q`, without its first words; undefined where there is none. */
  const get = async (name: string): Promise<string | undefined> => {
    const lines = (await remote('-Q')).split('\n');
    return lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
  };
  const pid = await until('cmus runs', () => childrenOf(terminal.pid)[0]);
  await until('cmus listens', () => existsSync(socket));
  await remote('-C', 'set output_plugin=pulse', 'set play_library=false', 'view playlist');
  for (const file of files) await remote('-C', `add -p ${file}`);
  await until('cmus plays', async () => {
    await remote('--play');
    return (await get('status')) === 'playing';
  });
  const end = async (): Promise<void> => {
    // The terminal's end is a hang-up for what runs in it.
    await terminal.end();
    await until('cmus has ended', () => !existsSync(`/proc/${pid}`));
  };
  return { pid, get, end };
}
