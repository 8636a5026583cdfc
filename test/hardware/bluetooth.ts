// Bluetooth with BlueZ itself: two emulated controllers on one radio. The first is the node's; the second plays the phone, and the
// loudspeaker. One bluetoothd and one sound server serve both.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventConsumer } from '../consumer/consumer.js';
import { hasValues } from '../contract/audio-node.js';
import { until } from '../until.js';
import { DUMMY, LOOPBACK, playing } from './hot-plug.js';
import { type EmulatedNode, isFullSize, SLOW_MS } from './node.js';

const NODE = '00:AA:01:00:00:00';
const PEER = '00:AA:01:01:00:01';
const name = (address: string): string => address.replaceAll(':', '_');
/** The node, as the phone knows it. */
const NODE_AT_PEER = `/org/bluez/hci1/dev_${name(NODE)} org.bluez.Device1`;
const SPEAKER = `bluez_output.${name(PEER)}.1`;

const PAIRING_S = 30;
/** The adapter is named, because another one may be the first after a restart of bluetoothd. */
export const BLUETOOTH = `bluetooth: {adapter: hci0, pairingTimeout: ${PAIRING_S}s}\n`;

/**
 * Controllers that also speak Low Energy make btvirt 5.82 crash when they scan. Others have crashed once, when a scan ended beside a
 * connection: no test scans for longer than it has to.
 */
const CONTROLLERS = `modprobe hci_vhci; systemctl reset-failed btvirt 2> /dev/null
systemd-run --quiet --unit=btvirt btvirt -B -l2`;

/** Pairing with an address that is known, as a phone may try at any time. */
const PAIR_BLINDLY = `timeout 60 btmgmt --index 1 pair -c 3 -t 0 ${NODE}`;
/** The class of the node, once the phone has found it. */
const FIND = `class='busctl get-property org.bluez ${NODE_AT_PEER} Class'
(until $class > /dev/null; do echo select ${PEER}; echo scan bredr; sleep 1; done) 2> /dev/null | bluetoothctl > /dev/null
$class`;
/** The phone lets the node in, too. */
const PAIR = `busctl --timeout=120 call org.bluez ${NODE_AT_PEER} Pair
busctl set-property org.bluez ${NODE_AT_PEER} Trusted b true`;
/** The peer becomes a loudspeaker that a person has just switched on: the node may find it and pair with it. */
const SPEAKER_OPENS = `for property in Pairable Discoverable; do
  busctl set-property org.bluez /org/bluez/hci1 org.bluez.Adapter1 $property b true
done`;
/** It lets the node in as soon as it knows it. */
const SPEAKER_TRUSTS = `for try in $(seq 600); do
  busctl set-property org.bluez ${NODE_AT_PEER} Trusted b true 2> /dev/null && exit
  sleep 0.1
done
exit 1`;
const PEER_FORGETS = `busctl call org.bluez /org/bluez/hci1 org.bluez.Adapter1 RemoveDevice o ${NODE_AT_PEER.split(' ')[0]}`;
const SHOWN = `bluetoothctl show ${NODE}`;

/** tonearm is killed, and not started again until RESTARTED. */
const KILLED = `place=$XDG_RUNTIME_DIR/systemd/user/tonearm.service.d; mkdir -p $place
printf '[Service]\\nRestart=no\\n' > $place/killed.conf
systemctl --user daemon-reload; systemctl --user kill --signal=KILL tonearm`;
const RESTARTED = `rm -r $XDG_RUNTIME_DIR/systemd/user/tonearm.service.d
systemctl --user daemon-reload; systemctl --user start tonearm`;

/** Major class audio and video, minor class loudspeaker: bits 2 to 12 (Bluetooth, "Assigned Numbers"). */
const CLASS_BITS = 0x1ffc;
const LOUDSPEAKER = 0x0414;

const CLOSED = { pairing_active: false, discoverable: false, pairable: false };

