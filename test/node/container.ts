// Boots and ends the container of a node. Its PID 1 is systemd, over this machine's own root or another
// Debian's. It has a lingering user `pi`, and a real session bus, sound server, logind and polkit. It also
// has its own network namespace, and leaves nothing behind when it is closed. Several containers at the same
// time do not disturb each other. Tests use the class `Node` of node.ts.

import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { type SeverableProxy, startProxy } from '../browser/severable-proxy.js';
import { until } from '../until.js';
import { connectInto, type Door } from './http-door.js';
import type { Keeper } from './keeper.js';
import { childrenOf, findLeader, type Ran, terminate, toTheEnd } from './process-tree.js';

export type { Ran } from './process-tree.js';

const runHere = promisify(execFile);

export const NODE_USER = 'pi';
export const NODE_HOSTNAME = 'tonearm-node';
/**
 * The root over which the node boots: this machine's own, or that of another Debian
 * (packaging/debian13.mjs).
 */
export const NODE_ROOT = process.env['TONEARM_NODE_ROOT'] || '/';
/** The path of Node.js on the node. This Node.js is this machine's or the other Debian's. */
export const NODE_PROGRAM = NODE_ROOT === '/' ? process.execPath : '/usr/bin/node';

/** A boot takes 2 s on a quiet machine. */
const BOOT_DEADLINE_MS = 60_000;
/** The status with which nspawn ends after a reboot, and after a power-off. */
const REBOOT_STATUS = 133;
const POWER_OFF_STATUS = 0;
/** `systemctl is-system-running --wait` is ended after this time, and tried again. */
const SETTLE_S = 20;
/** Commands that show the state of a node that does not come up. */
const STATE_COMMANDS =
  'systemctl list-jobs; systemctl --failed; systemctl is-system-running; journalctl --boot --lines 30';
const STATE_DEADLINE_S = 5;
/** While the node ends, nsenter may stop itself at any moment (`#wakeEntered`). */
const WAKE_INTERVAL_MS = 50;
/**
 * A command joins a cgroup of the node before it runs, because logind 257 refuses requests from a cgroup
 * outside of the node (EUNATCH).
 */
const JOIN_AND_RUN = 'echo $$ > "$1" && shift && exec "$@"';

export class Container {
  /** The user id of `pi`. */
  uid = 0;
  /** The process that boots and ends the node. Its `holder` is an ancestor of the node's systemd. */
  readonly #keeper: Keeper;
  readonly #dir: string;
  /** The process id of the node's systemd on this machine; 0 before the first boot. */
  #leader = 0;
  /** The processes on this machine that run a command inside. */
  readonly #entered = new Set<ChildProcessWithoutNullStreams>();
  readonly #proxies = new Map<number, Promise<SeverableProxy>>();
  readonly #doors = new Map<number, Promise<Door>>();

  constructor(keeper: Keeper, dir: string) {
    this.#keeper = keeper;
    this.#dir = dir;
  }

  async start(): Promise<void> {
    const ancestor = await this.#keeper.orFailure(this.#keeper.holder);
    this.#keeper.boot();
    const leader = until('systemd as PID 1', () => findLeader(ancestor), BOOT_DEADLINE_MS);
    this.#leader = await this.#keeper.orFailure(leader);
    await this.#keeper.orFailure(this.#untilUp());
  }

