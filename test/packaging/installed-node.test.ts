// Boots the real node, and copies two versions of the package to it. Then the scenarios of the package and
// those of power run there, in the order of a node's life: installed, set up, restarted, upgraded, removed.

import { after, before, describe } from 'node:test';
import { BootedNode, whyNoNode } from '../node/node.js';
import { installScenarios } from '../node/scenarios/package-install.js';
import { otherUserScenarios } from '../node/scenarios/package-other-user.js';
import { removeScenarios } from '../node/scenarios/package-remove.js';
import { serviceScenarios } from '../node/scenarios/package-service.js';
import { desktopScenarios, powerScenarios } from '../node/scenarios/power.js';

const BUILD_OPTIONS = ['--compress', 'none'];

describe('the installed node', { skip: whyNoNode() }, () => {
  const booted = new BootedNode();
  const { node } = booted;
  before(() =>
    booted.boot([...BUILD_OPTIONS, '--version', '0.1.0-1'], [...BUILD_OPTIONS, '--version', '0.1.0-2']),
  );
  after(() => booted.close());

  describe('installation', () => installScenarios(node));
  describe('the service', () => serviceScenarios(node));
  describe('another user of the node', () => otherUserScenarios(node));
  describe('power actions', () => powerScenarios(node));
  describe('a desktop', () => desktopScenarios(node));
  describe('removal', () => removeScenarios(node));
});
