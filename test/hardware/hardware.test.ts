// Boots the emulated machine once, sets tonearm up on it, and runs the scenarios on it, one after the other.
// The first group brings two cards, and each group leaves these cards there.

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { BLUETOOTH, forgettingScenarios, outageScenarios, pairingScenarios } from './bluetooth.js';
import { cardScenarios } from './cards.js';
import { hotPlugScenarios } from './hot-plug.js';
import { inputScenarios } from './inputs.js';
import { loudspeakerScenarios } from './loudspeaker.js';
import { whyNoMachine } from './machine.js';
import { EmulatedNode, isFullSize } from './node.js';
import { pageScenarios } from './page.js';
import { PLAYERS, phoneScenarios } from './phone.js';
import { pulseAudioScenarios } from './pulseaudio.js';
import { setUpScenarios } from './set-up.js';

describe('the emulated machine', { skip: whyNoMachine() }, () => {
  let booted: EmulatedNode | undefined;
  const node = (): EmulatedNode => booted ?? assert.fail('it has not booted');
  before(async () => {
    const settings = isFullSize ? BLUETOOTH + PLAYERS : BLUETOOTH;
    booted = await EmulatedNode.boot(settings, '--bluetooth');
  });
  after(() => booted?.close());

  describe('cards that come and go', () => hotPlugScenarios(node));
  describe('profiles and volumes of cards', () => cardScenarios(node));
  describe('an input', () => inputScenarios(node));
  describe('Bluetooth', () => {
    pairingScenarios(node);
    if (isFullSize) describe('a phone', () => phoneScenarios(node));
    forgettingScenarios(node);
    pageScenarios(node);
    if (isFullSize) describe('a loudspeaker', () => loudspeakerScenarios(node));
    if (isFullSize) outageScenarios(node);
  });
  if (isFullSize) describe('the set-up', () => setUpScenarios(node));
  if (isFullSize) describe('PulseAudio', () => pulseAudioScenarios(node));
});
