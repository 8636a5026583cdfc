// Scenarios of a Bluetooth loudspeaker, which is an emulated machine of its own: the node finds it, pairs,
// connects and plays on it, also after the node's bluetoothd has died. They need a machine that is not busy,
// because BlueZ and the node have deadlines, which a busy emulated radio does not keep.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { DispatchedEvent } from '../consumer/parser.js';
import { DUMMY, LOOPBACK, playCommand, untilTwoCards } from './hot-plug.js';
import type { EmulatedNode } from './node.js';
import { bootOtherEnd } from './other-end.js';
import { bluetoothOf, NODE, outputOf, PEER, soundArrives } from './radio.js';

/** The output of the node that is the loudspeaker. */
const SPEAKER_OUTPUT = outputOf(PEER);
/** Pairing mode must last until a scan has found the loudspeaker. */
const SPEAKER_SETTINGS = 'bluetooth: {pairingTimeout: 10m}\n';

type GetNode = () => EmulatedNode;

export function loudspeakerScenarios(node: GetNode): void {
  const { untilAdapterHas, untilPeerHas } = bluetoothOf(node);
  let booted: EmulatedNode | undefined;
  const speaker: GetNode = () => booted ?? assert.fail('it has not booted');
  before(async () => {
    await untilTwoCards(node());
    booted = await bootOtherEnd(node(), SPEAKER_SETTINGS);
    await booted.machine.root('modprobe snd-dummy');
    await booted.untilOutput(DUMMY, { default: true });
  });
  after(() => booted?.close());

  test('a scan finds a loudspeaker, and one command pairs it, connects it and makes it an output', async () => {
    const from = node().stream.events.length;
    await speaker().change('/bluetooth/pairing_mode');
    await bluetoothOf(speaker).untilAdapterHas({ pairing_active: true, discoverable: true, pairable: true });
    await node().change('/bluetooth/scan');
    await untilAdapterHas({ scanning: true });
    const isFound = ({ type, data }: DispatchedEvent, index: number): boolean =>
      index >= from && type === 'bluetooth.discovered' && data.includes(PEER);
    await node().until('the loudspeaker is found', () => node().stream.events.some(isFound));
    await node().change('/bluetooth/scan/stop');
    await untilAdapterHas({ scanning: false, known_devices: [] });
    // The command `connect` pairs a new device first (docs/http-api.md, "Routes").
    await connectSpeaker(node, speaker);
    await untilPeerHas({ paired: true, trusted: true });
  });

  soundScenarios(node, speaker);
}

async function connectSpeaker(node: GetNode, speaker: GetNode): Promise<void> {
  await node().change('/bluetooth/connect', { address: PEER });
  await bluetoothOf(node).untilPeerHas({ connected: true, output: SPEAKER_OUTPUT });
  await bluetoothOf(speaker).untilSoundIsAcceptedFrom(NODE);
}

async function disconnectSpeaker(node: GetNode): Promise<void> {
  await node().change('/bluetooth/disconnect', { address: PEER });
  await bluetoothOf(node).untilPeerHas({ connected: false, paired: true });
}

/** The first scenario starts the stream `noise`, and the last one stops it. */
function soundScenarios(node: GetNode, speaker: GetNode): void {
  const { untilPeerHas, survivesDeathOfBluetoothd } = bluetoothOf(node);

  /**
   * Moves the stream to the loudspeaker, and waits until the noise has arrived there. The loudspeaker's
   * machine plays the noise as it plays the sound of a phone: at its own default output, which is `DUMMY`.
   */
  const untilNoiseArrives = (streamId: number): Promise<void> => {
    const play = async (): Promise<void> => {
      await node().change(`/audio/clients/${streamId}/output`, { output: SPEAKER_OUTPUT });
      await node().untilClient('noise', SPEAKER_OUTPUT);
    };
    const connectAnew = async (): Promise<void> => {
      await disconnectSpeaker(node);
      await connectSpeaker(node, speaker);
    };
    return soundArrives(speaker(), DUMMY, play, connectAnew);
  };

  test('a stream is moved to the loudspeaker, and its sound arrives there', async () => {
    // Both machines have an output `DUMMY`. The node's own one becomes the default here, so that the stream
    // `noise` plays there when the loudspeaker has gone.
    await node().change(`/audio/outputs/${DUMMY}/default`);
    await node().untilOutput(DUMMY, { default: true });
    await node().machine.user(playCommand('noise', '/dev/urandom', `--device=${LOOPBACK}`));
    const { id } = await node().untilClient('noise', LOOPBACK);
    await untilNoiseArrives(id);
  });

  test('a bluetoothd that dies while the loudspeaker plays is back by itself, and the loudspeaker can connect and play', async () => {
    await survivesDeathOfBluetoothd();
    await node().untilOutputGoes(SPEAKER_OUTPUT);
    await untilPeerHas({ connected: false, paired: true, trusted: true });
    const { id } = await node().untilClient('noise', DUMMY);
    await node().untilAllAgree();
    await connectSpeaker(node, speaker);
    await untilNoiseArrives(id);
  });

  test('a disconnected loudspeaker is no output any more', async () => {
    await disconnectSpeaker(node);
    await node().untilOutputGoes(SPEAKER_OUTPUT);
    await node().untilClient('noise', DUMMY);
    await node().machine.user('systemctl --user stop noise');
    await node().untilAllAgree();
  });
}
