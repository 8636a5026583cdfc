// Boots the real node, and installs the two forms of the package there. The plain form runs on the system's
// Node, and the form with Node contains its own. Each form replaces the other.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BootedNode, CONFIG, NODE_ROOT, type Node, RULE, whyNoNode } from '../node/node.js';
import { FIND_LEFT } from '../node/scenarios/package-remove.js';
import { FOR_DEBIAN_12 } from './built-package.js';
import { useLateParts } from './installed-late-parts.js';

const NODE_OF_PACKAGE = '/usr/lib/tonearm/node';

/** Checks that the service runs and answers. Resolves with the path of the Node.js that runs it. */
async function nodeProgramOfService(node: Node): Promise<string> {
  assert.equal(await node.property('ActiveState'), 'active');
  assert.equal((await node.ask('GET', '/server')).status, 200);
  return (await node.shell(`readlink /proc/${await node.property('MainPID')}/exe`)).trim();
}

/** The names of the installed forms. */
async function installedForms(node: Node): Promise<string> {
  const list = await node.shell("dpkg --list 'tonearm*'");
  return [...list.matchAll(/^ii +(\S+)/gm)].map(([, name]) => name).join();
}

/** Prints the files that tonearm-setup has made and recorded. */
const PRINT_SETUP = `cat ${RULE} /var/lib/tonearm/setup/pi; find ${CONFIG} -type f | sort | xargs cat`;
const BUILD_OPTIONS = ['--version', '0.1.0-1', '--compress', 'none'];
const SYSTEM = readFileSync(join(NODE_ROOT, 'etc/os-release'), 'utf8');
/** The form with Node that is made for the Debian of the booted node. */
const WITH_NODE = /^VERSION_ID="12"$/m.test(SYSTEM)
  ? { debian: '12', version: `0.1.0-1${FOR_DEBIAN_12}`, major: '22' }
  : { debian: '13', version: '0.1.0-1', major: '24' };
const INSTALL_WITH_NODE = `dpkg --install /opt/packages/tonearm-with-node_${WITH_NODE.version}_*.deb 2>&1`;

const UNITS = '/home/pi/.config/systemd/user';
const TIMER = 'tonearm-detect.timer';
const SUDOERS = '/etc/sudoers.d/tonearm-upgrade';

/** Scripts that the user may have run since the set-up. */
const CHANGES_OF_TIMER: readonly (readonly [what: string, script: string])[] = [
  ['has removed the timer', `rm ${UNITS}/${TIMER}`],
  ['has changed the timer so that it remembers no run', `sed -i /Persistent/d ${UNITS}/${TIMER}`],
];

/**
 * Makes the files by which the package recognizes a tonearm below /usr/local, and the record of a set-up by
 * this tonearm. The `tonearm-setup` of this tonearm fails, because the package must not run it.
 */
const INSTALL_BELOW_LOCAL = `
mkdir -p /usr/local/lib/tonearm /usr/local/sbin /var/lib/tonearm/setup; touch /usr/local/lib/tonearm/installed-files
printf '#!/bin/sh\nexit 9\n' > /usr/local/sbin/tonearm-setup; chmod 755 /usr/local/sbin/tonearm-setup
echo linger > /var/lib/tonearm/setup/pi
`;
const REMOVE_BELOW_LOCAL = 'rm -r /usr/local/lib/tonearm /usr/local/sbin/tonearm-setup /var/lib/tonearm';

