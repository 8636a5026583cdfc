// Decides which devices may pair (docs/bluetooth.md, "Who may pair"). Begins and ends pairing mode, and
// trusts or forgets devices that have paired. Registers our agent, which BlueZ asks about pairings.
// adapter-commands.ts sets the timer that ends pairing mode.

import { Turns } from '../../host/turns.js';
import { failed, success } from '../../protocol/actor/result.js';
import {
  AGENT_CALLS,
  AGENT_CAPABILITY,
  AGENT_INTERFACE,
  BLUEZ_ERRORS,
  BLUEZ_METHODS,
  DEVICE_INTERFACE,
  isInputService,
  isSoundService,
} from '../../protocol/dbus/bluez.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import type { CallVerdict } from '../bus/bus.js';
import { type BusResult, CLOSED } from '../bus/fault.js';
import { type BluezParts, isError, setAdapterProperty } from './bluez.js';
import type { BluetoothAdapter, BluetoothDevice } from './objects.js';

const AGENT_PATH = '/tonearm/agent';
/** In pairing mode anybody nearby may ask to pair, so the number of remembered devices is bounded. */
const ADMITTED_MAX_DEVICES = 16;
const DONE: BusResult<undefined> = success(undefined);

export class Pairing {
  readonly #parts: BluezParts;
  /** Keeps the registration and the unregistration of the agent from overlapping. */
  readonly #turns = new Turns();
  /** The number of holders: pairing mode, and each attempt to connect that began for a client. */
  #agentHolders = 0;
  /**
   * `unknown`: the daemon has requested the registration of the agent, and BlueZ has not confirmed it. BlueZ
   * may have the agent nevertheless, or may get the request late.
   */
  #agent: 'none' | 'unknown' | 'registered' = 'none';
  /** Counts the losses of BlueZ, so that an answer from before the last loss is not used. */
  #bluezLosses = 0;
  /**
   * The end of pairing mode; undefined while pairing mode is off. Clients get `date`. The daemon itself
   * reckons with `monotonicMs`, because the date may jump.
   */
  #end: { readonly date: number; readonly monotonicMs: number } | undefined;
  /**
   * The admitted devices, by path. They may pair even after the end of pairing mode. The value is true once
   * the device has paired. `endAdmission` deletes a device when it decides whether to trust the device.
   */
  readonly #admitted = new Map<string, boolean>();

  constructor(parts: BluezParts) {
    this.#parts = parts;
  }

  /** When pairing mode ends, in milliseconds since the epoch; undefined while it is off. */
  get until(): number | undefined {
    return this.#end?.date;
  }

  /** How long pairing mode still lasts; 0 while it is off. */
  get leftMs(): number {
    const { clock } = this.#parts;
    return this.#end === undefined ? 0 : Math.max(0, this.#end.monotonicMs - clock.monotonic());
  }

  get isActive(): boolean {
    return this.#end !== undefined;
  }

  /**
   * Registers the agent, unless it is registered already. Each caller must call `releaseAgent` later, even
   * after a failure.
   */
  holdAgent(): Promise<BusResult<undefined>> {
    const { bluez } = this.#parts;
    this.#agentHolders += 1;
    return this.#turns.run(async () => {
      if (this.#agent === 'registered') return DONE;
      this.#agent = 'unknown';
      const lossesBefore = this.#bluezLosses;
      const registered = await bluez(BLUEZ_METHODS.registerAgent, [AGENT_PATH, AGENT_CAPABILITY]);
      if (!registered.ok && !isError(registered, BLUEZ_ERRORS.alreadyExists)) return registered;
      const reply = await bluez(BLUEZ_METHODS.requestDefaultAgent, [AGENT_PATH]);
      if (lossesBefore !== this.#bluezLosses) return CLOSED;
      if (reply.ok) this.#agent = 'registered';
      return reply;
    });
  }

