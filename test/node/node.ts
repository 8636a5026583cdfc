// A real node for tests: a booted container with what tests do on it. Commands must succeed, and give what
// they print; requests go over the daemon's real port.

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
import { lacks } from '../tools/requirements.js';
import { Container, NODE_HOSTNAME, NODE_ROOT, NODE_USER } from './container.js';
import { Keeper } from './keeper.js';
import type { Ran } from './process-tree.js';

export { NODE_PROGRAM, NODE_ROOT, NODE_USER } from './container.js';
export type { Ran } from './process-tree.js';

/** The files of tonearm-setup for pi. */
export const RULE = '/etc/polkit-1/rules.d/50-tonearm-pi.rules';
export const CONFIG = '/home/pi/.config/tonearm';
export const POWER_CONFIG = `${CONFIG}/conf.d/50-power.yaml`;

const NEEDED_COMMANDS = ['systemd-nspawn', 'unshare', 'nsenter', 'setpriv', 'systemctl', 'tar', 'useradd'];
const SOUND_UNITS = {
  pulseaudio: 'pulseaudio.service pulseaudio.socket',
  pipewire: 'pipewire.socket pipewire-pulse.socket wireplumber.service',
  none: '',
} as const;

/** Where the packages lie on the node. */
const PACKAGES = '/opt/packages';

type Sound = keyof typeof SOUND_UNITS;

/** For the `skip` option of tests that boot a node and need these programs on this machine besides. */
export function whyNoNode(...programs: readonly string[]): string | false {
  return lacks({ programs: [...NEEDED_COMMANDS, ...programs], root: true });
}

/** Boots a node over a root. Rejects, with the console's text, if it does not come up. */
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
    // The keeper removes it, unless it could not even begin. Never with what is in it: that may be the
    // machine's own root.
    if (existsSync(dir) && readdirSync(dir).length === 0) rmdirSync(dir);
    const report = `its console said:\n${keeper.console || '(nothing)\n'}its systemd says:\n${state}`;
    throw new Error(`the node did not boot; ${report}`, { cause: error });
  }
}

async function outputOf(running: Promise<Ran>, what: string): Promise<string> {
  const { status, stdout, stderr } = await running;
  assert.equal(status, 0, `${what}\n${stdout}${stderr}`);
  return stdout;
}

export class Node extends Container {
  /** A shell script of root's. */
  shell(script: string): Promise<string> {
    return outputOf(this.root('sh', '-euc', script), script);
  }

  /** A shell script of pi's. */
  userShell(script: string): Promise<string> {
    return outputOf(this.user('sh', '-euc', `export HOME=/home/${NODE_USER}; ${script}`), script);
  }

  /** Runs systemctl for pi's manager. */
  async systemctl(...args: readonly string[]): Promise<string> {
    return (await outputOf(this.user('systemctl', '--user', ...args), `systemctl ${args.join(' ')}`)).trim();
  }

  /** A property of a unit of pi's; of the service, unless another is named. */
  property(name: string, unit = 'tonearm.service'): Promise<string> {
    return this.systemctl('show', '-P', name, unit);
  }

  /** True when there is such a file. */
  async isThere(path: string): Promise<boolean> {
    return (await this.root('test', '-e', path)).status === 0;
  }

  /** Resolves when `by` holds a lock on the shutdown, which it does until the answer is called. */
  async holdShutdown(by: 'root' | 'pi'): Promise<() => Promise<void>> {
    const why = [`--who=${by}'s upgrade`, '--why=half-way'];
    const hold = ['systemd-inhibit', '--what=shutdown', '--mode=block', ...why, 'sh', '-c', 'echo held; cat'];
    const holder = by === 'root' ? this.spawnRoot(...hold) : this.spawnUser(...hold);
    const gone = once(holder, 'close');
    const [line] = await Promise.race([once(holder.stdout, 'data'), gone]);
    assert.match(String(line), /^held/, `${by} got no lock`);
    return async () => {
      holder.stdin.end();
      await gone;
    };
  }

