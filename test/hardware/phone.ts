// A phone that plays on the node: its sound is a stream on the node's output. It is paired when these begin, and when they end.

import { before, test } from 'node:test';
import { DUMMY, playing, twoCards } from './hot-plug.js';
import type { EmulatedNode } from './node.js';
import { NODE, NODE_AT_PEER, outputOf, sounds, watched } from './radio.js';

/** The node, as the phone's sound server has it. */
const AT_PHONE = outputOf(NODE);
const IS_CONNECTED = `busctl get-property org.bluez ${NODE_AT_PEER} Connected | grep -q true`;
/** A phone asks again and again. It may be connected since it paired, without its sound. */
const PHONE_CONNECTS = `for try in $(seq 10); do
  busctl --timeout=60 call org.bluez ${NODE_AT_PEER} Connect && exit
  sleep 1
done
exit 1`;
const PHONE_DISCONNECTS = `! ${IS_CONNECTED} || busctl call org.bluez ${NODE_AT_PEER} Disconnect`;

export function phoneScenarios(node: () => EmulatedNode): void {
  before(() => twoCards(node()));
  sound(node);

  test('a phone that goes takes its sound with it', async () => {
    const { peer } = watched(node);
    await node().machine.root(PHONE_DISCONNECTS);
    await peer({ connected: false, paired: true });
    await node().outputGoes(AT_PHONE);
    await node().machine.user('systemctl --user stop song');
    await node().agrees();
  });
}

function sound(node: () => EmulatedNode): void {
  const { peer, survives } = watched(node);
  const connectsAndPlays = async (): Promise<void> => {
    await node().machine.root(PHONE_CONNECTS);
    await peer({ connected: true });
    await node().output(AT_PHONE);
    await node().machine.user(playing('song', '/dev/urandom', `--device=${AT_PHONE}`));
    await node().client('song', AT_PHONE);
    await sounds(node(), DUMMY);
  };

  test('a phone connects and plays, and its sound is heard at the node’s output', async () => {
    await node().change(`/audio/outputs/${DUMMY}/default`);
    await node().output(DUMMY, { default: true });
    await connectsAndPlays();
  });

  test('a bluetoothd that dies while the phone plays is back by itself, and the phone can connect and play', async () => {
    await survives();
    await node().outputGoes(AT_PHONE);
    await peer({ paired: true, trusted: true });
    await node().machine.user('systemctl --user stop song');
    // The radio may have kept the connection, without anybody at its two ends.
    await node().machine.root(PHONE_DISCONNECTS);
    await peer({ connected: false });
    await connectsAndPlays();
  });
}
