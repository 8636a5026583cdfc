// Two machines on one link have the same hostname, and each has an avahi-daemon. Avahi calls the second
// machine `raspberrypi-2.local`, and the built daemon there must answer requests with this name as Host
// (docs/http-api.md, "Host and Origin"). The link is in a network of its own.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Program, startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

const skip = skipReason({ programs: ['avahi-daemon', 'nsenter'], root: true });
/** Avahi needs some seconds until it has found a free name. */
const NAMED_MAX_MS = 60_000;
const OWN_ADDRESS = '10.7.0.1';
const OTHER_ADDRESS = '10.7.0.2';

/** A `Place` exists while its holder runs. The holder is a program that only sleeps. This file is its log. */
const HOLDER_LOG = 'holder';

/**
 * Imitates a machine by a `/run` of its own. Avahi has its socket there, so each place can run an
 * avahi-daemon. With the flag `--net`, the place also has a network of its own.
 */
class Place {
  readonly #folder: string;
  readonly #holder: Program;
  #avahiStarts = 0;

  constructor(folder: string, flags: readonly string[]) {
    mkdirSync(folder);
    this.#folder = folder;
    const script = 'mount -t tmpfs tmpfs /run && echo ready && exec sleep infinity';
    this.#holder = startProgram(
      'unshare',
      ['--mount', ...flags, 'sh', '-c', script],
      this.#programOptions(HOLDER_LOG),
    );
  }

  get pid(): number {
    return this.#holder.pid;
  }

  /** A command runs in this place if these words stand before it. */
  get launcher(): readonly string[] {
    // Without `--root`, nsenter would leave the chroot in which packaging/debian13.mjs runs the tests.
    return ['nsenter', '--target', String(this.pid), '--mount', '--root', '--wd'];
  }

  async ready(): Promise<void> {
    await until('the place is there', () => readFileSync(join(this.#folder, HOLDER_LOG), 'utf8') !== '');
  }

  /**
   * Starts Avahi with the hostname, and resolves when Avahi has chosen `expectedName`. `moreArgs`
   * stand between the words of `launcher` and the command of Avahi.
   */
  async startAvahi(
    hostname: string,
    expectedName: string,
    moreArgs: readonly string[] = [],
  ): Promise<Program> {
    const config = join(this.#folder, 'avahi.conf');
    // Each machine has only one of the two interfaces.
    writeFileSync(config, `[server]\nhost-name=${hostname}\nenable-dbus=no\nallow-interfaces=lan0,lan1\n`);
    this.#avahiStarts += 1;
    const log = `avahi-${this.#avahiStarts}`;
    const [nsenter = '', ...args] = [...this.launcher, ...moreArgs];
    const avahi = ['avahi-daemon', '--no-rlimits', '--no-drop-root', '--no-chroot', '-f', config];
    const program = startProgram(nsenter, [...args, ...avahi], this.#programOptions(log));
    const isNamed = (): boolean =>
      readFileSync(join(this.#folder, log), 'utf8').includes(`Host name is ${expectedName}.`);
    await until(`Avahi is ${expectedName}`, isNamed, NAMED_MAX_MS);
    return program;
  }

  end(): Promise<void> {
    return this.#holder.end('SIGKILL');
  }

  #programOptions(log: string) {
    return { env: { PATH: process.env['PATH'] ?? '' }, log: join(this.#folder, log) };
  }
}

async function startTwoMachines(t: TestContext) {
  const folder = temporaryFolder();
  // Only `other` needs a network of its own. `own` is in the network of this test file.
  const own = new Place(join(folder, 'own'), []);
  const other = new Place(join(folder, 'other'), ['--net']);
  t.after(() => Promise.all([own.end(), other.end()]));
  await Promise.all([own.ready(), other.ready()]);
  ip('link', 'add', 'lan0', 'type', 'veth', 'peer', 'name', 'lan1', 'netns', String(other.pid));
  ip('addr', 'add', `${OWN_ADDRESS}/24`, 'dev', 'lan0');
  ip('link', 'set', 'lan0', 'up');
  return { own, other };
}

inOwnNetwork(import.meta.url, () => {
  test('a node answers requests with its present Avahi name as Host, and refuses its earlier name and similar names', {
    skip,
  }, async (t) => {
    const { own, other } = await startTwoMachines(t);
    // lan1 is in the network of `other`, so its address must be set there. nsenter starts this shell there.
    // The shell sets the address, and then executes `$@`, which is the command of Avahi.
    const joinNetwork = [
      '--net',
      'sh',
      '-c',
      `ip addr add ${OTHER_ADDRESS}/24 dev lan1; ip link set lan1 up; exec "$@"`,
      'sh',
    ];
    const neighbour = await other.startAvahi('raspberrypi', 'raspberrypi.local', joinNetwork);
    t.after(() => neighbour.end());
    const firstAvahi = await own.startAvahi('raspberrypi', 'raspberrypi-2.local');
    t.after(() => firstAvahi.end());
    const config = `${NO_BACKENDS}bind: [lo, lan0]\n`;
    // The daemon asks Avahi at its socket, which is in the `/run` of `own`.
    const daemon = await Daemon.start({ config, launcher: own.launcher }, t);
    const status = async (host: string, path = '/server'): Promise<number> =>
      (await daemon.get(path, { Host: host })).status;

    assert.equal(await status('raspberrypi-2.local'), 200);
    assert.equal(await status(`RaspberryPi-2.local.:${daemon.port}`), 200);
    assert.equal(await status('raspberrypi-3.local'), 403);
    assert.equal(await status('raspberrypi-2.example.org'), 403);
    assert.equal(await status('raspberrypi.local'), 403, 'this is the name of the neighbour');

    await firstAvahi.end();
    const secondAvahi = await own.startAvahi('phono', 'phono.local');
    t.after(() => secondAvahi.end());
    await until('the new name is known', async () => (await status('phono.local')) === 200);
    assert.equal(await status('raspberrypi-2.local'), 403);

    await secondAvahi.end();
    await until('no name is left', async () => (await status('phono.local')) === 403);
    assert.equal(await status('localhost'), 200);
  });
});
