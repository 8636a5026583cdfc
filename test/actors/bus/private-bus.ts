// A real message bus for one test, which can kill, pause and restart this bus.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { temporaryFolder } from '../../temporary-folder.js';

export type PrivateBus = Awaited<ReturnType<typeof privateBus>>;

/**
 * Starts a dbus-daemon with a folder of its own; it ends with the test. `data` is its XDG_DATA_HOME: the
 * folder with the services that it may start.
 */
export async function privateBus(t: { after(end: () => unknown): void }, data?: string) {
  const path = `${temporaryFolder(t)}/bus`;
  const address = `unix:path=${path}`;
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const args = ['--session', '--nofork', '--nosyslog', '--print-address', `--address=${address}`];
    const env = { ...process.env, ...(data !== undefined && { XDG_DATA_HOME: data }) };
    child = spawn('dbus-daemon', args, { stdio: ['ignore', 'pipe', 'ignore'], env });
    if (child.stdout !== null) await once(child.stdout, 'data');
  };
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
  };
  t.after(() => kill('SIGKILL'));
  await start();
  const paths = () => ({ ok: true, value: [path] }) as const;
  return { path, paths, address, start, kill, signal: (signal: NodeJS.Signals) => child?.kill(signal) };
}
