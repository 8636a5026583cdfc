// A Bluetooth loudspeaker of the node: found, paired, connected, played on, and there again after a death of bluetoothd. These need a
// machine with time: BlueZ and the node have deadlines, and an emulated radio that is busy does not keep them.

import { before, test } from 'node:test';
import { until } from '../until.js';
import { DUMMY, LOOPBACK, playing, twoCards } from './hot-plug.js';
import { type EmulatedNode, SLOW_MS } from './node.js';
import { heard, NODE, NODE_AT_PEER, outputOf, PEER, PEER_ADAPTER, watched } from './radio.js';

const SPEAKER = outputOf(PEER);
/** The peer becomes a loudspeaker that a person has just switched on: the node may find it and pair with it. */
const SPEAKER_OPENS = `for property in Pairable Discoverable; do
  busctl set-property org.bluez ${PEER_ADAPTER} $property b true
done`;
/** It lets the node in as soon as it knows it. */
const SPEAKER_TRUSTS = `for try in $(seq 600); do
  busctl set-property org.bluez ${NODE_AT_PEER} Trusted b true 2> /dev/null && exit
  sleep 0.1
done
exit 1`;

export function loudspeakerScenarios(node: () => EmulatedNode): void {
  before(() => twoCards(node()));
  scan(node);
  sound(node);
}

/** How long the output takes to come behind the connection, on a machine that has time. */
const OUTPUT_MS = 30_000;

/**
 * A connection that takes longer than 25 s is given up, and may be asked for again (docs/bluetooth.md, "Connecting"). After a death of
 * bluetoothd one may also come without its sound; then the two let go, and connect anew.
 */
async function connects(node: () => EmulatedNode): Promise<void> {
  const { isPeer, takesSoundOf } = watched(node);
  const isOutput = (): boolean => isPeer({ connected: true, output: SPEAKER });
  const isConnected = async (): Promise<boolean> => {
    await node().post('/bluetooth/connect', { address: PEER });
    try {
      await node().stream.until(isOutput, 'its output', OUTPUT_MS);
    } catch (error) {
      await disconnects(node);
      throw error;
    }
    return true;
  };
  await until('a connection', isConnected, 2 * SLOW_MS);
  await takesSoundOf(NODE);
}

async function disconnects(node: () => EmulatedNode): Promise<void> {
  await node().change('/bluetooth/disconnect', { address: PEER });
  await watched(node).peer({ connected: false, paired: true });
}

function scan(node: () => EmulatedNode): void {
  const { adapter, peer } = watched(node);

  test('a scan finds a loudspeaker, which is paired, connected and an output', async () => {
    const from = node().stream.events.length;
    await node().machine.root(SPEAKER_OPENS);
    await node().change('/bluetooth/scan');
    await adapter({ scanning: true });
    await node().until('the loudspeaker is found', () =>
      node()
        .stream.events.slice(from)
        .some(({ type, data }) => type === 'bluetooth.discovered' && data.includes(PEER)),
    );
    await node().change('/bluetooth/scan/stop');
    await adapter({ scanning: false, known_devices: [] });
    await node().machine.root(SPEAKER_OPENS);
    const trusts = node().machine.root(SPEAKER_TRUSTS);
    await Promise.all([connects(node), trusts]);
    await peer({ paired: true, trusted: true });
  });
}

function sound(node: () => EmulatedNode): void {
  const { peer, survives } = watched(node);

  test('a stream is moved to the loudspeaker, and its sound arrives at the other side', async () => {
    await node().change(`/audio/outputs/${DUMMY}/default`);
    await node().output(DUMMY, { default: true });
    await node().machine.user(playing('noise', '/dev/urandom', `--device=${LOOPBACK}`));
    const { id: noise } = await node().client('noise', LOOPBACK);
    const plays = async (): Promise<void> => {
      await node().change(`/audio/clients/${noise}/output`, { output: SPEAKER });
      await node().client('noise', SPEAKER);
    };
    // The other side has it as the sound of a phone, and plays it where the default is.
    await heard(node(), DUMMY, plays, async () => {
      await disconnects(node);
      await connects(node);
    });
  });

  test('a bluetoothd that dies while the loudspeaker plays is back by itself, and so is the stream once it is connected', async () => {
    await survives();
    await node().outputGoes(SPEAKER);
    await peer({ paired: true, trusted: true });
    await node().client('noise', DUMMY);
    // The radio may have kept the connection, without anybody at its two ends.
    await disconnects(node);
    await node().agrees();
    await connects(node);
    await node().client('noise', SPEAKER);
    await node().machine.user('systemctl --user stop noise');
  });

  test('what is disconnected is no output any more', async () => {
    await disconnects(node);
    await node().outputGoes(SPEAKER);
    await node().agrees();
  });
}
