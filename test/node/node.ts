// Adds to a container what tests do on a node: they run scripts and the set-up, install packages, and send
// requests to the daemon's real port. A failed script fails the test.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventConsumer } from '../consumer/consumer.js';
import { buildPackage, buildStandIn } from '../packaging/built-package.js';
import { temporaryFolder } from '../temporary-folder.js';
import { type HttpAnswer, send } from '../tools/http.js';
import { skipReason } from '../tools/requirements.js';
import { Container, NODE_HOSTNAME, NODE_ROOT, NODE_USER } from './container.js';
import { Keeper } from './keeper.js';
import type { Ran } from './process-tree.js';

export { NODE_PROGRAM, NODE_ROOT, NODE_USER } from './container.js';
export type { Ran } from './process-tree.js';

/** The rule, the folder and the file that tonearm-setup makes for the user pi. */
export const RULE = '/etc/polkit-1/rules.d/50-tonearm-pi.rules';
export const CONFIG = '/home/pi/.config/tonearm';
export const POWER_CONFIG = `${CONFIG}/conf.d/50-power.yaml`;

const NEEDED_COMMANDS = ['systemd-nspawn', 'unshare', 'nsenter', 'setpriv', 'systemctl', 'tar', 'useradd'];
const SOUND_UNITS = {
  pulseaudio: 'pulseaudio.service pulseaudio.socket',
  pipewire: 'pipewire.socket pipewire-pulse.socket wireplumber.service',
  none: '',
} as const;

/** The folder on the node that has the packages to install. */
const PACKAGES_FOLDER = '/opt/packages';

type Sound = keyof typeof SOUND_UNITS;

/**
 * Returns the reason why no node can boot here, or false if a node can boot. The value is for the option
 * `skip` of a test. `programs` are further programs that the test needs on this machine.
 */
export function whyNoNode(...programs: readonly string[]): string | false {
  return skipReason({ programs: [...NEEDED_COMMANDS, ...programs], root: true });
}

/**
 * Boots a node over the file system at `root`. Rejects with the console's text and systemd's report if the
 * node does not come up.
 */
export async function bootNode(
  sound: Sound = 'pulseaudio',
  root = NODE_ROOT,
  hostname = NODE_HOSTNAME,
): Promise<Node> {
  const dir = mkdtempSync(join(tmpdir(), 'tonearm-node-'));
  const keeper = new Keeper({
    DIR: dir,
    LOWER: root,
    MACHINE_ID: randomBytes(16).toString('hex'),
    NODE_USER,
    NODE_HOSTNAME: hostname,
    SOUND_UNITS: SOUND_UNITS[sound],
  });
  const node = new Node(keeper, dir);
  try {
    await node.start();
    return node;
  } catch (error) {
    const state = await node.state();
    await node.close();
    // A keeper that could not start leaves the folder behind. A folder with content must stay: this machine's
    // own root may be mounted in the folder, and removing the folder would delete this machine's files.
    if (existsSync(dir) && readdirSync(dir).length === 0) rmdirSync(dir);
    const report = `its console said:\n${keeper.console || '(nothing)\n'}its systemd says:\n${state}`;
    throw new Error(`the node did not boot; ${report}`, { cause: error });
  }
}

/** Resolves with the output of a command. Rejects if the command fails. */
async function outputOf(running: Promise<Ran>, command: string): Promise<string> {
  const { status, stdout, stderr } = await running;
  assert.equal(status, 0, `${command}\n${stdout}${stderr}`);
  return stdout;
}

export class Node extends Container {
  /** Runs a shell script as root, and resolves with its output. Rejects if the script fails. */
  shell(script: string): Promise<string> {
    return outputOf(this.root('sh', '-euc', script), script);
  }

  /** Runs a shell script as pi, with HOME set, and resolves with its output. Rejects if the script fails. */
  userShell(script: string): Promise<string> {
    return outputOf(this.user('sh', '-euc', `export HOME=/home/${NODE_USER}; ${script}`), script);
  }

  /** Runs systemctl for pi's manager. */
  async systemctl(...args: readonly string[]): Promise<string> {
    return (await outputOf(this.user('systemctl', '--user', ...args), `systemctl ${args.join(' ')}`)).trim();
  }

  /** Resolves with a property of a unit of pi's manager. */
  property(name: string, unit = 'tonearm.service'): Promise<string> {
    return this.systemctl('show', '-P', name, unit);
  }

  /** True if the file or folder exists on the node. */
  async isThere(path: string): Promise<boolean> {
    return (await this.root('test', '-e', path)).status === 0;
  }