describe('the forms of the package', { skip: whyNoNode() }, () => {
  const booted = new BootedNode();
  const { node } = booted;
  before(() => booted.boot(BUILD_OPTIONS, [...BUILD_OPTIONS, '--with-node', '--debian', WITH_NODE.debian]));
  after(() => booted.close());

  test('dpkg replaces the plain form by the one with Node, and set-up and service stay', async () => {
    await node().installPlain();
    await node().setUpPi();
    const setupBefore = await node().shell(PRINT_SETUP);
    assert.notEqual(await nodeProgramOfService(node()), NODE_OF_PACKAGE);
    await node().shell(INSTALL_WITH_NODE);
    assert.equal(await installedForms(node()), 'tonearm-with-node');
    assert.equal(await nodeProgramOfService(node()), NODE_OF_PACKAGE);
    assert.equal(await node().property('UnitFileState'), 'enabled');
    assert.equal(await node().shell(PRINT_SETUP), setupBefore);
  });

  // Late parts are loaded only when they are used (test/contract/late-parts.ts).
  test('the form with Node loads late parts of commands, gateway and players', () => useLateParts(node()));

  test('purging the replaced form removes nothing of the new one', async () => {
    const setupBefore = await node().shell(PRINT_SETUP);
    await node().shell('dpkg --purge tonearm');
    assert.equal(await node().shell(PRINT_SETUP), setupBefore);
    assert.equal(await nodeProgramOfService(node()), NODE_OF_PACKAGE);
  });

  test('dpkg replaces the form with Node by the plain form', async () => {
    const setupBefore = await node().shell(PRINT_SETUP);
    await node().shell('dpkg --install /opt/packages/tonearm_0.1.0-1_*.deb 2>&1');
    assert.equal(await installedForms(node()), 'tonearm');
    assert.notEqual(await nodeProgramOfService(node()), NODE_OF_PACKAGE);
    assert.equal(await node().isThere(NODE_OF_PACKAGE), false);
    assert.equal(await node().shell(PRINT_SETUP), setupBefore);
  });

  test('the plain form loads late parts of commands, gateway and players', async () => {
    await useLateParts(node());
    // The next test begins without any form of the package.
    await node().apt('purge', 'tonearm', 'tonearm-with-node');
  });

  test('apt installs the form with Node where there is no package of Node, and the service runs on its own Node', async () => {
    // The package `nodejs` is the machine's own, or the empty one that `installPlain` has installed.
    await node().shell('dpkg --purge nodejs 2>&1 || true');
    await node().apt('install', `./tonearm-with-node_${WITH_NODE.version}_*.deb`);
    const output = await node().setUpPi('--with-upgrade');
    assert.equal(await nodeProgramOfService(node()), NODE_OF_PACKAGE);
    // The detector of upgrades has run, and asked for the installed form.
    assert.ok(
      output.includes(`tonearm-with-node ${WITH_NODE.version} is installed, and apt has nothing newer`),
      output,
    );
    assert.match(output, /line into \/etc\/sudoers\.d\/tonearm-upgrade: pi ALL.* --yes tonearm-with-node$/m);
    assert.equal(await node().property('ActiveState', 'tonearm-detect.timer'), 'active');
    const upgrade = await node().ask('GET', '/upgrade');
    assert.ok(upgrade.text.includes(`"current":"${WITH_NODE.version}"`), upgrade.text);
    const version = await node().user(NODE_OF_PACKAGE, '--version');
    assert.ok(version.stdout.startsWith(`v${WITH_NODE.major}.`), version.stdout);
  });

  test("a set-up accepts a detector of the user's own whose result file has another layout, and prints the route that has the result", async () => {
    const result = '{"current":"1.4.0","latest":"1.5.0","upgrade_available":true}';
    const detector = `#!/bin/sh\necho '${result}' > ~/.local/state/tonearm/upgrade-result.json\n`;
    await node().writeFile('/opt/own-detector', detector, '755');
    const folder = '/etc/systemd/user/tonearm-detect.service.d';
    await node().writeFile(`${folder}/own.conf`, '[Service]\nExecStart=\nExecStart=/opt/own-detector\n');
    const output = await node().setUpPi('--with-upgrade');
    // The set-up goes on: the next line is about the right to install upgrades.
    assert.match(output, /the detector has run: GET \/upgrade has its result\n.*\/etc\/sudoers\.d/);
    await node().shell(`rm -r ${folder}`);
    await node().systemctl('daemon-reload');
  });

  test('a set-up with the example of upgrades prints the line for sudo until exactly this line is there', async () => {
    const line = /line into \S+: (pi ALL.*)$/m;
    const [, right = ''] = line.exec(await node().setUpPi('--with-upgrade')) ?? [];
    // This is the line of the plain form. It allows no upgrade of the form with Node.
    await node().writeFile(SUDOERS, `${right.replace(/-with-node$/, '')}\n`, '440');
    assert.equal(line.exec(await node().setUpPi('--with-upgrade'))?.[1], right);
    await node().writeFile(SUDOERS, `${right}\n`, '440');
    assert.doesNotMatch(await node().setUpPi('--with-upgrade'), /sudoers/);
  });

  test('purging the form with Node leaves nothing, not even the right to install upgrades', async () => {
    await node().writeFile(SUDOERS, '# a right\n');
    await node().apt('purge', 'tonearm-with-node');
    assert.equal(await node().property('ActiveState'), 'inactive');
    assert.equal(await node().shell(FIND_LEFT), '');
  });

  for (const [what, script] of CHANGES_OF_TIMER) {
    test(`the removal of the package goes on if the user ${what}`, async () => {
      await node().shell(INSTALL_WITH_NODE);
      await node().setUpPi('--with-upgrade');
      await node().shell(script);
      await node().systemctl('daemon-reload');
      await node().shell('dpkg --remove tonearm-with-node 2>&1');
      const left = `find /var/lib/tonearm /usr/lib/tonearm ${CONFIG} /home/pi/.local/share/systemd \
        ${UNITS}/*.wants -type f -o -type l 2> /dev/null || true`;
      assert.equal(await node().shell(left), '');
      assert.notEqual(await node().property('ActiveState', TIMER), 'active');
      // A timer that was changed stays.
      await node().shell(`rm -f ${UNITS}/${TIMER}`);
    });
  }

  test('a purge of the removed package leaves the record of an installation below /usr/local, and removes the right to install upgrades', async (t) => {
    await node().shell(INSTALL_BELOW_LOCAL);
    t.after(() => node().shell(REMOVE_BELOW_LOCAL));
    await node().writeFile(SUDOERS, '# a right\n');
    await node().shell('dpkg --purge tonearm-with-node 2>&1');
    assert.equal(await node().shell('cat /var/lib/tonearm/setup/pi'), 'linger\n');
    assert.equal(await node().isThere(SUDOERS), false);
  });

  test('a package beside an installation below /usr/local warns and refuses the set-up, and a purge leaves the record of that installation', async (t) => {
    await node().shell(INSTALL_BELOW_LOCAL);
    t.after(() => node().shell(REMOVE_BELOW_LOCAL));
    const installed = await node().shell(INSTALL_WITH_NODE);
    const uninstall = '/usr/local/lib/tonearm/install.sh --uninstall';
    assert.match(
      installed,
      new RegExp(`^tonearm: another .*/usr/local hides this package; .*${uninstall}`, 'm'),
    );
    const refused = await node().root('/usr/sbin/tonearm-setup', '--user', 'pi');
    assert.deepEqual([refused.status, refused.stdout], [73, '']);
    assert.match(refused.stderr, /below \/usr\/local, which hides this one: nothing was changed/);
    await node().shell('dpkg --purge tonearm-with-node 2>&1');
    assert.equal(await node().shell('cat /var/lib/tonearm/setup/pi'), 'linger\n');
  });

  test('installing and removing the package leave the service of a user who has a tonearm at home', async (t) => {
    const own = '/home/pi/.local/lib/tonearm';
    t.after(async () => {
      await node().systemctl('stop', 'tonearm.service');
      await node().userShell(`rm -r ${own} ${UNITS}/tonearm.service`);
      await node().systemctl('daemon-reload');
    });
    // The package recognizes a tonearm at home by the file `installed-files`.
    await node().userShell(`mkdir -p ${own} ${UNITS}; touch ${own}/installed-files
      printf '[Service]\nExecStart=sleep infinity\n' > ${UNITS}/tonearm.service`);
    await node().systemctl('daemon-reload');
    await node().systemctl('start', 'tonearm.service');
    const pid = await node().property('MainPID');
    await node().shell(INSTALL_WITH_NODE);
    assert.equal(await node().property('MainPID'), pid);
    await node().shell('dpkg --purge tonearm-with-node 2>&1');
    assert.equal(await node().property('MainPID'), pid);
  });
});
