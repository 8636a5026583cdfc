// A real message bus for one test, which can stop, kill and restart it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { temporaryFolder } from '../../temporary-folder.js';

export type PrivateBus = Awaited<ReturnType<typeof privateBus>>;

/**
 * A dbus-daemon in its own folder; it ends with the test. `data`: its XDG_DATA_HOME, with the services that
 * it may start.
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
    const gone = once(child, 'close');
    child.kill(signal);
    await gone;
  };
  t.after(() => kill('SIGKILL'));
  await start();
  const paths = () => ({ ok: true, value: [path] }) as const;
  return { path, paths, address, start, kill, signal: (signal: NodeJS.Signals) => child?.kill(signal) };
}
