// Scenarios of Bluetooth with BlueZ itself: controllers that come and go, who may pair, and how pairing mode
// ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../until.js';
import { type EmulatedNode, SLOW_MS } from './node.js';
import { bluetoothOf, CLOSED, CONTROLLERS, NODE, NODE_AT_PEER, PEER, PEER_ADAPTER } from './radio.js';

const PAIRING_S = 30;
/** The node must keep to `hci0`, because another adapter may be the first after a restart of bluetoothd. */
export const BLUETOOTH = `bluetooth: {adapter: hci0, pairingTimeout: ${PAIRING_S}s}\n`;

/**
 * Pairs with the node's address without a scan, as a phone may try at any time. `-c 3` means that the phone
 * has neither keys nor a display, `-t 0` that the node is not a device of Low Energy.
 */
const PHONE_PAIRS_UNASKED = `timeout 60 btmgmt --index 1 pair -c 3 -t 0 ${NODE}`;
/**
 * Makes the phone scan until it knows the node's class of device, and prints this class. The loop writes
 * commands for bluetoothctl, once a second, until busctl can read the class.
 */
const PHONE_FINDS_NODE = `class='busctl get-property org.bluez ${NODE_AT_PEER} Class'
(until $class > /dev/null; do echo select ${PEER}; echo scan bredr; sleep 1; done) 2> /dev/null | bluetoothctl > /dev/null
$class`;
/** Pairs, and makes the phone trust the node, too. */
const PHONE_PAIRS = `busctl --timeout=120 call org.bluez ${NODE_AT_PEER} Pair
busctl set-property org.bluez ${NODE_AT_PEER} Trusted b true`;
const [NODE_PATH_AT_PEER] = NODE_AT_PEER.split(' ');
const PHONE_FORGETS_NODE = `busctl call org.bluez ${PEER_ADAPTER} RemoveDevice o ${NODE_PATH_AT_PEER}`;
const SHOW_NODE = `bluetoothctl show ${NODE}`;

/** tonearm is killed, and not started again until RESTART_TONEARM. */
const KILL_TONEARM = `place=$XDG_RUNTIME_DIR/systemd/user/tonearm.service.d; mkdir -p $place
printf '[Service]\\nRestart=no\\n' > $place/killed.conf
systemctl --user daemon-reload; systemctl --user kill --signal=KILL tonearm`;
const RESTART_TONEARM = `rm -r $XDG_RUNTIME_DIR/systemd/user/tonearm.service.d
systemctl --user daemon-reload; systemctl --user start tonearm`;

/**
 * The bits 2 to 12 of a class of device: the minor class from bit 2, and the major class from bit 8
 * (Bluetooth, "Assigned Numbers").
 */
const CLASS_BITS = 0x1ffc;
/** The major class 4 is audio and video, and its minor class 5 is a loudspeaker: `(4 << 8) | (5 << 2)`. */
const LOUDSPEAKER = 0x0414;

export function pairingScenarios(node: () => EmulatedNode): void {
  const { untilAdapterHas, untilBackendIs, untilPeerHas } = bluetoothOf(node);

  test('Bluetooth answers 503 without a controller, and finds one that is added', async () => {
    await untilBackendIs('connecting');
    assert.equal((await node().post('/bluetooth/scan')).status, 503);
    await node().machine.root(CONTROLLERS);
    await untilBackendIs('up');
    await untilAdapterHas({ address: NODE, ...CLOSED });
  });

  test('no device pairs outside of pairing mode', async () => {
    await node().change('/bluetooth/power_up');
    await untilAdapterHas({ powered: true });
    assert.doesNotMatch(await node().machine.root(PHONE_PAIRS_UNASKED), /Paired with/);
    await untilAdapterHas({ ...CLOSED, known_devices: [] });
  });

  test('a phone finds the node as a loudspeaker, pairs and is trusted, and pairing mode ends', async () => {
    await node().change('/bluetooth/pairing_mode');
    await untilAdapterHas({ pairing_active: true, discoverable: true, pairable: true });
    const printed = await node().machine.root(PHONE_FINDS_NODE);
    // busctl prints the type and the value, such as `u 1044`.
    const deviceClass = Number(printed.trim().split(' ').at(-1));
    assert.equal(deviceClass & CLASS_BITS, LOUDSPEAKER, printed);
    // Pairing mode begins again, so that the phone has time enough.
    await node().change('/bluetooth/pairing_mode');
    await node().machine.root(PHONE_PAIRS);
    await untilPeerHas({ paired: true, trusted: true });
    await untilAdapterHas(CLOSED);
  });
}

/** The scenario begins with the phone that `pairingScenarios` has paired. */
export function forgettingScenarios(node: () => EmulatedNode): void {
  const { untilAdapterHas } = bluetoothOf(node);

  test('a forgotten device is no longer known', async () => {
    await node().change('/bluetooth/forget', { address: PEER });
    await untilAdapterHas({ known_devices: [] });
    await node().machine.root(PHONE_FORGETS_NODE);
  });
}

/** These scenarios begin and end with a paired device: the loudspeaker, which loudspeaker.ts has paired. */
export function outageScenarios(node: () => EmulatedNode): void {
  const { untilAdapterHas, untilBackendIs, untilPeerHas, survivesDeathOfBluetoothd } = bluetoothOf(node);

  test('a bluetoothd that dies in pairing mode is back by itself, and nobody may pair then', async () => {
    await node().change('/bluetooth/pairing_mode');
    await untilAdapterHas({ pairing_active: true });
    await survivesDeathOfBluetoothd();
    await untilAdapterHas(CLOSED);
    assert.match(await node().machine.root(SHOW_NODE), /Discoverable: no\n[\s\S]*Pairable: no/);
  });

  test('controllers that go are reported, and when they come back, the paired devices are still known', async () => {
    await node().machine.root('systemctl stop btvirt');
    await untilBackendIs('connecting');
    assert.equal((await node().post('/bluetooth/power_up')).status, 503);
    await node().machine.root(CONTROLLERS);
    await untilBackendIs('up');
    await untilPeerHas({ paired: true, trusted: true });
  });

  test('BlueZ itself ends pairing mode after its time, also if tonearm was killed meanwhile', async () => {
    await node().change('/bluetooth/pairing_mode');
    await untilAdapterHas({ pairing_active: true });
    await node().machine.user(KILL_TONEARM);
    // Nobody has ended pairing mode. BlueZ does so `PAIRING_S` after its beginning.
    assert.match(await node().machine.root(SHOW_NODE), /Discoverable: yes/);
    const isHidden = async (): Promise<boolean> =>
      (await node().machine.root(SHOW_NODE)).includes('Discoverable: no');
    await until('the node is no longer discoverable', isHidden, SLOW_MS);
    await node().machine.user(RESTART_TONEARM);
    await node().untilListening();
    await untilAdapterHas(CLOSED);
  });
}
