// Boots the real node, installs the package on it and runs the scenarios of package and power over it, in the order of a
// node's life: installed, set up, restarted, upgraded, removed.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { bootNode, type Node, whyNoNode } from '../node/node.js';
import { desktopScenarios } from '../node/scenarios/package-desktop.js';
import { installScenarios } from '../node/scenarios/package-install.js';
import { mqttScenarios } from '../node/scenarios/package-mqtt.js';
import { otherUserScenarios } from '../node/scenarios/package-other-user.js';
import { playersScenarios } from '../node/scenarios/package-players.js';
import { removeScenarios } from '../node/scenarios/package-remove.js';
import { serviceScenarios } from '../node/scenarios/package-service.js';
import { refusalScenarios } from '../node/scenarios/power.js';
import { restartScenarios } from '../node/scenarios/power-restart.js';
import { buildPackage, buildStandIn, type Folder, tempFolder } from './built-package.js';

const why = whyNoNode();

if (why !== undefined && process.env['TONEARM_REQUIRE_ALL'] === '1') {
  test('a node can be booted', () => assert.fail(why));
}

/** Two versions of tonearm and the stand-in, in one folder. */
async function buildPackages(folder: string): Promise<void> {
  await buildPackage('--out', folder, '--version', '0.1.0-1');
  await buildPackage('--out', folder, '--version', '0.1.0-2');
  await buildStandIn(folder);
}

describe('the installed node', { skip: why ?? false }, () => {
  let booted: Node | undefined;
  let packages: Folder | undefined;
  const node = (): Node => booted ?? assert.fail('the node has not booted');

  before(async () => {
    packages = tempFolder();
    await Promise.all([
      buildPackages(packages.path),
      bootNode().then((fresh) => {
        booted = fresh;
      }),
    ]);
    await node().install(packages.path, '/opt/packages');
  });
  after(async () => {
    await booted?.close();
    packages?.remove();
  });

  describe('installation', () => installScenarios(node));
  describe('the service', () => serviceScenarios(node));
  describe('another user of the node', () => otherUserScenarios(node));
  describe('media players', () => playersScenarios(node));
  describe('an MQTT broker', () => mqttScenarios(node));
  describe('refused power actions', () => refusalScenarios(node));
  describe('power actions', () => restartScenarios(node));
  describe('a desktop', () => desktopScenarios(node));
  describe('removal', () => removeScenarios(node));
});
