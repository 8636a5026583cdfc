// Scenarios of a card: its profile decides which outputs there are, and the steps of its mixer decide the
// volume.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DUMMY, LOOPBACK, outputEventsOf, playCommand } from './hot-plug.js';
import type { EmulatedNode } from './node.js';

const CARD = 'alsa_card.platform-snd_aloop.0';
const PROFILE = `/audio/cards/${CARD}/profile`;
export const STEREO = 'output:analog-stereo+input:analog-stereo';
const SURROUND = 'output:analog-surround-51+input:analog-stereo';
const SURROUND_OUTPUT = LOOPBACK.replace('analog-stereo', 'analog-surround-51');

export function cardScenarios(node: () => EmulatedNode): void {
  const stateNow = () => node().stream.model.known;
  const untilActive = (profile: string): Promise<void> =>
    node().until(`${profile} of ${CARD}`, () =>
      [...stateNow().cards.values()].some((card) => card.name === CARD && card.active_profile === profile),
    );

  test('another profile replaces the outputs of its card, and those of another card stay', async () => {
    await node().machine.user(playCommand('tone'));
    await node().change(`/audio/outputs/${LOOPBACK}/default`);
    await node().untilClient('tone', LOOPBACK);
    const from = node().stream.events.length;

    await node().change(PROFILE, { profile: SURROUND });
    await node().untilOutput(SURROUND_OUTPUT);
    await node().untilOutputGoes(LOOPBACK);
    await untilActive(SURROUND);
    await node().untilAllAgree();

    await node().change(PROFILE, { profile: 'off' });
    await node().untilOutputGoes(SURROUND_OUTPUT);
    await node().untilClient('tone', DUMMY);
    await untilActive('off');
    await node().untilAllAgree();

    await node().change(PROFILE, { profile: STEREO });
    await node().untilOutput(LOOPBACK);
    await untilActive(STEREO);
    await node().untilAllAgree();
    await node().machine.user('systemctl --user stop tone');
    const removed = outputEventsOf(node(), DUMMY, from).filter((line) => line.startsWith('removed'));
    assert.deepEqual(removed, []);
  });

  test('an unknown profile and an unknown card answer 404 and change nothing', async () => {
    assert.equal((await node().post(PROFILE, { profile: 'surround' })).status, 404);
    const profileOfUnknownCard = PROFILE.replace('aloop', 'none');
    assert.equal((await node().post(profileOfUnknownCard, { profile: STEREO })).status, 404);
    await untilActive(STEREO);
    await node().untilAllAgree();
  });

  test('a volume is not stuck where a delta is smaller than a step of the mixer', async () => {
    const { volume } = await node().untilOutput(DUMMY);
    const repetitions = 30;
    // The volume may differ from the sum of the deltas by a step of the mixer, and by the rounding.
    const tolerance = 0.011;
    for (const delta of [0.001, -0.001]) {
      for (let count = 0; count < repetitions; count += 1)
        await node().change(`/audio/outputs/${DUMMY}/volume`, { delta });
      // The second round takes back what the first round has added.
      const expected = delta > 0 ? volume + repetitions * delta : volume;
      await node().until(`a volume near ${expected}`, () =>
        [...stateNow().outputs.values()].some(
          (output) => output.name === DUMMY && Math.abs(output.volume - expected) <= tolerance,
        ),
      );
    }
    await node().untilAllAgree();
  });
}
