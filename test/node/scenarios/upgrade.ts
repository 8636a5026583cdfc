// Upgrades on the real node: what a client sees of real units, whatever happens to the daemon, the bus and the node.

import { after, before, describe } from 'node:test';
import type { Node } from '../node.js';
import { UpgradeDaemon } from './upgrade-daemon.js';
import { exampleScenarios } from './upgrade-examples.js';
import { restartScenarios } from './upgrade-restarts.js';
import { unitScenarios } from './upgrade-units.js';

/** Tests over a running node; `node()` gives it once it has booted. One of them restarts it. */
export function upgradeScenarios(node: () => Node): void {
  const daemon = new UpgradeDaemon(node);

  before(() => daemon.install());
  after(() => daemon.remove());

  describe('the unit', () => unitScenarios(daemon));
  describe('the daemon ends and returns', () => restartScenarios(daemon));
  describe('the examples', () => exampleScenarios(daemon));
}
