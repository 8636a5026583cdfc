// Calls to BlueZ, the faults that clients get for its errors, and what blocks an adapter.

import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import { type FaultCode, failure } from '../../protocol/actor/faults.js';
import type { Failure } from '../../protocol/actor/result.js';
import { ADAPTER_INTERFACE, BLUEZ_ERRORS, BLUEZ_METHODS } from '../../protocol/dbus/bluez.js';
import type { VariantValue } from '../../protocol/dbus/method.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, type BusResult, faultOf } from '../bus/fault.js';
import type { Publisher } from '../runtime.js';

export type Bluez = Bus<'bluetooth'>['call'];

/** The parts that everything needs that commands BlueZ. */
export interface BluezParts {
  readonly bluez: Bluez;
  readonly clock: Clock;
  readonly publish: Pick<Publisher, 'log'>;
}

/**
 * With a hung BlueZ a command ends by its first call, within the 10 s after which a client gets a timeout.
 */
export const CALL_DEADLINE_MS = 8_000;

const BUSY_PAUSE_MS = 200;
const BUSY_TRIES_MAX = 10;

/** The faults for a device or an adapter that left before the call reached it, or that is busy. */
const VANISHED: Readonly<Record<string, FaultCode>> = {
  [BLUEZ_ERRORS.doesNotExist]: 'no-such-device',
  [BLUEZ_ERRORS.unknownObject]: 'no-such-device',
  [BLUEZ_ERRORS.unknownMethod]: 'no-such-device',
  [BLUEZ_ERRORS.inProgress]: 'in-progress',
};

/** Sentences that help where BlueZ's text does not. Older versions of BlueZ have the texts of errno. */
const HELP: readonly (readonly [text: RegExp, help: string])[] = [
  [
    /br-connection-profile-unavailable|Protocol not available/,
    'no program of this node serves the sound of this device. Install libspa-0.2-bluetooth (PipeWire) or ' +
      'pulseaudio-module-bluetooth (PulseAudio), and run "tonearm-setup --user NAME --bluetooth" on a headless node',
  ],
  [/br-connection-page-timeout|Host is down/, 'the device is off, out of reach, or connected elsewhere'],
  [/br-connection-key-missing/, 'the device has forgotten this node. Forget it here too, and pair again'],
  [/br-connection-adapter-not-powered|Resource Not Ready/, 'the adapter is off'],
];

export function isError({ error }: Failure<BusError>, name: string): boolean {
  return error.kind === 'dbus' && error.name === name;
}

export function refusedBy(error: BusError, what: string, isDevice = false): Answer {
  const refusal = faultOf(error, what, isDevice ? { byName: VANISHED } : {});
  const help = error.kind === 'dbus' ? HELP.find(([text]) => text.test(error.text))?.[1] : undefined;
  const { fault, detail } = refusal.error;
  return help === undefined ? refusal : failure(fault, `${detail}: ${help}`);
}

/**
 * Sets a property of the adapter. While BlueZ is changing that property already, as it does by itself when an
 * adapter comes, it answers "busy": then the call is repeated.
 */
export async function setAdapter(
  { bluez, clock }: BluezParts,
  path: string,
  property: string,
  value: boolean | number,
): Promise<BusResult<undefined>> {
  const variant: VariantValue = typeof value === 'number' ? { variant: 'u', value } : { variant: 'b', value };
  for (let left = BUSY_TRIES_MAX; ; left -= 1) {
    const set = await bluez(BLUEZ_METHODS.set, [ADAPTER_INTERFACE, property, variant], { path });
    if (set.ok || left === 0 || !isError(set, BLUEZ_ERRORS.busy)) return set;
    await new Promise<void>((resolve) => clock.after(BUSY_PAUSE_MS, resolve));
  }
}

/** rfkill's files, which everybody may read. */
const RFKILL = '/sys/class/rfkill';

/**
 * The reason why the adapter (`hci0`) is blocked, as the end of a sentence; undefined if it is not, or if
 * that cannot be known.
 */
export async function blockerOf(adapter: string): Promise<string | undefined> {
  const switches = await readdir(RFKILL).catch(() => []);
  for (const name of switches) {
    const read = async (file: string): Promise<string> =>
      (await readFile(`${RFKILL}/${name}/${file}`, 'utf8').catch(() => '')).trim();
    if ((await read('name')) !== adapter) continue;
    if ((await read('hard')) === '1') return 'a switch of the machine (rfkill, hard)';
    if ((await read('soft')) === '1') return 'rfkill (soft): run "rfkill unblock bluetooth" as root';
  }
  return undefined;
}
