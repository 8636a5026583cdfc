// Scenarios of a Bluetooth loudspeaker, which is an emulated machine of its own: the node finds it, pairs,
// connects and plays on it, also after the node's bluetoothd has died. They need a machine that is not busy,
// because BlueZ and the node have deadlines, which a busy emulated radio does not keep.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { DispatchedEvent } from '../consumer/parser.js';
import { DUMMY, LOOPBACK, playing, twoCards } from './hot-plug.js';
import type { EmulatedNode } from './node.js';
import { bootOtherEnd } from './other-end.js';
import { NODE, outputOf, PEER, soundArrives, watched } from './radio.js';

const SPEAKER = outputOf(PEER);
/** Pairing mode must last until a scan has found the loudspeaker. */
const SPEAKER_SETTINGS = 'bluetooth: {pairingTimeout: 10m}\n';

export function loudspeakerScenarios(node: () => EmulatedNode): void {
  const { adapter, peer } = watched(node);
  let booted: EmulatedNode | undefined;
  const speaker = (): EmulatedNode => booted ?? assert.fail('it has not booted');
  before(async () => {
    await twoCards(node());
    booted = await bootOtherEnd(node(), SPEAKER_SETTINGS);
    await booted.machine.root('modprobe snd-dummy');
    await booted.output(DUMMY, { default: true });
  });
  after(() => booted?.close());

  test('a scan finds a loudspeaker, which is paired, connected and an output', async () => {
    const from = node().stream.events.length;
    await speaker().change('/bluetooth/pairing_mode');
    await watched(speaker).adapter({ pairing_active: true, discoverable: true, pairable: true });
    await node().change('/bluetooth/scan');
    await adapter({ scanning: true });
    const isFound = ({ type, data }: DispatchedEvent, at: number): boolean =>
      at >= from && type === 'bluetooth.discovered' && data.includes(PEER);
    await node().until('the loudspeaker is found', () => node().stream.events.some(isFound));
    await node().change('/bluetooth/scan/stop');
    await adapter({ scanning: false, known_devices: [] });
    await connects(node, speaker);
    await peer({ paired: true, trusted: true });
  });

  sound(node, speaker);
}

type Node = () => EmulatedNode;

async function connects(node: Node, speaker: Node): Promise<void> {
  await node().change('/bluetooth/connect', { address: PEER });
  await watched(node).peer({ connected: true, output: SPEAKER });
  await watched(speaker).acceptsSoundOf(NODE);
}

async function disconnects(node: Node): Promise<void> {
  await node().change('/bluetooth/disconnect', { address: PEER });
  await watched(node).peer({ connected: false, paired: true });
}

function sound(node: Node, speaker: Node): void {
  const { peer, survives } = watched(node);

  /**
   * Resolves when the noise has arrived at the speaker, which takes it as the sound of a phone, and plays it
   * at its default output.
   */
  const noiseArrives = (noise: number): Promise<void> => {
    const plays = async (): Promise<void> => {
      await node().change(`/audio/clients/${noise}/output`, { output: SPEAKER });
      await node().client('noise', SPEAKER);
    };
    return soundArrives(speaker(), DUMMY, plays, async () => {
      await disconnects(node);
      await connects(node, speaker);
    });
  };

  test('a stream is moved to the loudspeaker, and its sound arrives there', async () => {
    await node().change(`/audio/outputs/${DUMMY}/default`);
    await node().output(DUMMY, { default: true });
    await node().machine.user(playing('noise', '/dev/urandom', `--device=${LOOPBACK}`));
    const { id } = await node().client('noise', LOOPBACK);
    await noiseArrives(id);
  });

  test('a bluetoothd that dies while the loudspeaker plays is back by itself, and the loudspeaker can connect and play', async () => {
    await survives();
    await node().outputGoes(SPEAKER);
    await peer({ connected: false, paired: true, trusted: true });
    const { id } = await node().client('noise', DUMMY);
    await node().agrees();
    await connects(node, speaker);
    await noiseArrives(id);
  });

  test('a disconnected loudspeaker is no output any more', async () => {
    await disconnects(node);
    await node().outputGoes(SPEAKER);
    await node().client('noise', DUMMY);
    await node().machine.user('systemctl --user stop noise');
    await node().agrees();
  });
}
