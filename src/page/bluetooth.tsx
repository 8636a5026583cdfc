// Bluetooth: power, pairing mode with the time that is left, known devices, and a scan for speakers.

import { useState } from 'preact/hooks';
import type { BluetoothRecord, DeviceRecord, NodeState, Tonearm } from '../client/client.js';
import { ActionButton, Switch } from './controls.js';
import { isolated, translate } from './language.js';
import { Cards, Empty, ForeignLine, memoized, Unfold, useTicks } from './parts.js';

interface BluetoothProps {
  readonly node: Tonearm;
  readonly bluetooth: BluetoothRecord;
  readonly discovered: NodeState['discovered'];
  /** The node's time, in milliseconds since the epoch. */
  readonly now: () => number;
}

export const Bluetooth = memoized(({ node, bluetooth, discovered, now }: BluetoothProps) => {
  const { known_devices: known = [] } = bluetooth;
  const found = [...discovered.values()].filter((device) => !known.some(isOf(device)));
  return (
    <>
      <Adapter node={node} bluetooth={bluetooth} now={now} />
      {known.length === 0 ? <Empty>{translate('noDevices')}</Empty> : null}
      {known.length + found.length === 0 ? null : (
        <Cards>
          {[...known, ...found].map((device) => (
            <Device
              key={device.address}
              node={node}
              device={device}
              isKnown={known.includes(device)}
              isOn={bluetooth.powered}
            />
          ))}
        </Cards>
      )}
    </>
  );
});

function isOf({ address }: DeviceRecord): (other: DeviceRecord) => boolean {
  return (other) => other.address === address;
}

function Adapter({ node, bluetooth, now }: Omit<BluetoothProps, 'discovered'>) {
  const { name, powered, pairing_active: isPairing, pairing_until, scanning } = bluetooth;
  const power = (isOn: boolean) => (isOn ? node.switchBluetoothOn() : node.switchBluetoothOff());
  const pairing = translate(isPairing ? 'pairingStop' : 'pairingStart');
  const scan = translate(scanning ? 'scanStop' : 'scanStart');
  return (
    <div class="card">
      <div class="row">
        <ForeignLine class="strong grow">{name}</ForeignLine>
        <Switch label={translate('bluetooth')} isOn={powered} send={power} />
      </div>
      {isPairing ? <Countdown name={name} until={Date.parse(pairing_until ?? '')} now={now} /> : null}
      <div class="row wrap-row">
        <ActionButton
          class="button small"
          failed={translate('didNotWork', { what: pairing })}
          send={() => (isPairing ? node.stopPairing() : node.startPairing())}
        >
          {pairing}
        </ActionButton>
        <ActionButton
          class="button small"
          failed={translate('didNotWork', { what: scan })}
          disabled={!powered}
          send={() => (scanning ? node.stopScan() : node.startScan())}
        >
          {scan}
        </ActionButton>
      </div>
    </div>
  );
}

const SECOND_MS = 1000;

interface CountdownProps extends Pick<BluetoothProps, 'now'> {
  readonly name: string;
  readonly until: number;
}

function Countdown({ name, until, now }: CountdownProps) {
  useTicks(SECOND_MS);
  const seconds = Math.max(0, Math.ceil((until - now()) / SECOND_MS)) || 0;
  return (
    <p class="wrap" role="timer">
      {translate('pairingNow', { name: isolated(name), seconds })}
    </p>
  );
}

interface DeviceProps {
  readonly node: Tonearm;
  readonly device: DeviceRecord;
  readonly isKnown: boolean;
  readonly isOn: boolean;
}

const Device = memoized(({ node, device, isKnown, isOn }: DeviceProps) => {
  const { address, name, connected, battery } = device;
  const [isOpen, open] = useState(false);
  const facts = [
    translate(connected ? 'live' : isKnown ? 'notConnected' : 'found'),
    ...(battery === undefined ? [] : [translate('battery', { value: battery })]),
  ];
  const label = translate(connected ? 'disconnectOf' : 'connectOf', { name });
  return (
    <li class="card">
      <div class="row">
        <div class="grow">
          <ForeignLine class="strong">{name}</ForeignLine>
          <p class="quiet">{facts.join(' · ')}</p>
        </div>
        <ActionButton
          class="button small"
          label={label}
          disabled={!isOn}
          send={() => (connected ? node.disconnectDevice({ address }) : node.connectDevice({ address }))}
        >
          {translate(connected ? 'disconnect' : 'connect')}
        </ActionButton>
        {isKnown ? <Unfold name={name} isOpen={isOpen} open={open} /> : null}
      </div>
      {isOpen && isKnown ? (
        <div class="row wrap-row">
          <p class="quiet grow">
            <bdi>{address}</bdi>
          </p>
          <ActionButton
            class="button small"
            label={translate('forgetOf', { name })}
            send={() => node.forgetDevice({ address })}
          >
            {translate('forget')}
          </ActionButton>
        </div>
      ) : null}
    </li>
  );
});
