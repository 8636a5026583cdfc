// Scenarios with PulseAudio in the place of PipeWire, and with the same cards. The cards come and go, and
// have profiles, volumes and an input. These scenarios run last, because the machine keeps PulseAudio
// afterwards.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Audio } from '../contract/audio-node.js';
import { cardScenarios } from './cards.js';
import { DUMMY, LOOPBACK, untilTwoCards } from './hot-plug.js';
import { inputScenarios } from './inputs.js';
import type { EmulatedNode } from './node.js';
import { RESTART_USER } from './set-up.js';

const REPLACE_PIPEWIRE = `systemctl --quiet --global mask pipewire.socket pipewire.service pipewire-pulse.socket pipewire-pulse.service wireplumber.service
systemctl --quiet --global unmask pulseaudio.socket pulseaudio.service
${RESTART_USER}`;

export function pulseAudioScenarios(node: () => EmulatedNode): void {
  before(async () => {
    await node().machine.root(REPLACE_PIPEWIRE);
    await node().untilListening();
    await untilTwoCards(node());
  });

  test('PulseAudio takes the place of PipeWire, and an output whose card goes and comes back has another id', async () => {
    const { kind } = await node().get<Audio>('/audio');
    assert.equal(kind, 'pulseaudio');
    await node().untilAllAgree();
    const { id: idBefore } = await node().untilOutput(LOOPBACK);
    await node().machine.root(loopbackCardCommand('unbind'));
    await node().untilOutputGoes(LOOPBACK);
    await node().untilOutput(DUMMY, { default: true });
    await node().untilAllAgree();
    await node().machine.root(loopbackCardCommand('bind'));
    const { id: idAfter } = await node().untilOutput(LOOPBACK);
    assert.notEqual(idAfter, idBefore);
    await node().untilAllAgree();
  });

  cardScenarios(node);
  inputScenarios(node);
}

/** The driver removes the card with `unbind`, and makes it again with `bind`. */
const loopbackCardCommand = (driverFile: 'bind' | 'unbind'): string =>
  `echo snd_aloop.0 > /sys/bus/platform/drivers/snd_aloop/${driverFile}`;
