// Runs a machine emulated by QEMU for tests, with Debian's own kernel and its modules, so that cards and
// controllers can come and go. It boots the disk of packaging/machine.mjs, writes nothing to it, and leaves
// nothing behind, however the test's process ends.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { remark } from '../remark.js';
import { freePort } from '../tools/free-port.js';
import { skipReason } from '../tools/requirements.js';
import { Hopeless, until } from '../until.js';

const MACHINE_USER = 'pi';
/** The port inside the machine at which its door runs scripts (`DOOR` in packaging/machine.mjs). */
const DOOR_PORT = 8019;
/** The port inside the machine at which tonearm listens. */
const TONEARM_PORT = 8018;
/** The port inside the machine at which another machine reaches its radio (other-end.ts). */
export const RADIO_PORT = 8020;

/** A busy machine takes ten times as long as a quiet one. */
const BOOT_DEADLINE_MS = 900_000;
/** The set-up of tonearm took 3 min on a machine where fifteen processes shared two cores. */
const COMMAND_DEADLINE_MS = 600_000;
/** The deadline of one attempt to run a command through the door. */
const KNOCK_DEADLINE_MS = 10_000;
const CONSOLE_MAX_CHARACTERS = 16_384;
const PANIC = 'Kernel panic';
const BOOTS_MAX = 3;
/** The door separates the parts of its answer with this: stdout, stderr and the status. */
const RECORD_SEPARATOR = '\x1e';

/**
 * Returns why no machine can boot here, or false, for the `skip` option. The disk is not checked here:
 * where these requirements are met, packaging/test.mjs makes the disk, or leaves the tests out.
 */
export const whyNoMachine = (): string | false =>
  skipReason({ programs: ['qemu-system-x86_64', 'debootstrap', 'mkfs.ext4', 'setpriv'], root: true });

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Boots a machine, or rejects with what the console showed. A machine whose kernel panics is booted again.
 * While Linux boots, it replaces instructions of its own by `int3` for a moment. Seldom, QEMU's other
 * processor still runs such an `int3` afterwards, and the kernel panics (`Oops: int3`).
 */
export async function bootMachine(): Promise<Machine> {
  for (let boots = 1; ; boots += 1) {
    const machine = new Machine(await freePort(), await freePort(), await freePort());
    try {
      await machine.untilBooted();
      return machine;
    } catch (error) {
      await machine.close();
      const { console } = machine;
      if (!console.includes(PANIC) || boots === BOOTS_MAX)
        throw new Error(`the machine did not boot; its console said:\n${console}`, { cause: error });
      remark("the emulated machine's kernel panicked while it booted, and the machine was booted again");
    }
  }
}

type Input = string | Uint8Array;

export class Machine {
  /** The end of what the console showed. */
  console = '';
  /** The port on this side that leads to tonearm's. */
  readonly port: number;
  /** The port on this side that leads to the machine's radio. Other machines use it, too. */
  readonly radio: number;
  readonly #door: number;
  readonly #qemu: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(door: number, port: number, radio: number) {
    this.#door = door;
    this.port = port;
    this.radio = radio;
    const [command, ...args] = [...ENDS_WITH_TEST, 'qemu-system-x86_64', ...hardware(door, port, radio)];
    this.#qemu = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#ended = once(this.#qemu, 'close');
    for (const output of [this.#qemu.stdout, this.#qemu.stderr]) {
      output?.setEncoding('utf8').on('data', (chunk: string) => {
        this.console = (this.console + chunk).slice(-CONSOLE_MAX_CHARACTERS);
      });
    }
  }

