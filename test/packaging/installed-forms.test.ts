// Boots the real node and lets the two forms of the package take each other's place on it.

import { after, before, describe } from 'node:test';
import { BootedNode } from '../node/booted-node.js';
import { whyNoNode } from '../node/node.js';
import { formScenarios } from '../node/scenarios/package-forms.js';

const BUILT = ['--version', '0.1.0-1', '--compress', 'none'];

describe('the forms of the package', { skip: whyNoNode() }, () => {
  const booted = new BootedNode();
  before(() => booted.boot(BUILT, [...BUILT, '--with-node']));
  after(() => booted.close());
  formScenarios(booted.node);
});
