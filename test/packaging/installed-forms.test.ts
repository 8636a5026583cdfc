// Boots the real node and lets the two forms of the package take each other's place on it.

import { after, before, describe } from 'node:test';
import { BootedNode } from '../node/booted-node.js';
import { whyNoNode } from '../node/node.js';
import { formScenarios } from '../node/scenarios/package-forms.js';

const VERSION = ['--version', '0.1.0-1'];

describe('the forms of the package', { skip: whyNoNode() }, () => {
  const booted = new BootedNode();
  // xz would take a minute over Node.
  before(() => booted.boot(VERSION, [...VERSION, '--with-node', '--compress', 'gzip']));
  after(() => booted.close());
  formScenarios(booted.node);
});
