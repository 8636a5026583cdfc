// Builds the RPM package, reads it with rpm, and lets rpm install, upgrade and remove it on a real node.
// That node is a Debian, so rpm copies the files and runs the scripts, but ignores dependencies.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BootedNode, CONFIG, whyNoNode } from '../node/node.js';
import { FIND_LEFT } from '../node/scenarios/package-remove.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { buildRpm, output } from './built-package.js';

const ON_NODE = '/opt/rpm';
const MACHINE = process.arch === 'x64' ? 'x86_64' : 'aarch64';
const EXPECTED_FILES = [
  '/usr/bin/tonearm',
  '/usr/lib/systemd/user/tonearm.service',
  '/usr/lib/tonearm/main.js',
  '/usr/lib/tonearm/node',
  '/usr/sbin/tonearm-setup',
  '/usr/share/licenses/tonearm/LICENSE',
  '/usr/share/licenses/tonearm/third-party-notices.txt',
  '/usr/share/tonearm/config.example.yaml',
  '/usr/share/zsh/site-functions/_tonearm',
];
/** The exit status of tonearm-setup for wrong usage. */
const WRONG_USAGE = 64;

const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

describe('the RPM package', { skip: whyNoNode('rpmbuild') }, () => {
  const booted = new BootedNode();
  const { node } = booted;
  const folder = temporaryFolder({ after });
  const fileOf = (version: string): string => join(folder, `tonearm-${version}-1.${MACHINE}.rpm`);
  /** Resolves with rpm's output. rpm must succeed. Debian's rpm installs only with `--force-debian`. */
  const rpm = (...args: readonly string[]): Promise<string> =>
    node().shell(`rpm --force-debian --nodeps ${args.join(' ')} 2>&1`);

  before(async () => {
    const building = (async () => {
      for (const version of ['0.1.0', '0.2.0'])
        await buildRpm('--fast', '--version', version, '--out', folder);
    })();
    await Promise.all([booted.boot(), building]);
    await node().install(folder, ON_NODE);
  });
  after(() => booted.close());

  test('the package has the expected files, dependencies, owner and architecture', async () => {
    const list = (await output('rpm', '-qpl', fileOf('0.1.0'))).split('\n');
    const missing = EXPECTED_FILES.filter((file) => !list.includes(file));
    assert.deepEqual(missing, []);
    // The example scripts for upgrades use apt, so only the Debian packages have them.
    const upgradeScripts = list.filter((file) => file.includes('/upgrade/tonearm'));
    assert.deepEqual(upgradeScripts, []);

    const needs = await output('rpm', '-qp', '--requires', fileOf('0.1.0'));
    assert.match(needs, /^glibc >= 2\.28$/m);
    assert.match(needs, /^systemd$/m);
    const owners = await output(
      'rpm',
      '-qp',
      '--qf',
      '[%{FILEUSERNAME}:%{FILEGROUPNAME}\\n]',
      fileOf('0.1.0'),
    );
    assert.deepEqual([...new Set(owners.trim().split('\n'))], ['root:root']);
    assert.equal(await output('rpm', '-qp', '--qf', '%{ARCH}', fileOf('0.1.0')), MACHINE);
  });

  test('packing the same build twice gives the same bytes', async (t) => {
    // `buildRpm` sets the same build time in each call.
    const secondFolder = temporaryFolder(t);
    await buildRpm('--fast', '--version', '0.1.0', '--out', secondFolder);
    assert.equal(digest(join(secondFolder, `tonearm-0.1.0-1.${MACHINE}.rpm`)), digest(fileOf('0.1.0')));
  });

  test('rpm installs the package, tonearm-setup sets it up, and the service answers', async () => {
    assert.match(await rpm('--install', `${ON_NODE}/tonearm-0.1.0-1.*.rpm`), /now run: tonearm-setup --user/);
    await node().setUpPi();
    assert.equal(await node().property('FragmentPath'), '/usr/lib/systemd/user/tonearm.service');
    const exe = await node().shell(`readlink /proc/${await node().property('MainPID')}/exe`);
    assert.equal(exe, '/usr/lib/tonearm/node\n');
    assert.equal((await node().ask('GET', '/server')).status, 200);
    await until(
      'the sound server carries out a command',
      async () => (await node().ask('POST', '/audio/server/mute')).status === 202,
    );
    // `--with-upgrade` needs the example scripts for upgrades, which the RPM package does not have.
    const refused = await node().setUp('--user', 'pi', '--with-upgrade');
    assert.equal(refused.status, WRONG_USAGE);
  });

  test('an upgrade restarts the service, and keeps its set-up', async () => {
    const pid = await node().property('MainPID');
    const settings = await node().shell(`find ${CONFIG} -type f | xargs cat`);
    await rpm('--upgrade', `${ON_NODE}/tonearm-0.2.0-1.*.rpm`);
    assert.equal(await node().property('ActiveState'), 'active');
    assert.notEqual(await node().property('MainPID'), pid);
    assert.equal(await node().shell(`find ${CONFIG} -type f | xargs cat`), settings);
    assert.equal((await node().ask('GET', '/server')).status, 200);
  });

  test('rpm removes the package, and nothing is left', async () => {
    await rpm('--erase', 'tonearm');
    assert.equal(await node().property('ActiveState'), 'inactive');
    assert.equal(await node().shell(FIND_LEFT), '');
  });
});