/** Waits for what the event stream brings of Bluetooth. */
function watched(node: () => EmulatedNode) {
  const adapter = (values: object): Promise<void> =>
    node().until(`the adapter with ${JSON.stringify(values)}`, () =>
      hasValues(node().stream.model.bluetooth ?? {}, values),
    );
  const isPeer = (values: object): boolean => {
    const devices = (node().stream.model.bluetooth?.['known_devices'] ?? []) as readonly object[];
    return devices.some((device) => hasValues(device, { address: PEER, ...values }));
  };
  const peer = (values: object): Promise<void> =>
    node().until(`the device with ${JSON.stringify(values)}`, () => isPeer(values));
  const backend = (state: string): Promise<void> =>
    node().until(`the backend is ${state}`, () => node().stream.model.backends.get('bluetooth') === state);
  return { adapter, isPeer, peer, backend };
}
type Watched = ReturnType<typeof watched>;

export function bluetoothScenarios(node: () => EmulatedNode): void {
  const seen = watched(node);
  presence(node, seen);
  pairing(node, seen);
  forgetting(node, seen);
  if (!isFullSize) return;
  scan(node, seen);
  sound(node, seen);
  ends(node, seen);
}

function presence(node: () => EmulatedNode, { adapter, backend }: Watched): void {
  test('without a controller Bluetooth is 503, and a controller that comes is found', async () => {
    await backend('connecting');
    assert.equal((await node().post('/bluetooth/scan')).status, 503);
    await node().machine.root(CONTROLLERS);
    await backend('up');
    await adapter({ address: NODE, ...CLOSED });
  });
}

function pairing(node: () => EmulatedNode, { adapter, peer }: Watched): void {
  test('outside of pairing mode nobody pairs', async () => {
    await node().change('/bluetooth/power_up');
    await adapter({ powered: true });
    assert.doesNotMatch(await node().machine.root(PAIR_BLINDLY), /Paired with/);
    await adapter({ ...CLOSED, known_devices: [] });
  });

  test('in pairing mode a phone finds a loudspeaker and pairs, is trusted, and pairing mode is over', async () => {
    await node().change('/bluetooth/pairing_mode');
    await adapter({ pairing_active: true, discoverable: true, pairable: true });
    const found = await node().machine.root(FIND);
    assert.equal(Number(found.trim().split(' ').at(-1)) & CLASS_BITS, LOUDSPEAKER, found);
    // From now on, so that the phone has time enough.
    await node().change('/bluetooth/pairing_mode');
    await node().machine.root(PAIR);
    await peer({ paired: true, trusted: true });
    await adapter(CLOSED);
  });
}

/** A connection that takes longer than 25 s is given up, and may be asked for again (docs/bluetooth.md, "Connecting"). */
async function speakerConnects(node: () => EmulatedNode, { isPeer, peer }: Watched): Promise<void> {
  const isConnected = async (): Promise<boolean> => {
    await node().post('/bluetooth/connect', { address: PEER });
    return isPeer({ connected: true });
  };
  await until('a connection', isConnected, SLOW_MS);
  await peer({ connected: true, output: SPEAKER });
}

function forgetting(node: () => EmulatedNode, { adapter }: Watched): void {
  test('a device that is forgotten is known no more', async () => {
    await node().change('/bluetooth/forget', { address: PEER });
    await adapter({ known_devices: [] });
    await node().machine.root(PEER_FORGETS);
  });
}

/** These need a machine with time: BlueZ and the node have deadlines, and an emulated radio that is busy does not keep them. */
function scan(node: () => EmulatedNode, seen: Watched): void {
  test('a scan finds a loudspeaker, which is paired, connected and an output', async () => {
    const from = node().stream.events.length;
    await node().machine.root(SPEAKER_OPENS);
    await node().change('/bluetooth/scan');
    await seen.adapter({ scanning: true });
    await node().until('the loudspeaker is found', () =>
      node()
        .stream.events.slice(from)
        .some(({ type, data }) => type === 'bluetooth.discovered' && data.includes(PEER)),
    );
    await node().change('/bluetooth/scan/stop');
    await seen.adapter({ scanning: false, known_devices: [] });
    await node().machine.root(SPEAKER_OPENS);
    const trusts = node().machine.root(SPEAKER_TRUSTS);
    await Promise.all([speakerConnects(node, seen), trusts]);
    await seen.peer({ paired: true, trusted: true });
  });
}

