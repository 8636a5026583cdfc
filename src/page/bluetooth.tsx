// Draws the section of Bluetooth: the adapter, the known devices, and the devices that a scan has found.

import { useState } from 'preact/hooks';
import { type BluetoothRecord, type DeviceRecord, type NodeState, ProblemError } from '../client/client.js';
import { ActionButton, Switch } from './controls.js';
import { formatPercent, translate } from './language.js';
import { type PageLive, useLive, useNode } from './node.js';
import { Cards, Empty, ForeignText, useHasLasted, useUnfold } from './parts.js';

/**
 * This long after the end of a scan, BlueZ forgets the devices that the scan has found. They can no longer
 * be connected then.
 */
const FOUND_DEVICE_MS = 30_000;

export function Bluetooth({ bluetooth, discovered }: Pick<NodeState, 'bluetooth' | 'discovered'>) {
  const live = useLive();
  const [openAttempts, setOpenAttempts] = useState(0);
  const isLongAfterScan = useHasLasted(bluetooth?.scanning !== true, FOUND_DEVICE_MS);
  // While the page connects a device, the list keeps all found devices, so the device's button stays busy.
  const areFoundOutdated = isLongAfterScan && openAttempts === 0;
  const connect = (address: string): Promise<void> => {
    setOpenAttempts((count) => count + 1);
    return connectDevice(live, address).finally(() => setOpenAttempts((count) => count - 1));
  };
  if (bluetooth === undefined) return null;
  const known = bluetooth.known_devices ?? [];
  const knownAddresses = known.map(({ address }) => address);
  const found = areFoundOutdated
    ? []
    : [...discovered.values()].filter(({ address }) => !knownAddresses.includes(address));
  return (
    <>
      <Adapter adapter={bluetooth} />
      {known.length === 0 ? <Empty>{translate('noDevices')}</Empty> : null}
      {known.length + found.length === 0 ? null : (
        <Cards>
          {[...known, ...found].map((device) => (
            <Device key={device.address} device={device} adapter={bluetooth} onConnect={connect} />
          ))}
        </Cards>
      )}
    </>
  );
}

function Adapter({ adapter }: { readonly adapter: BluetoothRecord }) {
  const node = useNode();
  const { name, powered, pairing_active: isPairing, scanning } = adapter;
  return (
    <div class="card">
      <div class="row">
        <ForeignText class="strong grow">{name}</ForeignText>
        <Switch
          label={translate('bluetooth')}
          isOn={powered}
          send={(isOn) => (isOn ? node.switchBluetoothOn() : node.switchBluetoothOff())}
        />
      </div>
      <div class="row wrap-row">
        <ActionButton send={() => (isPairing ? node.stopPairing() : node.startPairing())}>
          {translate(isPairing ? 'pairingStop' : 'pairingStart')}
        </ActionButton>
        <ActionButton send={() => (scanning ? node.stopScan() : node.startScan())}>
          {translate(scanning ? 'scanStop' : 'scanStart')}
        </ActionButton>
      </div>
    </div>
  );
}

/**
 * After the node's answer, the page waits at most this long until the device is connected. The node answers
 * at most 9 s after the request, even if the device is not connected yet. The node then goes on trying until
 * 25 s after the request. This is 16 s after the answer.
 */
const LATE_CONNECTION_MS = 20_000;

/** The status is 0, because the node has accepted the request, and no response reports this failure. */
const TOO_LATE = new ProblemError({
  type: 'urn:tonearm:problem:timeout',
  title: 'The device was not connected in time',
  status: 0,
  detail: '',
});

/** Resolves when the device is connected. Rejects if the node refuses, or if the connection is too late. */
async function connectDevice(live: PageLive, address: string): Promise<void> {
  await live.node.connectDevice({ address });
  await new Promise<void>((resolve, reject) => {
    const check = (): void => {
      const devices = live.state.bluetooth?.known_devices ?? [];
      if (devices.some((device) => device.connected && device.address === address)) resolve();
    };
    const unsubscribe = live.subscribe('bluetooth', check);
    // The timer also ends after a success. Then it only removes the listener.
    setTimeout(() => {
      unsubscribe();
      reject(TOO_LATE);
    }, LATE_CONNECTION_MS);
    // The page's `subscribe` reports only later changes (shared-live.ts).
    check();
  });
}

interface BluetoothDeviceProps {
  readonly device: DeviceRecord;
  readonly adapter: BluetoothRecord;
  readonly onConnect: (address: string) => Promise<void>;
}

function Device({ device, adapter, onConnect }: BluetoothDeviceProps) {
  const node = useNode();
  const { address, name, connected, battery } = device;
  const { known_devices, powered } = adapter;
  const isKnown = known_devices?.includes(device) ?? false;
  const { isOpen, unfoldButton } = useUnfold(name);
  const textKeyIfNotConnected = isKnown ? 'notConnected' : 'found';
  // The text `live` is `Connected`.
  const stateText = translate(connected ? 'live' : textKeyIfNotConnected);
  const charge = battery === undefined ? '' : translate('battery', { value: formatPercent(battery / 100) });
  return (
    <li class="card">
      <div class="row">
        <div class="grow">
          <ForeignText class="strong">{name}</ForeignText>
          <p class="quiet">
            {stateText}
            {charge === '' ? '' : ` · ${charge}`}
          </p>
        </div>
        <ActionButton
          label={translate(connected ? 'disconnectOf' : 'connectOf', { name })}
          disabled={!powered}
          send={() => (connected ? node.disconnectDevice({ address }) : onConnect(address))}
        >
          {translate(connected ? 'disconnect' : 'connect')}
        </ActionButton>
        {isKnown ? unfoldButton : null}
      </div>
      {isOpen && isKnown ? (
        <div class="row wrap-row">
          <p class="quiet grow">
            <bdi>{address}</bdi>
          </p>
          <ActionButton label={translate('forgetOf', { name })} send={() => node.forgetDevice({ address })}>
            {translate('forget')}
          </ActionButton>
        </div>
      ) : null}
    </li>
  );
}
