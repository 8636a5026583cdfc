// Boots the real node once, and runs the scenarios of service units, upgrades and discovery on it, one after
// the other. The functions in scenarios/ declare the tests. Each scenario leaves the node as it was.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BootedNode, NODE_PROGRAM, NODE_ROOT, whyNoNode } from './node.js';
import { discoveryScenarios } from './scenarios/discovery.js';
import { systemdScenarios } from './scenarios/systemd.js';
import { UpgradeDaemon } from './scenarios/upgrade-daemon.js';
import { exampleScenarios } from './scenarios/upgrade-example.js';
import { unitScenarios } from './scenarios/upgrades.js';

describe('the real node', { skip: whyNoNode() }, () => {
  const booted = new BootedNode();
  const { node } = booted;
  before(() => booted.boot());
  after(() => booted.close());

  test('the booted node has the Debian of its root folder, and Node.js runs on it', async () => {
    const { stdout } = await node().user('cat', '/etc/os-release');
    assert.equal(stdout, readFileSync(join(NODE_ROOT, 'etc/os-release'), 'utf8'));
    const version = await node().user(NODE_PROGRAM, '--version');
    assert.match(version.stdout, /^v\d+\./, version.stderr);
  });

  describe('service units', () => systemdScenarios(node));
  describe('upgrades', () => {
    const daemon = new UpgradeDaemon(node);
    before(() => daemon.install());
    after(() => daemon.remove());
    describe('the unit', () => unitScenarios(daemon));
    describe('the examples', () => exampleScenarios(daemon));
  });
  describe('discovery', () => discoveryScenarios(node));
});