  setUp(...args: readonly string[]): Promise<Ran> {
    return this.root('tonearm-setup', ...args);
  }

  setUpPi(...args: readonly string[]): Promise<string> {
    return outputOf(this.setUp('--user', 'pi', ...args), `tonearm-setup ${args.join(' ')}`);
  }

  /** Without network: everything that is needed lies beside it. */
  apt(...args: readonly string[]): Promise<string> {
    const quiet = 'apt-get --yes --no-install-recommends -o APT::Sandbox::User=root';
    return this.shell(`cd ${PACKAGES} && DEBIAN_FRONTEND=noninteractive ${quiet} ${args.join(' ')} 2>&1`);
  }

  /** Installs the form that runs on the system's Node, which a package must have brought. */
  async installPlain(): Promise<string> {
    const present = await this.root('dpkg-query', '--show', 'nodejs');
    const standIn = present.status === 0 ? '' : './nodejs_20.0.0-1_all.deb';
    return this.apt('install', standIn, './tonearm_0.1.0-1_*.deb');
  }

  /** The same without apt, which would read all of its lists first. */
  async unpackPlain(): Promise<void> {
    const standIn = 'dpkg-query --show nodejs > /dev/null 2>&1 || dpkg --install nodejs_*.deb';
    await this.shell(`cd ${PACKAGES}; ${standIn}; dpkg --install tonearm_*.deb`);
  }

  async restartService(): Promise<void> {
    await this.systemctl('restart', 'tonearm.service');
  }

  /** One request and its whole answer. */
  async ask(method: string, path: string): Promise<HttpAnswer> {
    return send(await this.door(), { method, path });
  }

  /** The parsed body of a GET that must be 200. */
  async read<T = unknown>(path: string): Promise<T> {
    const { status, text } = await this.ask('GET', path);
    assert.equal(status, 200, text);
    return JSON.parse(text) as T;
  }

  /** An open stream, which the caller closes. */
  async events(query = ''): Promise<EventConsumer> {
    return EventConsumer.open(`http://127.0.0.1:${await this.door()}/events${query}`);
  }
}

/**
 * A node for one file of tests: booted before them, where they want it with packages, and removed after them.
 */
export class BootedNode {
  readonly #sound: Sound | undefined;
  readonly #hostname: string | undefined;
  #booted: Node | undefined;

  /** `sound`: the sound server of user `pi`; PulseAudio unless given. */
  constructor(sound?: Sound, hostname?: string) {
    this.#sound = sound;
    this.#hostname = hostname;
  }

  readonly node = (): Node => this.#booted ?? assert.fail('the node has not booted');

  /**
   * `packages`: the builder's arguments for each package that is to lie on it, beside the one that stands in
   * for Node's.
   */
  async boot(...packages: readonly (readonly string[])[]): Promise<void> {
    const [folder] = await Promise.all([packages.length > 0 && built(packages), this.#boot()]);
    if (folder !== false) await this.node().install(folder, PACKAGES);
  }

  async #boot(): Promise<void> {
    this.#booted = await bootNode(this.#sound, NODE_ROOT, this.#hostname);
  }

  async close(): Promise<void> {
    await this.#booted?.close();
  }
}

/** Boots several of them, each with the same packages. */
export async function bootTogether(
  nodes: readonly BootedNode[],
  ...packages: readonly (readonly string[])[]
): Promise<void> {
  const [folder] = await Promise.all([built(packages), ...nodes.map((each) => each.boot())]);
  await Promise.all(nodes.map((each) => each.node().install(folder, PACKAGES)));
}

/** The folder of these packages and the stand-in. */
async function built(packages: readonly (readonly string[])[]): Promise<string> {
  const folder = temporaryFolder();
  for (const args of packages) await buildPackage('--out', folder, ...args);
  await buildStandIn(folder);
  return folder;
}