  /**
   * Takes a lock against the shutdown, as the user `by`. Resolves when the lock is taken, with a function
   * that releases it.
   */
  async holdShutdown(by: 'root' | 'pi'): Promise<() => Promise<void>> {
    const description = [`--who=${by}'s upgrade`, '--why=half-way'];
    const command = [
      'systemd-inhibit',
      '--what=shutdown',
      '--mode=block',
      ...description,
      'sh',
      '-c',
      'echo held; cat',
    ];
    const holder = by === 'root' ? this.spawnRoot(...command) : this.spawnUser(...command);
    const ended = once(holder, 'close');
    const [line] = await Promise.race([once(holder.stdout, 'data'), ended]);
    assert.match(String(line), /^held/, `${by} got no lock`);
    return async () => {
      holder.stdin.end();
      await ended;
    };
  }

  /** Runs tonearm-setup as root. */
  setUp(...args: readonly string[]): Promise<Ran> {
    return this.root('tonearm-setup', ...args);
  }

  /** Runs tonearm-setup for pi, and resolves with its output. Rejects if tonearm-setup fails. */
  setUpPi(...args: readonly string[]): Promise<string> {
    return outputOf(this.setUp('--user', 'pi', ...args), `tonearm-setup ${args.join(' ')}`);
  }

  /** Runs apt-get in the folder of the packages. It needs no network, because the folder has everything. */
  apt(...args: readonly string[]): Promise<string> {
    const quiet = 'apt-get --yes --no-install-recommends -o APT::Sandbox::User=root';
    return this.shell(
      `cd ${PACKAGES_FOLDER} && DEBIAN_FRONTEND=noninteractive ${quiet} ${args.join(' ')} 2>&1`,
    );
  }

  /**
   * Installs the form of the package that runs on the system's Node.js. An empty package `nodejs`
   * (`buildStandIn`) satisfies the dependency on Node.js, unless a package `nodejs` is installed already.
   */
  async installPlain(): Promise<string> {
    const present = await this.root('dpkg-query', '--show', 'nodejs');
    const standIn = present.status === 0 ? '' : './nodejs_20.0.0-1_all.deb';
    return this.apt('install', standIn, './tonearm_0.1.0-1_*.deb');
  }

  /** Installs the same form as `installPlain` does, but uses dpkg: apt would read all of its lists first. */
  async unpackPlain(): Promise<void> {
    const standIn = 'dpkg-query --show nodejs > /dev/null 2>&1 || dpkg --install nodejs_*.deb';
    await this.shell(`cd ${PACKAGES_FOLDER}; ${standIn}; dpkg --install tonearm_*.deb`);
  }

  async restartService(): Promise<void> {
    await this.systemctl('restart', 'tonearm.service');
  }

  /** Sends one request, and resolves with its whole answer. */
  async ask(method: string, path: string): Promise<HttpAnswer> {
    return send(await this.door(), { method, path });
  }

  /** Sends a GET, and resolves with the parsed body of the answer. Rejects if the status is not 200. */
  async read<T = unknown>(path: string): Promise<T> {
    const { status, text } = await this.ask('GET', path);
    assert.equal(status, 200, text);
    return JSON.parse(text) as T;
  }

  /** Opens an event stream. The caller closes it. */
  async events(query = ''): Promise<EventConsumer> {
    return EventConsumer.open(`http://127.0.0.1:${await this.door()}/events${query}`);
  }
}

/** A node for the tests of one file. The file calls `boot` before its tests, and `close` after them. */
export class BootedNode {
  readonly #sound: Sound | undefined;
  readonly #hostname: string | undefined;
  #booted: Node | undefined;

  /** `sound`: the sound server of user `pi`; PulseAudio by default. */
  constructor(sound?: Sound, hostname?: string) {
    this.#sound = sound;
    this.#hostname = hostname;
  }

  readonly node = (): Node => this.#booted ?? assert.fail('the node has not booted');

  /**
   * Boots the node, and copies packages to it. Each list in `packages` has the arguments of `buildPackage`
   * for one package. `buildPackages` adds the empty package `nodejs` of `buildStandIn`.
   */
  async boot(...packages: readonly (readonly string[])[]): Promise<void> {
    const building = packages.length > 0 ? buildPackages(packages) : undefined;
    const [folder] = await Promise.all([building, this.#boot()]);
    if (folder !== undefined) await this.node().install(folder, PACKAGES_FOLDER);
  }

  async #boot(): Promise<void> {
    this.#booted = await bootNode(this.#sound, NODE_ROOT, this.#hostname);
  }

  async close(): Promise<void> {
    await this.#booted?.close();
  }
}

/** Boots several nodes at the same time, each with the same packages. */
export async function bootTogether(
  nodes: readonly BootedNode[],
  ...packages: readonly (readonly string[])[]
): Promise<void> {
  const [folder] = await Promise.all([buildPackages(packages), ...nodes.map((booted) => booted.boot())]);
  await Promise.all(nodes.map((booted) => booted.node().install(folder, PACKAGES_FOLDER)));
}

/** Builds these packages and the stand-in, and resolves with their folder. */
async function buildPackages(packages: readonly (readonly string[])[]): Promise<string> {
  const folder = temporaryFolder();
  for (const args of packages) await buildPackage('--out', folder, ...args);
  await buildStandIn(folder);
  return folder;
}