  /** Resolves when the machine's systemd has started everything that it starts at boot. */
  async untilBooted(): Promise<void> {
    const knock = async (): Promise<boolean> => {
      const { exitCode, signalCode } = this.#qemu;
      if (exitCode !== null || signalCode !== null) throw new Hopeless('QEMU ended');
      return (await this.#run('root', 'true', '', KNOCK_DEADLINE_MS)).status === 0;
    };
    await until('the machine runs a command', knock, BOOT_DEADLINE_MS);
    // The command fails with `degraded`, because some services need devices that this machine lacks.
    await this.root('systemctl is-system-running --wait || true');
  }

  /** Runs a shell script in the machine as root. Resolves with what it printed; rejects if it fails. */
  async root(script: string, input: Input = ''): Promise<string> {
    return outputOf(script, await this.#run('root', script, input));
  }

  /**
   * Does the same as `root`, but as the user `pi`, with the environment of a login: XDG_RUNTIME_DIR and the
   * session bus's address.
   */
  async user(script: string, input: Input = ''): Promise<string> {
    return outputOf(script, await this.#run(MACHINE_USER, script, input));
  }

  /** Starts a script as root. It acts on each line that `write` sends, and ends after `end`. */
  startScript(script: string): { write(line: string): void; end(): Promise<string> } {
    const socket = this.#open('root', script);
    // No error is handled here, because `end` rejects if the connection has broken off before the script's
    // end.
    socket.on('error', () => undefined);
    return {
      write: (line) => void socket.write(`${line}\n`),
      end: async () => {
        socket.end();
        return outputOf(script, await readAnswer(socket, script, COMMAND_DEADLINE_MS));
      },
    };
  }

  #run(user: string, script: string, input: Input, deadlineMs = COMMAND_DEADLINE_MS): Promise<Ran> {
    const socket = this.#open(user, script);
    socket.end(input);
    return readAnswer(socket, script, deadlineMs);
  }

  #open(user: string, script: string): Socket {
    const socket = connect({ port: this.#door, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(`${user} ${Buffer.byteLength(script)}\n${script}`);
    return socket;
  }

  /** Ends the machine at once. */
  async close(): Promise<void> {
    this.#qemu.kill('SIGKILL');
    await this.#ended;
  }
}

/**
 * Ends QEMU when the thread that has started it ends, which is the test's own thread. There is no `nice`
 * here: with a smaller share of time QEMU is too slow for Bluetooth.
 */
const ENDS_WITH_TEST = ['setpriv', '--pdeathsig', 'KILL'] as const;

/**
 * Modules and services that have nothing to do here are left out, because they take time. With
 * `tsc=reliable` the kernel keeps to the processor's own clock. Otherwise it would read a slower clock after
 * a processor had to wait. With `panic=-1`, and with QEMU's `-no-reboot`, a panic ends QEMU at once.
 */
const KERNEL = [
  'root=/dev/vda rw console=ttyS0 quiet mitigations=off tsc=reliable panic=-1 systemd.show_status=off',
  'module_blacklist=ata_piix,cfg80211,evdev,floppy,i2c_piix4,pcspkr,psmouse',
  'systemd.mask=ldconfig.service systemd.mask=e2scrub_reap.service systemd.mask=systemd-pstore.service',
].join(' ');

/**
 * The arguments of QEMU. KVM is not used, because it does not work on every build machine that has it. The
 * processor has no AVX, because AVX is slower to emulate. Writes to the disk go to a file without a name.
 */
function hardware(door: number, port: number, radio: number): readonly string[] {
  const folder = process.env['TONEARM_MACHINE'] ?? '';
  const ports = { [door]: DOOR_PORT, [port]: TONEARM_PORT, [radio]: RADIO_PORT };
  const forwards = Object.entries(ports).map(([outer, inner]) => `hostfwd=tcp:127.0.0.1:${outer}-:${inner}`);
  const network = ['user', 'id=lan', 'restrict=off', ...forwards];
  return [
    '-accel',
    'tcg,thread=multi',
    '-cpu',
    'Nehalem',
    '-smp',
    '2',
    '-m',
    '1500',
    '-nodefaults',
    '-no-user-config',
    '-display',
    'none',
    '-no-reboot',
    '-serial',
    'stdio',
    '-kernel',
    join(folder, 'kernel'),
    '-initrd',
    join(folder, 'initrd'),
    '-append',
    KERNEL,
    '-drive',
    `file=${join(folder, 'disk')},format=raw,if=virtio,snapshot=on`,
    '-netdev',
    network.join(','),
    '-device',
    'virtio-net-pci,netdev=lan,romfile=',
  ];
}

/** The output of the command behind the socket, and its status. */
async function readAnswer(socket: Socket, script: string, deadlineMs: number): Promise<Ran> {
  const tooLate = new Error(`no end in ${deadlineMs} ms: ${script}`);
  const deadline = setTimeout(() => socket.destroy(tooLate), deadlineMs);
  try {
    const [stdout = '', stderr = '', status] = (await text(socket)).split(RECORD_SEPARATOR);
    if (status === undefined) throw new Error(`the connection broke off: ${script}\n${stdout}`);
    return { status: Number(status), stdout, stderr };
  } finally {
    clearTimeout(deadline);
    socket.destroy();
  }
}

function outputOf(script: string, { status, stdout, stderr }: Ran): string {
  if (status !== 0) throw new Error(`status ${status}: ${script}\n${stdout}${stderr}`);
  return stdout;
}
