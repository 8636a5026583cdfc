// The two forms of the package on the node: each takes the other's place, and the one with Node needs no other.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../node.js';
import { ask } from './client.js';
import { isThere, property, shell } from './commands.js';
import { LEFT } from './package-remove.js';
import { apt, CONFIG, installPlain, RULE, setUpPi } from './package-shell.js';

const OWN_NODE = '/usr/lib/tonearm/node';

/** The Node that the running service runs on; it answers, too. */
async function nodeOfService(node: Node): Promise<string> {
  assert.equal(await property(node, 'ActiveState'), 'active');
  assert.equal((await ask(node, 'GET', '/server')).status, 200);
  return (await shell(node, `readlink /proc/${await property(node, 'MainPID')}/exe`)).trim();
}

/** The forms that are installed. */
async function installed(node: Node): Promise<string> {
  const list = await shell(node, "dpkg --list 'tonearm*'");
  return [...list.matchAll(/^ii +(\S+)/gm)].map(([, name]) => name).join();
}

/** Prints the files that tonearm-setup has made and recorded. */
const SETUP = `cat ${RULE} /var/lib/tonearm/setup/pi; find ${CONFIG} -type f | sort | xargs cat`;

export function formScenarios(node: () => Node): void {
  test('dpkg replaces one form by the one with Node: set-up and service stay, on its own Node', async () => {
    await installPlain(node());
    await setUpPi(node());
    const before = await shell(node(), SETUP);
    assert.notEqual(await nodeOfService(node()), OWN_NODE);
    await shell(node(), 'dpkg --install /opt/packages/tonearm-with-node_0.1.0-1_*.deb 2>&1');
    assert.equal(await installed(node()), 'tonearm-with-node');
    assert.equal(await nodeOfService(node()), OWN_NODE);
    assert.equal(await property(node(), 'UnitFileState'), 'enabled');
    assert.equal(await shell(node(), SETUP), before);
  });

  test('purging the replaced form removes nothing of the new one', async () => {
    const before = await shell(node(), SETUP);
    await shell(node(), 'dpkg --purge tonearm');
    assert.equal(await shell(node(), SETUP), before);
    assert.equal(await nodeOfService(node()), OWN_NODE);
  });

  test('dpkg replaces the form with Node by the other one', async () => {
    const before = await shell(node(), SETUP);
    await shell(node(), 'dpkg --install /opt/packages/tonearm_0.1.0-1_*.deb 2>&1');
    assert.equal(await installed(node()), 'tonearm');
    assert.notEqual(await nodeOfService(node()), OWN_NODE);
    assert.equal(await isThere(node(), OWN_NODE), false);
    assert.equal(await shell(node(), SETUP), before);
    await apt(node(), 'purge', 'tonearm', 'tonearm-with-node');
  });

  test('apt installs the form with Node where there is no package of Node, and it runs on its own', async () => {
    // The stand-in, where the machine's Node is from no package.
    await shell(node(), 'dpkg --purge nodejs 2>&1 || true');
    await apt(node(), 'install', './tonearm-with-node_0.1.0-1_*.deb');
    const said = await setUpPi(node(), '--with-upgrade');
    assert.equal(await nodeOfService(node()), OWN_NODE);
    // The detector has run, and asked for the form that is installed.
    assert.match(said, /tonearm-with-node 0\.1\.0-1 is installed, and apt has nothing newer/);
    assert.match(said, /line into \/etc\/sudoers\.d\/tonearm-upgrade: pi ALL.* --yes tonearm-with-node$/m);
    assert.equal(await property(node(), 'ActiveState', 'tonearm-detect.timer'), 'active');
    assert.match((await ask(node(), 'GET', '/upgrade')).text, /"current":"0\.1\.0-1"/);
    const version = await node().user(OWN_NODE, '--version');
    assert.match(version.stdout, /^v22\./);
  });

  test('purging the form with Node leaves nothing, not even the right to install upgrades', async () => {
    await shell(node(), 'mkdir -p /etc/sudoers.d; echo "# a right" > /etc/sudoers.d/tonearm-upgrade');
    await apt(node(), 'purge', 'tonearm-with-node');
    assert.equal(await property(node(), 'ActiveState'), 'inactive');
    assert.equal(await shell(node(), LEFT), '');
  });
}
