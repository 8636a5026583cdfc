// Scenarios of a phone whose sound is a stream on the node's output. The phone is paired when they begin,
// and when they end. Node and phone share one sound server and one bluetoothd (radio.ts), so the node also
// has the phone's streams and outputs.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { DUMMY, playCommand, untilTwoCards } from './hot-plug.js';
import type { EmulatedNode } from './node.js';
import { ARTIST, startPlayer, TITLES } from './phone-player.js';
import { bluetoothOf, NODE, NODE_AT_PEER, outputOf, PEER, soundArrives } from './radio.js';

/** The output by which the phone plays to the node. */
const OUTPUT_TO_NODE = outputOf(NODE);
const IS_CONNECTED = `busctl get-property org.bluez ${NODE_AT_PEER} Connected | grep -q true`;
/**
 * Connects again and again, as a phone does. After an attempt that fails it disconnects, because otherwise
 * the next attempt would be refused.
 */
const PHONE_CONNECTS = `for try in $(seq 10); do
  busctl --timeout=60 call org.bluez ${NODE_AT_PEER} Connect && exit
  busctl call org.bluez ${NODE_AT_PEER} Disconnect
  sleep 3
done
exit 1`;
/** Disconnects the phone if it is connected. Pairing may have left a connection, which has no sound. */
const PHONE_DISCONNECTS = `if ${IS_CONNECTED}; then
  busctl call org.bluez ${NODE_AT_PEER} Disconnect
fi`;

const SONG = playCommand('song', '/dev/urandom', `--device=${OUTPUT_TO_NODE}`);
const SONG_ENDS = 'systemctl --user stop song';

export const PLAYERS = 'players: {enabled: true}\n';
/** docs/bluetooth.md has the first command. The second one fails if Debian's own proxy still runs. */
const START_PROXY = `systemctl --user enable --now tonearm-mpris-proxy
! systemctl --user is-active mpris-proxy`;

export function phoneScenarios(node: () => EmulatedNode): void {
  const { untilPeerHas, survivesDeathOfBluetoothd } = bluetoothOf(node);
  before(async () => {
    await untilTwoCards(node());
    await node().machine.user(START_PROXY);
  });

  test('a phone connects and plays, and its sound reaches the node’s output', async () => {
    await node().change(`/audio/outputs/${DUMMY}/default`);
    await node().untilOutput(DUMMY, { default: true });
    await connectPhoneAndPlay(node());
  });

  test('the music of a phone is a player, whose commands reach the phone', async () => {
    const [first, second] = TITLES;
    const name = await untilPlayerHas(node(), first, 'Playing');
    await node().change(`/players/${name}/pause`);
    await untilPlayerHas(node(), first, 'Paused');
    await node().change(`/players/${name}/next`);
    await untilPlayerHas(node(), second, 'Paused');
    await node().change(`/players/${name}/play`);
    await untilPlayerHas(node(), second, 'Playing');
    const listed = await node().get<readonly PlayerRecord[]>('/players');
    assert.deepEqual(listed.find(({ bus_name }) => bus_name === name)?.metadata?.['xesam:title'], second);
  });

  test('a bluetoothd that dies while the phone plays is back by itself, and the phone can connect and play', async () => {
    await survivesDeathOfBluetoothd();
    await node().untilOutputGoes(OUTPUT_TO_NODE);
    await untilPeerHas({ paired: true, trusted: true });
    await node().machine.user(SONG_ENDS);
    // The radio may have kept the connection, although nobody uses it any more. `connectPhoneAndPlay`
    // disconnects first.
    await connectPhoneAndPlay(node());
    await untilPlayerHas(node(), TITLES[0], 'Playing');
  });

  test('a phone that goes takes its sound with it', async () => {
    await disconnectPhone(node());
    await node().untilOutputGoes(OUTPUT_TO_NODE);
    await node().until('the phone has no player', () => playersOfPhone(node()).length === 0);
    await node().machine.user(SONG_ENDS);
    await node().untilAllAgree();
  });
}

/**
 * The players of the phone. One bluetoothd serves both ends of the radio, so the node's list also has the
 * player that stands for the node at the phone's end. That player has no artist.
 */
const playersOfPhone = ({ stream }: EmulatedNode): readonly PlayerRecord[] =>
  [...stream.model.known.players.values()].filter(({ metadata }) => metadata?.['xesam:artist'] === ARTIST);

async function disconnectPhone(node: EmulatedNode): Promise<void> {
  await node.machine.root(PHONE_DISCONNECTS);
  await bluetoothOf(() => node).untilPeerHas({ connected: false, paired: true });
}

async function connectPhoneAndPlay(node: EmulatedNode): Promise<void> {
  const { untilPeerHas, untilSoundIsAcceptedFrom } = bluetoothOf(() => node);
  const connectPhone = async (): Promise<void> => {
    await disconnectPhone(node);
    await startPlayer(node);
    await node.machine.root(PHONE_CONNECTS);
    await untilPeerHas({ connected: true });
    await untilSoundIsAcceptedFrom(PEER);
    await node.untilOutput(OUTPUT_TO_NODE);
  };
  const play = async (): Promise<void> => {
    await node.machine.user(SONG);
    await node.untilClient('song', OUTPUT_TO_NODE);
  };
  const connectAnew = async (): Promise<void> => {
    // After an earlier try that failed, the unit is no longer there.
    await node.machine.user(`${SONG_ENDS} || true`);
    await connectPhone();
  };
  await connectPhone();
  await soundArrives(node, DUMMY, play, connectAnew);
}

/** Resolves with the bus name of the phone's player once it has this title and status. */
async function untilPlayerHas(node: EmulatedNode, title: string, status: string): Promise<string> {
  const found = (): PlayerRecord | undefined =>
    playersOfPhone(node).find(
      ({ metadata, playback_status }) => metadata?.['xesam:title'] === title && playback_status === status,
    );
  await node.until(`${title} is ${status}`, () => found() !== undefined);
  return found()?.bus_name ?? '';
}
