// The Bluetooth backend on a private real bus, with a scripted BlueZ, and a clock of the test's.

import type { TestContext } from 'node:test';
import { BluetoothBackend } from '../../../src/actors/bluetooth/backend.js';
import type { Publisher } from '../../../src/actors/runtime.js';
import { type Clock, systemClock } from '../../../src/clock.js';
import type { BluetoothRecord, DeviceRecord } from '../../../src/protocol/actor/schemas.js';
import type { BluetoothSettings } from '../../../src/protocol/actor/settings.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';
import { privateBus } from '../bus/private-bus.js';
import { ScriptedBluez } from './scripted-bluez.js';

export const BLUETOOTH_SETTINGS: BluetoothSettings = {
  ...{ enabled: true, powerOnStart: false },
  ...{ pairingTimeout: 60, scanTimeout: 60, idleTimeout: 0 },
};

/** Gathered changes are published by themselves; every longer time passes when the test lets it. */
const SHORT_MS = 250;

export class BluetoothRecorder implements Publisher {
  /** `COLLECTION KEY` of each put and drop, and each status, in order. */
  readonly said: string[] = [];
  readonly logged: string[] = [];
  /** Each `bluetooth` record that would be an event. */
  readonly records: BluetoothRecord[] = [];
  readonly devices = new Map<string, DeviceRecord>();
  readonly discovered: string[] = [];
  state = '';

  put(collection: string, key: string, json: string): void {
    this.said.push(`put ${collection} ${key}`.trim());
    if (collection === 'bluetooth' || collection === 'bluetooth.outcome') this.records.push(JSON.parse(json));
    else if (collection === 'bluetooth.devices') this.devices.set(key, JSON.parse(json));
    else this.discovered.push(key);
  }

  drop(collection: string, key: string): void {
    this.said.push(`drop ${collection} ${key}`);
    if (collection === 'bluetooth.devices') this.devices.delete(key);
  }

  level(): void {
    this.said.push('level');
  }

  status(state: 'connecting' | 'up', detail = ''): void {
    this.state = `${state} ${detail}`.trim();
    this.said.push(this.state);
    if (state === 'connecting') this.devices.clear();
  }

  log(_level: string, message: string): void {
    this.logged.push(message);
  }

  /** Forgets everything but the present state. */
  forget(): void {
    for (const list of [this.said, this.logged, this.records, this.discovered]) list.length = 0;
  }

  get record(): BluetoothRecord | undefined {
    return this.records.at(-1);
  }
}

export interface Followed {
  readonly bluez: ScriptedBluez;
  readonly recorder: BluetoothRecorder;
  readonly backend: BluetoothBackend;
  readonly clock: ManualClock;
  readonly address: string;
}

/** `before`: prepares BlueZ, and starts it unless it returns false. */
export async function followed(
  t: TestContext,
  settings: Partial<BluetoothSettings> = {},
  before: (bluez: ScriptedBluez) => void = () => undefined,
  { isThere = true, callDeadlineMs = 8_000 } = {},
): Promise<Followed> {
  const bus = await privateBus(t);
  const bluez = new ScriptedBluez(bus.address);
  before(bluez);
  if (isThere) await bluez.start();
  t.after(() => bluez.die());
  const recorder = new BluetoothRecorder();
  const clock = new ManualClock();
  const paths = () => ({ ok: true, paths: [bus.path] }) as const;
  const options = { paths, backoffMs: () => 20, callDeadlineMs };
  const mixed: Clock = {
    ...clock,
    after: (ms, callback) => (ms <= SHORT_MS ? systemClock : clock).after(ms, callback),
  };
  const backend = new BluetoothBackend({ ...BLUETOOTH_SETTINGS, ...settings }, recorder, mixed, options);
  t.after(() => backend.stop());
  await until('the backend has a state', () => recorder.state !== '');
  return { bluez, recorder, backend, clock, address: bus.address };
}