function sound(node: () => EmulatedNode, seen: Watched): void {
  const { peer, backend } = seen;

  test('a stream is moved to the loudspeaker', async () => {
    await node().change(`/audio/outputs/${DUMMY}/default`);
    await node().output(DUMMY, { default: true });
    await node().machine.user(playing('noise', '/dev/urandom', `--device=${LOOPBACK}`));
    const { id: noise } = await node().client('noise', LOOPBACK);
    await node().change(`/audio/clients/${noise}/output`, { output: SPEAKER });
    await node().client('noise', SPEAKER);
  });

  arrival(node);

  test('a bluetoothd that dies while the loudspeaker plays is back by itself, and so is the stream once it is connected', async () => {
    const from = node().stream.events.length;
    await node().machine.root('systemctl kill --signal=KILL bluetooth');
    await node().outputGoes(SPEAKER);
    await wasAway(node, from);
    await backend('up');
    await peer({ paired: true, trusted: true });
    await node().client('noise', DUMMY);
    // The radio may have kept the connection, without anybody at its two ends.
    await node().change('/bluetooth/disconnect', { address: PEER });
    await peer({ connected: false });
    await node().agrees();
    await speakerConnects(node, seen);
    await node().client('noise', SPEAKER);
    await node().machine.user('systemctl --user stop noise');
  });

  test('what is disconnected is no output any more', async () => {
    await node().change('/bluetooth/disconnect', { address: PEER });
    await node().outputGoes(SPEAKER);
    await peer({ connected: false, paired: true });
    await node().agrees();
  });
}

function arrival(node: () => EmulatedNode): void {
  test('its sound arrives at the other side, which has it as the sound of a phone and plays it where the default is', async () => {
    const { id } = await node().output(DUMMY, { default: true });
    const url = `http://127.0.0.1:${node().machine.port}/events?types=audio.level,backend.updated`;
    const levels = await EventConsumer.open(url);
    const isSounded = (): boolean => (levels.model.levels.get(id) ?? []).some((peak) => peak > 0.01);
    await levels.until(isSounded, 'its sound', SLOW_MS).finally(() => levels.close());
  });
}

/** Resolves when the stream has shown, since that event, that the backend was away. */
function wasAway(node: () => EmulatedNode, from: number): Promise<void> {
  return node().until('that it is away', () =>
    node()
      .stream.events.slice(from)
      .some(({ type, data }) => type === 'backend.updated' && /"bluetooth".*"connecting"/.test(data)),
  );
}

function ends(node: () => EmulatedNode, { adapter, peer, backend }: Watched): void {
  test('a bluetoothd that dies in pairing mode is back by itself, and closed', async () => {
    await node().change('/bluetooth/pairing_mode');
    await adapter({ pairing_active: true });
    const from = node().stream.events.length;
    await node().machine.root('systemctl kill --signal=KILL bluetooth');
    await wasAway(node, from);
    await backend('up');
    await adapter(CLOSED);
    assert.match(await node().machine.root(SHOWN), /Discoverable: no\n[\s\S]*Pairable: no/);
  });

  test('controllers that go are missed, and what was paired is known when they come back', async () => {
    await node().machine.root('systemctl stop btvirt');
    await backend('connecting');
    assert.equal((await node().post('/bluetooth/power_up')).status, 503);
    await node().machine.root(CONTROLLERS);
    await backend('up');
    await peer({ paired: true, trusted: true });
  });

  test('when tonearm is killed in pairing mode, BlueZ ends it', async () => {
    await node().change('/bluetooth/pairing_mode');
    await adapter({ pairing_active: true });
    await node().machine.user(KILLED);
    assert.match(await node().machine.root(SHOWN), /Discoverable: yes/);
    const isHidden = async (): Promise<boolean> =>
      (await node().machine.root(SHOWN)).includes('Discoverable: no');
    await until('that it is not discoverable', isHidden, SLOW_MS);
    await node().machine.user(RESTARTED);
    await until(
      'the event stream',
      () =>
        node()
          .stream.reconnect()
          .then(() => true),
      240_000,
    );
    await adapter(CLOSED);
  });
}
