// Decides which fault a client gets for an error of BlueZ. Also sets the adapter's properties, and finds out
// what blocks an adapter.

import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import { type FaultCode, failure } from '../../protocol/actor/faults.js';
import type { Failure } from '../../protocol/actor/result.js';
import { ADAPTER_INTERFACE, BLUEZ_ERRORS, BLUEZ_METHODS, POWER_BLOCKED } from '../../protocol/dbus/bluez.js';
import type { VariantValue } from '../../protocol/dbus/method.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, type BusResult, busFault } from '../bus/fault.js';
import type { Publisher } from '../runtime.js';
import type { BluetoothAdapter } from './objects.js';

export type Bluez = Bus<'bluetooth'>['call'];

/** `Pairing`, `Connecting` and `setAdapterProperty` use these parts. */
export interface BluezParts {
  readonly bluez: Bluez;
  readonly clock: Clock;
  readonly publish: Pick<Publisher, 'log'>;
}

/**
 * backend.ts sets this deadline for each call that has no deadline of its own. The supervisor gives a whole
 * command 10 s. So if BlueZ hangs, a command of a single call still gets this thread's answer, and not the
 * supervisor's timeout.
 */
export const CALL_DEADLINE_MS = 8_000;

/** After the answer "busy", a call is repeated for about 2 s (`setAdapterProperty`). */
const BUSY_PAUSE_MS = 200;
const BUSY_REPEATS_MAX = 10;

/**
 * The faults for calls to a device that BlueZ no longer has, by D-Bus error name. Older versions of BlueZ
 * answer `unknownMethod` in place of `unknownObject`.
 */
export const DEVICE_FAULTS: Readonly<Record<string, FaultCode>> = {
  [BLUEZ_ERRORS.doesNotExist]: 'no-such-device',
  [BLUEZ_ERRORS.unknownObject]: 'no-such-device',
  [BLUEZ_ERRORS.unknownMethod]: 'no-such-device',
};

/**
 * Advice for errors whose text does not say what to do. The first alternative of a pattern is BlueZ's own
 * text. The second one, if there is one, is the text of errno, which older versions of BlueZ send.
 */
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
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

/**
 * The answer to a command whose call to BlueZ failed. `problem` is the beginning of a sentence. `faults` are
 * the faults for certain errors, by D-Bus error name.
 */
export function bluezRefusal(
  error: BusError,
  problem: string,
  faults: Readonly<Record<string, FaultCode>> = {},
): Answer {
  const refusal = busFault(error, problem, { byName: faults });
  if (error.kind !== 'dbus') return refusal;
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(error.text)) ?? [];
  const { fault, detail } = refusal.error;
  return advice === undefined ? refusal : failure(fault, `${detail}: ${advice}`);
}

/**
 * Sets a property of the adapter, and repeats the call after the answer "busy". BlueZ gives this answer while
 * it is already changing the property. This change can come from BlueZ itself: if its option `AutoEnable` is
 * set, BlueZ switches on each new adapter.
 */
export async function setAdapterProperty(
  { bluez, clock }: BluezParts,
  path: string,
  property: string,
  value: boolean | number,
): Promise<BusResult<undefined>> {
  const variant: VariantValue = typeof value === 'number' ? { variant: 'u', value } : { variant: 'b', value };
  for (let repeats = 0; ; repeats += 1) {
    const reply = await bluez(BLUEZ_METHODS.set, [ADAPTER_INTERFACE, property, variant], { path });
    const isBusy = !reply.ok && isError(reply, BLUEZ_ERRORS.busy);
    if (!isBusy || repeats === BUSY_REPEATS_MAX) return reply;
    await new Promise<void>((resolve) => clock.after(BUSY_PAUSE_MS, resolve));
  }
}

/**
 * The detail in `/health` while the adapter is blocked; otherwise undefined. The backend has the status `up`
 * even while its adapter is blocked.
 */
export function blockedDetail({ PowerState }: BluetoothAdapter): string | undefined {
  return PowerState === POWER_BLOCKED ? 'The adapter is blocked by rfkill' : undefined;
}

/** This folder has a folder for each switch of rfkill. Everybody may read the files of a switch. */
const RFKILL_FOLDER = '/sys/class/rfkill';

/**
 * Finds what blocks the adapter with this name, such as `hci0`. The result completes the sentence "The
 * adapter is blocked by". It is undefined if nothing blocks the adapter, or if rfkill cannot be read.
 */
export async function findBlocker(adapterName: string): Promise<string | undefined> {
  const switchFolders = await readdir(RFKILL_FOLDER).catch(() => []);
  for (const folder of switchFolders) {
    if ((await readSwitch(folder, 'name')) !== adapterName) continue;
    if ((await readSwitch(folder, 'hard')) === '1') return 'a switch of the machine (rfkill, hard)';
    if ((await readSwitch(folder, 'soft')) === '1')
      return 'rfkill (soft): run "rfkill unblock bluetooth" as root';
  }
  return undefined;
}

/** Returns '' if the file cannot be read. */
async function readSwitch(folder: string, file: 'name' | 'hard' | 'soft'): Promise<string> {
  const text = await readFile(`${RFKILL_FOLDER}/${folder}/${file}`, 'utf8').catch(() => '');
  return text.trim();
}
