// Two emulated Bluetooth controllers on one radio. The first is the node's. The second is the phone's in the
// scenarios of a phone. There, one bluetoothd and one sound server serve both controllers. In the scenarios
// of a loudspeaker, a second machine gets the second controller (other-end.ts).

import type { DispatchedEvent } from '../consumer/parser.js';
import { hasValues } from '../contract/audio-node.js';
import { until } from '../until.js';
import { type EmulatedNode, SLOW_MS } from './node.js';

export const NODE = '00:AA:01:00:00:00';
export const PEER = '00:AA:01:01:00:01';
const inObjectNames = (address: string): string => address.replaceAll(':', '_');
/**
 * The peer's adapter, and the node as the peer knows it. Each is an object's path and its interface, as
 * busctl takes them.
 */
export const PEER_ADAPTER = '/org/bluez/hci1 org.bluez.Adapter1';
export const NODE_AT_PEER = `/org/bluez/hci1/dev_${inObjectNames(NODE)} org.bluez.Device1`;
/** The name of the output that the sound server makes for a connected device. */
export const outputOf = (address: string): string => `bluez_output.${inObjectNames(address)}.1`;

/**
 * btvirt 5.82 crashes when controllers with Low Energy scan, so `-B` makes controllers without Low Energy.
 * With these, btvirt has crashed only once, when a scan ended during a connection. Therefore each scan of a
 * test is as short as possible.
 */
export const CONTROLLERS = `modprobe hci_vhci; systemctl reset-failed btvirt 2> /dev/null
systemd-run --quiet --unit=btvirt btvirt -B -l2`;

const BLUETOOTHD_DIES = 'systemctl kill --signal=KILL bluetooth';

/** Nobody may pair. */
export const CLOSED = { pairing_active: false, discoverable: false, pairable: false };

/** Functions that wait for states of Bluetooth in the event stream. */
export function bluetoothOf(node: () => EmulatedNode) {
  const untilAdapterHas = (values: object): Promise<void> =>
    node().until(`the adapter with ${JSON.stringify(values)}`, () =>
      hasValues(node().stream.model.known.bluetooth ?? {}, values),
    );
  const untilPeerHas = (values: object): Promise<void> =>
    node().until(`the device with ${JSON.stringify(values)}`, () => {
      const devices = node().stream.model.known.bluetooth?.known_devices ?? [];
      return devices.some((device) => hasValues(device, { address: PEER, ...values }));
    });
  const stateNow = () => node().stream.model.known.backends.get('bluetooth')?.state;
  const untilBackendIs = (state: string): Promise<void> =>
    node().until(`the backend is ${state}`, () => stateNow() === state);
  /**
   * Resolves when the sound server accepts the sound of the other end, a while after the connection. The
   * profile `audio-gateway` of PipeWire is for devices that send sound.
   */
  const untilSoundIsAcceptedFrom = (address: string): Promise<void> => {
    const card = { name: `bluez_card.${inObjectNames(address)}`, active_profile: 'audio-gateway' };
    return node().until(`the sound of ${address} is taken`, () =>
      [...node().stream.model.known.cards.values()].some((each) => hasValues(each, card)),
    );
  };
  /** Kills bluetoothd, and resolves when the backend has been away and is up again. */
  const survivesDeathOfBluetoothd = async (): Promise<void> => {
    const { events } = node().stream;
    const from = events.length;
    await node().machine.root(BLUETOOTHD_DIES);
    const isAway = ({ type, data }: DispatchedEvent, index: number): boolean =>
      index >= from && type === 'backend.updated' && /"bluetooth".*"connecting"/.test(data);
    await node().until('the backend is away', () => events.some(isAway));
    await untilBackendIs('up');
  };
  return {
    untilAdapterHas,
    untilPeerHas,
    untilBackendIs,
    survivesDeathOfBluetoothd,
    untilSoundIsAcceptedFrom,
  };
}

/**
 * The sound passes two volumes, and WirePlumber sets each to 40 %. After both, the noise has a peak of
 * 0.006. Silence has 0.
 */
const AUDIBLE = 0.001;
/** A sound that has not arrived after this time does not arrive any more. */
const SOUND_MAX_MS = 60_000;

/** Rejects if no sound arrives within `SOUND_MAX_MS`. */
async function untilAudible(node: EmulatedNode, output: string): Promise<void> {
  const { id } = await node.untilOutput(output);
  const levels = await node.openLevels();
  const isAudible = (): boolean => (levels.model.known.levels.get(id) ?? []).some((peak) => peak > AUDIBLE);
  await levels.until(isAudible, `sound on ${output}`, SOUND_MAX_MS).finally(() => levels.close());
}

/**
 * Resolves when the sound of `play` is measured at the output. On a busy machine the receiving side may not
 * take the stream within 5 s. Then bluetoothd ends the stream, and WirePlumber no longer plays on this
 * connection. So each further attempt begins with `connectAnew`, as people would do it. A measurement makes
 * the machine busier, so levels are measured only while the sound plays.
 */
export async function soundArrives(
  node: EmulatedNode,
  output: string,
  play: () => Promise<void>,
  connectAnew: () => Promise<void>,
): Promise<void> {
  let isRetry = false;
  const attempt = async (): Promise<true> => {
    if (isRetry) await connectAnew();
    isRetry = true;
    await play();
    await untilAudible(node, output);
    return true;
  };
  await until(`sound on ${output}`, attempt, 2 * SLOW_MS);
}