  async #untilUp(): Promise<void> {
    // `--wait` fails while systemd has no socket yet. The state is `degraded` after a test has let a unit
    // fail.
    const isSettled = ({ stdout }: Ran) => /^(running|degraded)$/m.test(stdout);
    const wait = ['timeout', String(SETTLE_S), 'systemctl', 'is-system-running', '--wait'];
    await until(
      'the system manager is up',
      async () => isSettled(await this.root(...wait)),
      BOOT_DEADLINE_MS,
    );
    this.uid = Number((await this.root('id', '-u', NODE_USER)).stdout);
    const isUserUp = async (): Promise<boolean> => isSettled(await this.user(...wait, '--user'));
    await until('the user manager is up', isUserUp, BOOT_DEADLINE_MS);
  }

  /** The report of systemd in a node that does not come up. */
  async state(): Promise<string> {
    if (this.#leader === 0) return '(it does not run)';
    const limits = ['timeout', String(STATE_DEADLINE_S), 'env', 'SYSTEMD_PAGER='];
    const { stdout, stderr } = await this.root(...limits, 'sh', '-c', STATE_COMMANDS);
    return `${stdout}${stderr}`;
  }

  /**
   * Starts a command in the node's namespaces. TMPDIR is unset, because this machine's folder may not exist
   * inside.
   */
  #enter(command: readonly string[]): ChildProcessWithoutNullStreams {
    const inside = ['nsenter', '-t', String(this.#leader), '-a', '--', 'env', '-u', 'TMPDIR', ...command];
    const group = this.outside('/sys/fs/cgroup/init.scope/cgroup.procs');
    const child = spawn('sh', ['-c', JOIN_AND_RUN, 'enter', group, ...inside]);
    this.#entered.add(child);
    child.once('close', () => this.#entered.delete(child));
    return child;
  }

  #asUser(command: readonly string[]): string[] {
    const runtime = `/run/user/${this.uid}`;
    const identity = ['--reuid', NODE_USER, '--regid', NODE_USER, '--init-groups', '--reset-env'];
    const login = [`XDG_RUNTIME_DIR=${runtime}`, `DBUS_SESSION_BUS_ADDRESS=unix:path=${runtime}/bus`];
    return ['setpriv', ...identity, 'env', `--chdir=/home/${NODE_USER}`, ...login, ...command];
  }

  /** Runs a command inside, as root, to its end. */
  root(...command: readonly string[]): Promise<Ran> {
    return toTheEnd(this.#enter(command));
  }

  /**
   * Runs a command inside, as `pi`, with the environment of a login: XDG_RUNTIME_DIR and the session bus's
   * address.
   */
  user(...command: readonly string[]): Promise<Ran> {
    return toTheEnd(this.#enter(this.#asUser(command)));
  }

  /**
   * Starts a command inside as root, and does not wait for its end. The command gets SIGTERM when the node
   * goes down.
   */
  spawnRoot(...command: readonly string[]): ChildProcessWithoutNullStreams {
    return this.#enter(command);
  }

  /** Starts a command inside as `pi`, and does not wait for its end. */
  spawnUser(...command: readonly string[]): ChildProcessWithoutNullStreams {
    return this.#enter(this.#asUser(command));
  }

  /** Writes a file inside as root, and makes the file's folders. `mode` is in chmod's notation. */
  async writeFile(path: string, text: string, mode = '644'): Promise<void> {
    const script = 'mkdir -p "$1" && cat > "$2" && chmod "$3" "$2"';
    const child = this.#enter(['sh', '-c', script, 'write', dirname(path), path, mode]);
    mustSucceed(`writing ${path}`, await toTheEnd(child, text));
  }

  /**
   * Writes a unit file, and has the manager of that scope reload. `user` units lie in pi's
   * ~/.config/systemd/user.
   */
  async writeUnit(scope: 'system' | 'user', name: string, text: string): Promise<void> {
    if (scope === 'system') {
      await this.writeFile(`/etc/systemd/system/${name}`, text);
      mustSucceed('daemon-reload', await this.root('systemctl', 'daemon-reload'));
      return;
    }
    const folder = `/home/${NODE_USER}/.config/systemd/user`;
    mustSucceed(`making ${folder}`, await this.user('mkdir', '-p', folder));
    const child = this.#enter(this.#asUser(['tee', `${folder}/${name}`]));
    mustSucceed(`writing ${name}`, await toTheEnd(child, text));
    mustSucceed('daemon-reload', await this.user('systemctl', '--user', 'daemon-reload'));
  }

  /** A path of the node as this machine sees it, for files and unix sockets; valid until the next reboot. */
  outside(path: string): string {
    return `/proc/${this.#leader}/root${path}`;
  }

  /** Connects this node with another one. This node gets the interface `own`, the other one gets `far`. */
  async connect(own: string, other: Container, far: string): Promise<void> {
    const here = ['name', own, 'netns', `${this.#leader}`];
    const there = ['name', far, 'netns', `${other.#leader}`];
    await runHere('ip', ['link', 'add', ...here, 'type', 'veth', 'peer', ...there]);
  }

  /** Connects the network of this process with the node by an interface on each side. */
  async connectHere(here: string, far: string): Promise<void> {
    const there = ['name', far, 'netns', `${this.#leader}`];
    await runHere('ip', ['link', 'add', 'name', here, 'type', 'veth', 'peer', ...there]);
  }

  /** Copies a folder of this machine into the node, where everybody may read it. */
  async install(from: string, to = '/opt/tonearm'): Promise<void> {
    // The files go through a pipe. The node's file system is an overlay, and what is written to its lower
    // folders after the mount may stay invisible in the node.
    const args = ['-C', from, '--mode=a+rX', '-c', '.'];
    const packed = await buffer(spawn('tar', args, { stdio: ['ignore', 'pipe', 'inherit'] }).stdout);
    const script = 'mkdir -p "$1" && tar -C "$1" --no-same-owner -x';
    const child = this.#enter(['sh', '-c', script, 'install', to]);
    mustSucceed(`installing ${from}`, await toTheEnd(child, packed));
  }

  /**
   * Resolves with a port of this machine that leads to a port of the node's loopback. A proxy listens at
   * this port and connects to the door, a unix socket (http-door.ts). A reboot cuts the connections and
   * closes the door. The next call opens a new door at the same path, where the proxy finds it.
   */
  async door(port = 8018): Promise<number> {
    const open = this.#doors.get(port) ?? connectInto(this.#leader, port, this.#dir);
    this.#doors.set(port, open);
    const { path } = await open;
    const proxy = this.#proxies.get(port) ?? startProxy(path);
    this.#proxies.set(port, proxy);
    return (await proxy).port;
  }

  /** Restarts the node by `how` and resolves when it is up again. The file system stays. */
  async reboot(how: () => Promise<unknown> = () => this.root('systemctl', 'reboot')): Promise<void> {
    await this.#end(how, REBOOT_STATUS);
    await this.start();
  }

  /** Switches the node off by `how`; `start` switches it on again. */
  powerOff(how: () => Promise<unknown> = () => this.root('systemctl', 'poweroff')): Promise<void> {
    return this.#end(how, POWER_OFF_STATUS);
  }

  /** Ends the node by `how`, and fails unless nspawn's status is `expected`. */
  async #end(how: () => Promise<unknown>, expected: number): Promise<void> {
    const ended = this.#keeper.ended(BOOT_DEADLINE_MS);
    const waking = setInterval(() => this.#wakeEntered(), WAKE_INTERVAL_MS);
    const requested = how().then(() => this.#terminateEntered());
    const [status] = await this.#keeper
      .orFailure(Promise.all([ended, requested]))
      .finally(() => clearInterval(waking));
    await this.#closeDoors();
    if (status !== expected) throw new Error(`the node ended with status ${status} instead of ${expected}`);
  }

  /**
   * Ends the commands that run inside. At the end of the shutdown systemd waits 10 s for processes that are
   * not its children. The parent of these commands is nsenter, outside. On a real node they would have ended
   * with their login session by now.
   */
  #terminateEntered(): void {
    for (const { pid } of this.#entered) {
      for (const command of childrenOf(pid ?? 0)) terminate(command);
    }
  }

  /**
   * At the end of the shutdown systemd stops all processes of the node, and continues them. nsenter stops
   * itself when it sees its child stopped. Nobody continues nsenter, because it runs outside. The dead child
   * of a stopped nsenter would stay a zombie, and the node could not end.
   */
  #wakeEntered(): void {
    for (const child of this.#entered) child.kill('SIGCONT');
  }

  async #closeDoors(): Promise<void> {
    const doors = [...this.#doors.values()];
    this.#doors.clear();
    for (const door of doors) await (await door).close();
  }

  /** Ends everything at once and resolves when nothing is left. */
  async close(): Promise<void> {
    for (const proxy of this.#proxies.values()) await (await proxy).close();
    await this.#closeDoors();
    await this.#keeper.close();
  }
}

function mustSucceed(what: string, { status, stderr }: Ran): void {
  if (status !== 0) throw new Error(`${what} failed with status ${status}: ${stderr}`);
}
