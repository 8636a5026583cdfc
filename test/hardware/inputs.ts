// A real input: one half of the loopback card captures what is played into its other half, past the sound
// server, as a record player does.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DUMMY, LOOPBACK } from './hot-plug.js';
import type { EmulatedNode } from './node.js';

const TURNTABLE = LOOPBACK.replace('alsa_output', 'alsa_input');
const LISTEN = `/audio/inputs/${TURNTABLE}/listen`;

/** A tone into the other half of the card, until the unit ends. */
const PLAYED =
  'systemd-run --quiet --collect --unit=record speaker-test --device=hw:Loopback,1,0 --test=sine --channels=2 --rate=48000 --format=S32_LE --nloops=0';

export function inputScenarios(node: () => EmulatedNode): void {
  const drive = (act: string): Promise<string> =>
    node().machine.root(`echo snd_aloop.0 > /sys/bus/platform/drivers/snd_aloop/${act}`);
  after(() => node().machine.root('systemctl stop record 2> /dev/null || true'));

  test('a card has an input, which is heard nowhere at first', async () => {
    const { listen } = await node().input(TURNTABLE);
    assert.equal(listen, undefined);
  });

  test('an input is heard at an output as a stream that is called after it', async () => {
    await node().machine.root(PLAYED);
    await node().change(LISTEN, { output: DUMMY });
    const { description } = await node().input(TURNTABLE, { listen: [DUMMY] });
    await node().client(description, DUMMY);
    await node().agrees();
  });

  test('an input goes with its card, is no longer heard, and comes back with another id', async () => {
    const { id } = await node().input(TURNTABLE);
    await drive('unbind');
    await node().inputGoes(TURNTABLE);
    await node().until('no stream plays', () => node().stream.model.known.clients.size === 0);
    await drive('bind');
    assert.notEqual((await node().input(TURNTABLE)).id, id);
    await node().agrees();
  });
}
