// Boots the real node, installs the package on it, and has its page open in Chromium while everything that a person does there is
// done by clicking and by the keyboard, with the effect read on the node: on PipeWire, then on PulseAudio, then over a reboot.
// Chromium runs on this machine, outside of the node, also where the node is another Debian.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BootedNode } from '../node/booted-node.js';
import { whyNoNode } from '../node/node.js';
import { PageOnNode } from '../node/scenarios/page-on-node.js';
import { pagePowerScenarios } from '../node/scenarios/page-power.js';
import { pageServicesScenarios } from '../node/scenarios/page-services.js';
import { pageSoundScenarios } from '../node/scenarios/page-sound.js';
import { pageUpgradeScenarios } from '../node/scenarios/page-upgrade.js';

describe("the installed node's page", { skip: whyNoNode('chromium') }, () => {
  const booted = new BootedNode({ sound: 'pipewire' });
  const page = new PageOnNode(booted.node);

  before(async () => {
    await booted.boot(['--version', '0.1.0-1', '--compress', 'none']);
    await page.install();
    await page.open();
  });
  after(async () => {
    await page.close();
    await booted.close();
  });

  describe('with PipeWire', () => pageSoundScenarios(page, 'pipewire'));
  describe('with PulseAudio in its place', () => pageSoundScenarios(page, 'pulseaudio'));
  describe('units', () => pageServicesScenarios(page));
  describe('an upgrade', () => pageUpgradeScenarios(page));
  describe('power', () => pagePowerScenarios(page));

  test('the page has never reloaded, had no error, and requested nothing from elsewhere', async () => {
    assert.equal(await page.page.evaluate('window.sameDocument'), true);
    assert.deepEqual(page.faults, []);
  });
});
