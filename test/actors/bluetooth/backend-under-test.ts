// Starts the Bluetooth backend on a private real bus, with a scripted BlueZ and a clock that tests advance.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { BluetoothBackend } from '../../../src/actors/bluetooth/backend.js';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import type { Collection } from '../../../src/protocol/actor/collections.js';
import type { BluetoothCommand } from '../../../src/protocol/actor/commands.js';
import type { BluetoothRecord, DeviceRecord } from '../../../src/protocol/actor/schemas.js';
import type { BluetoothSettings } from '../../../src/protocol/actor/settings.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';
import { privateBus } from '../bus/private-bus.js';
import { faultOf, Recorder } from '../recorder.js';
import { ScriptedBluez } from './scripted-bluez.js';

export const BLUETOOTH_SETTINGS: BluetoothSettings = {
  enabled: true,
  powerOnStart: false,
  reconnect: false,
  pairingTimeout: 60,
  scanTimeout: 60,
  idleTimeout: 0,
};

/** The command `connect` is answered after this time, even if BlueZ has not answered yet (connecting.ts). */
export const PAST_ANSWER_MS = 9_000;

/**
 * Timers of at most this length use the system's clock. These timers are the pauses before an event
 * (publisher.ts), and the pause before a call is repeated (bluez.ts). Longer timers end when the test
 * advances its clock.
 */
const SHORT_MS = 250;

class BluetoothRecorder extends Recorder {
  /** The addresses of devices that a scan has found, or that have changed during the scan. */
  readonly discovered: string[] = [];
  /** The newest record of the adapter. The backend publishes it in `bluetooth` or in `bluetooth.outcome`. */
  record: BluetoothRecord | undefined;

  override put(collection: Collection, key: string, json: string): void {
    super.put(collection, key, json);
    if (collection === 'bluetooth' || collection === 'bluetooth.outcome') this.record = JSON.parse(json);
    if (collection === 'bluetooth.discovered') this.discovered.push(key);
  }

  get firstKnown(): DeviceRecord | undefined {
    return this.record?.known_devices?.[0];
  }

  device(address: string): DeviceRecord | undefined {
    return this.newest('bluetooth.devices', address);
  }
}

/**
 * Resolves when the backend has reported a status. `prepare` runs before BlueZ starts, and adds devices or
 * changes the adapter.
 */
export async function startBackend(
  t: TestContext,
  settings: Partial<BluetoothSettings> = {},
  prepare: (bluez: ScriptedBluez) => void = () => undefined,
  { isBluezRunning = true, callDeadlineMs = 8_000 } = {},
) {
  const bus = await privateBus(t);
  const bluez = new ScriptedBluez(bus.address);
  prepare(bluez);
  if (isBluezRunning) await bluez.start();
  t.after(() => bluez.die());
  const recorder = new BluetoothRecorder();
  const clock = new ManualClock();
  const options = { paths: bus.paths, backoffMs: () => 20, callDeadlineMs };
  const after: Clock['after'] = (ms, act) => (ms <= SHORT_MS ? systemClock : clock).after(ms, act);
  const allSettings = { ...BLUETOOTH_SETTINGS, ...settings };
  const backend = new BluetoothBackend(allSettings, recorder, { ...clock, after }, options);
  t.after(() => backend.stop());
  await until('the backend has reported a status', () => recorder.state !== '');
  /** By default the command must succeed. */
  const sendCommand = async (command: BluetoothCommand, expectedFault = 'none'): Promise<void> => {
    const answer = await backend.handle(command);
    assert.equal(faultOf(answer), expectedFault, JSON.stringify(answer));
  };
  return { bluez, recorder, backend, clock, address: bus.address, sendCommand };
}
