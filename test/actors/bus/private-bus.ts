// A real message bus for one test. The test can kill, pause and restart this bus.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { temporaryFolder } from '../../temporary-folder.js';

export class PrivateBus {
  readonly path: string;
  readonly address: string;
  /** The XDG_DATA_HOME of the dbus-daemon. */
  readonly #dataHome: string | undefined;
  #child: ChildProcess | undefined;

  constructor(path: string, dataHome: string | undefined) {
    this.path = path;
    this.address = `unix:path=${path}`;
    this.#dataHome = dataHome;
  }

  /** Stands in for `userBusPaths` and `systemBusPaths` (src/actors/bus/address.ts). */
  readonly paths = () => ({ ok: true, value: [this.path] }) as const;

  async start(): Promise<void> {
    const args = ['--session', '--nofork', '--nosyslog', '--print-address', `--address=${this.address}`];
    const dataHome = this.#dataHome;
    const env = { ...process.env, ...(dataHome !== undefined && { XDG_DATA_HOME: dataHome }) };
    const child = spawn('dbus-daemon', args, { stdio: ['ignore', 'pipe', 'ignore'], env });
    this.#child = child;
    // The dbus-daemon prints its address when it accepts connections.
    await once(child.stdout, 'data');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Sends a signal that ends the dbus-daemon. Resolves when the dbus-daemon has ended. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
  }
}

/**
 * Starts a dbus-daemon, which ends with the test. The socket is in a temporary folder. The dbus-daemon may
 * start the services below `dataHome`, which is its XDG_DATA_HOME.
 */
export async function privateBus(
  t: { after(end: () => unknown): void },
  dataHome?: string,
): Promise<PrivateBus> {
  const bus = new PrivateBus(`${temporaryFolder(t)}/bus`, dataHome);
  t.after(() => bus.kill('SIGKILL'));
  await bus.start();
  return bus;
}
