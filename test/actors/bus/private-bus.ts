// A real message bus for one test. The test can kill, pause and restart this bus.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { temporaryFolder } from '../../temporary-folder.js';

export class PrivateBus {
  readonly path: string;
  readonly address: string;
  /** Its XDG_DATA_HOME. */
  readonly #data: string | undefined;
  #child: ChildProcess | undefined;

  constructor(path: string, data: string | undefined) {
    this.path = path;
    this.address = `unix:path=${path}`;
    this.#data = data;
  }

  readonly paths = () => ({ ok: true, value: [this.path] }) as const;

  async start(): Promise<void> {
    const args = ['--session', '--nofork', '--nosyslog', '--print-address', `--address=${this.address}`];
    const env = { ...process.env, ...(this.#data !== undefined && { XDG_DATA_HOME: this.#data }) };
    const child = spawn('dbus-daemon', args, { stdio: ['ignore', 'pipe', 'ignore'], env });
    this.#child = child;
    await once(child.stdout, 'data');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
  }
}

/**
 * Starts a dbus-daemon with a folder of its own; it ends with the test. `data` is its XDG_DATA_HOME: the
 * folder with the services that it may start.
 */
export async function privateBus(t: { after(end: () => unknown): void }, data?: string): Promise<PrivateBus> {
  const bus = new PrivateBus(`${temporaryFolder(t)}/bus`, data);
  t.after(() => bus.kill('SIGKILL'));
  await bus.start();
  return bus;
}