  /** Unregisters the agent if nobody needs it any more. */
  releaseAgent(): void {
    this.#agentHolders -= 1;
    void this.#turns.run(async () => {
      if (this.#agentHolders > 0 || this.#agent === 'none') return;
      this.#agent = 'none';
      await this.#parts.bluez(BLUEZ_METHODS.unregisterAgent, [AGENT_PATH]);
    });
  }

  /**
   * Begins pairing mode, or prolongs it to `seconds` from now. If the adapter is switched off or lost
   * meanwhile, pairing mode is not active afterwards, although the result may be a success.
   */
  async begin(adapter: string, seconds: number): Promise<BusResult<undefined>> {
    // The timeouts come first, because with them BlueZ sets `Pairable` and `Discoverable` back by itself,
    // even if this process dies.
    const properties = [
      ['DiscoverableTimeout', seconds],
      ['PairableTimeout', seconds],
      ['Pairable', true],
      ['Discoverable', true],
    ] as const;
    if (!this.isActive) {
      this.#admitted.clear();
      const registered = await this.holdAgent();
      if (!registered.ok) {
        this.releaseAgent();
        return registered;
      }
    }
    const { clock } = this.#parts;
    const lastsMs = seconds * 1000;
    this.#end = { date: clock.date() + lastsMs, monotonicMs: clock.monotonic() + lastsMs };
    for (const [property, value] of properties) {
      const reply = await setAdapterProperty(this.#parts, adapter, property, value);
      // `markEnded` may have ended pairing mode meanwhile, and it sets no property back. So `end` is called
      // even then.
      const hasEndedMeanwhile = !this.isActive;
      if (!reply.ok || hasEndedMeanwhile) {
        await this.end(adapter);
        return reply;
      }
    }
    return DONE;
  }

  /**
   * Ends pairing mode. Sets `Discoverable` and `Pairable` to false, even if another program has set them to
   * true. The method sets `Pairable` even if the call for `Discoverable` has failed.
   */
  async end(adapter: string): Promise<BusResult<undefined>> {
    this.markEnded();
    const hidden = await setAdapterProperty(this.#parts, adapter, 'Discoverable', false);
    const unpairable = await setAdapterProperty(this.#parts, adapter, 'Pairable', false);
    return hidden.ok ? unpairable : hidden;
  }

  /**
   * To be called when BlueZ has ended pairing mode by itself, because the adapter is off or gone. `end`
   * begins with this method, too.
   */
  markEnded(): void {
    if (!this.isActive) return;
    this.#end = undefined;
    this.releaseAgent();
  }

  /**
   * To be called when the adapter is gone. Unlike `bluezLost`, this method does not assume that the agent
   * is gone, because BlueZ may still run.
   */
  adapterLost(): void {
    this.markEnded();
    this.#admitted.clear();
  }

  /** To be called when BlueZ, or the connection to it, is gone. BlueZ then no longer has the agent. */
  bluezLost(): void {
    this.adapterLost();
    this.#bluezLosses += 1;
    this.#agent = 'none';
  }

  /** True for every device during pairing mode, and afterwards for the devices in `#admitted`. */
  mayPair(device: string): boolean {
    return this.isActive || this.#admitted.has(device);
  }

  /** Remembers the device until its services are known. A device that has paired stays marked as paired. */
  admit(device: string, { hasPaired }: { readonly hasPaired: boolean }): void {
    const wasPaired = this.#admitted.get(device);
    const isNew = wasPaired === undefined;
    if (isNew && this.#admitted.size >= ADMITTED_MAX_DEVICES) return;
    this.#admitted.set(device, hasPaired || wasPaired === true);
  }

  /**
   * Ends the admission of a device that has paired. Trusts the device if it has a sound service and no input
   * service. Returns undefined, and leaves the device as it is, in three cases: the device was not admitted,
   * it has not paired yet, or BlueZ knows neither a sound service nor an input service of it yet.
   */
  endAdmission({ path, UUIDs = [] }: BluetoothDevice): Promise<void> | undefined {
    const hasPaired = this.#admitted.get(path) === true;
    const hasInputService = UUIDs.some(isInputService);
    const hasSoundService = UUIDs.some(isSoundService);
    const hasDecisiveService = hasInputService || hasSoundService;
    if (!hasPaired || !hasDecisiveService) return undefined;
    this.#admitted.delete(path);
    const isForSound = hasSoundService && !hasInputService;
    return this.#trustIf(path, isForSound);
  }

  async #trustIf(path: string, isForSound: boolean): Promise<void> {
    const { bluez, publish } = this.#parts;
    // BlueZ asks no agent about the services of a trusted device, so the device may come back by itself.
    const trustArgs = [DEVICE_INTERFACE, 'Trusted', { variant: 'b', value: true }] as const;
    const isTrusted = isForSound && (await bluez(BLUEZ_METHODS.set, trustArgs, { path })).ok;
    publish.log('info', 'a device has paired', { device: path, isTrusted });
  }

  /**
   * Forgets a device that has paired without admission, unless another program seems to have paired it. Any
   * device can pair without admission while our agent is registered, because all adapters are pairable then.
   * The kernel accepts the device without a question to our agent, because our agent has neither keys nor a
   * display (docs/development/what-we-learnt.md, "BlueZ").
   */
  async refuse(adapter: BluetoothAdapter, { path, Trusted, wasFoundByScan }: BluetoothDevice): Promise<void> {
    // Three facts are evidence that another program has paired the device: the device is trusted, the node
    // is discoverable, or a scan has found the device. The scan is no evidence while our agent is in use,
    // because the device may then have paired by means of our agent.
    const isScanEvidence = wasFoundByScan && this.#agentHolders === 0;
    const hasOtherProgramPaired = Trusted === true || adapter.Discoverable === true || isScanEvidence;
    if (hasOtherProgramPaired) return;
    const { bluez, publish } = this.#parts;
    const { ok: isForgotten } = await bluez(BLUEZ_METHODS.removeDevice, [path], { path: adapter.path });
    publish.log('warn', 'a device has paired without permission', { device: path, isForgotten });
  }
}

/**
 * True if BlueZ knows an input service of the device, and no sound service. A client cannot connect such a
 * device, because BlueZ does not ask the agent about the services when the node begins the connection.
 */
export function isOnlyForInput({ UUIDs = [] }: BluetoothDevice): boolean {
  return UUIDs.some(isInputService) && !UUIDs.some(isSoundService);
}

const ACCEPTED: CallVerdict = success(undefined);

function rejection(text: string): CallVerdict {
  return failed({ name: BLUEZ_ERRORS.rejected, text });
}

/**
 * Answers a request from BlueZ to our agent. `admits` returns true if the device at the path may pair and
 * connect now. Such a device may use only its services for sound and for the remote control of sound.
 */
export function agentAnswer(call: Signal, admits: (device: string) => boolean): CallVerdict {
  if (call.path !== AGENT_PATH || call.interface !== AGENT_INTERFACE)
    return failed({ name: BLUEZ_ERRORS.unknownObject, text: 'there is no object but the agent' });
  const { authorizeService, requestConfirmation, requestAuthorization, cancel, release } = AGENT_CALLS;
  if (signalValues(cancel, call) !== undefined || signalValues(release, call) !== undefined) return ACCEPTED;
  const serviceArgs = signalValues(authorizeService, call);
  const pairingArgs = signalValues(requestConfirmation, call) ?? signalValues(requestAuthorization, call);
  const [device] = serviceArgs ?? pairingArgs ?? [];
  // The calls for which `device` is undefined ask the user for a key, or display one.
  if (device === undefined) return rejection('this node has neither keys nor a display');
  if (!admits(device)) return rejection('this node is not in pairing mode');
  const [, uuid] = serviceArgs ?? [];
  const isOtherService = uuid !== undefined && !isSoundService(uuid);
  return isOtherService ? rejection('this node is for sound only') : ACCEPTED;
}
