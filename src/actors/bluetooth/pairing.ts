// Decides which devices may pair (docs/bluetooth.md, "Who may pair"): keeps pairing mode and our agent at
// BlueZ, and trusts or forgets devices that have paired. It sets no timer.

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
import { Turns } from '../turns.js';
import { type BluezParts, isError, setAdapter } from './bluez.js';
import type { Adapter, Device } from './objects.js';

const AGENT_PATH = '/tonearm/agent';
const ADMITTED_MAX = 16;
const DONE: BusResult<undefined> = success(undefined);

export class Pairing {
  readonly #parts: BluezParts;
  /** Registrations of the agent and their ends. */
  readonly #turns = new Turns();
  #holders = 0;
  /** `unknown`: BlueZ has not confirmed it. It may have the agent all the same, or get the request late. */
  #agent: 'none' | 'unknown' | 'registered' = 'none';
  /** Counts the deaths of BlueZ: an answer from an earlier process is not valid for the present one. */
  #bluezDeaths = 0;
  #until: number | undefined;
  /**
   * Devices that were accepted, by path, until it is decided whether they are trusted; true once they have
   * paired.
   */
  readonly #admitted = new Map<string, boolean>();

  constructor(parts: BluezParts) {
    this.#parts = parts;
  }

  /** When pairing mode ends, in milliseconds since the epoch; undefined while it is off. */
  get until(): number | undefined {
    return this.#until;
  }

  get isActive(): boolean {
    return this.#until !== undefined;
  }

  /** Resolves when BlueZ knows the agent. Every call needs its `releaseAgent`, also after a failure. */
  holdAgent(): Promise<BusResult<undefined>> {
    const { bluez } = this.#parts;
    this.#holders += 1;
    return this.#turns.run(async () => {
      if (this.#agent === 'registered') return DONE;
      this.#agent = 'unknown';
      const deaths = this.#bluezDeaths;
      const added = await bluez(BLUEZ_METHODS.registerAgent, [AGENT_PATH, AGENT_CAPABILITY]);
      if (!added.ok && !isError(added, BLUEZ_ERRORS.alreadyExists)) return added;
      const made = await bluez(BLUEZ_METHODS.requestDefaultAgent, [AGENT_PATH]);
      if (deaths !== this.#bluezDeaths) return CLOSED;
      if (made.ok) this.#agent = 'registered';
      return made;
    });
  }

  releaseAgent(): void {
    this.#holders -= 1;
    void this.#turns.run(async () => {
      if (this.#holders > 0 || this.#agent === 'none') return;
      this.#agent = 'none';
      await this.#parts.bluez(BLUEZ_METHODS.unregisterAgent, [AGENT_PATH]);
    });
  }

  /**
   * Begins pairing mode, or prolongs it to `seconds` from now. It is not active afterwards if the adapter was
   * switched off or lost meanwhile.
   */
  async begin(adapter: string, seconds: number): Promise<BusResult<undefined>> {
    // BlueZ gets the times first: it then ends both by itself if this process dies.
    const steps = [
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
    this.#until = this.#parts.clock.date() + seconds * 1000;
    for (const [property, value] of steps) {
      const set = await setAdapter(this.#parts, adapter, property, value);
      if (set.ok && this.isActive) continue;
      await this.end(adapter);
      return set;
    }
    return DONE;
  }

  /** Ends pairing mode, also if another program has begun it. Both steps are tried. */
  async end(adapter: string): Promise<BusResult<undefined>> {
    this.over();
    const hidden = await setAdapter(this.#parts, adapter, 'Discoverable', false);
    const closed = await setAdapter(this.#parts, adapter, 'Pairable', false);
    return hidden.ok ? closed : hidden;
  }

  /** To be called when pairing mode has ended by itself: the adapter is off or gone. */
  over(): void {
    if (!this.isActive) return;
    this.#until = undefined;
    this.releaseAgent();
  }

  /**
   * To be called when the adapter is gone. BlueZ may still run, and keeps the agent until we unregister it.
   */
  adapterLost(): void {
    this.over();
    this.#admitted.clear();
  }

  /** To be called when BlueZ, or the connection to it, is gone, and the agent with it. */
  bluezLost(): void {
    this.adapterLost();
    this.#bluezDeaths += 1;
    this.#agent = 'none';
  }

  /** True for a device that pairing mode accepts, or has accepted. */
  includes(device: string): boolean {
    return this.isActive || this.#admitted.has(device);
  }

  admit(device: string, hasPaired: boolean): void {
    const isKnown = this.#admitted.has(device);
    if (isKnown ? hasPaired : this.#admitted.size < ADMITTED_MAX) this.#admitted.set(device, hasPaired);
  }

  /**
   * Trusts an admitted device that has paired and is for sound; resolves when that is done. Undefined if
   * there is nothing to decide about this device, or not yet.
   */
  decide({ path, UUIDs = [] }: Device): Promise<void> | undefined {
    if (this.#admitted.get(path) !== true) return undefined;
    const isInput = UUIDs.some(isInputService);
    // BlueZ does not know the device's services yet.
    if (!isInput && !UUIDs.some(isSoundService)) return undefined;
    this.#admitted.delete(path);
    return this.#decided(path, !isInput);
  }

  async #decided(path: string, isForSound: boolean): Promise<void> {
    const { bluez, publish } = this.#parts;
    // BlueZ asks no agent about the services of a trusted device, so that the device may come back by itself.
    const trusted = [DEVICE_INTERFACE, 'Trusted', { variant: 'b', value: true }] as const;
    const isTrusted = isForSound && (await bluez(BLUEZ_METHODS.set, trusted, { path })).ok;
    publish.log('info', 'a device has paired', { device: path, isTrusted });
  }

  /**
   * Forgets a device that has paired although it was not admitted. That can happen because all adapters are
   * pairable while any agent is registered, and with an agent without keys and display, such as ours, the
   * kernel accepts every device. A device that another program has paired stays: that program has found the
   * device, or made the adapter discoverable.
   */
  async refuse(adapter: Adapter, { path, Trusted, wasFound }: Device, isConnecting: boolean): Promise<void> {
    if (adapter.Discoverable === true || Trusted === true || (wasFound && !isConnecting)) return;
    const { bluez, publish } = this.#parts;
    const { ok: isForgotten } = await bluez(BLUEZ_METHODS.removeDevice, [path], { path: adapter.path });
    publish.log('warn', 'a device has paired unasked', { device: path, isForgotten });
  }
}

const ACCEPTED: CallVerdict = success(undefined);

function rejectCall(text: string): CallVerdict {
  return failed({ name: BLUEZ_ERRORS.rejected, text });
}

/**
 * Answers a request from BlueZ. Accepts only devices that `admits` allows, by their paths, to pair and
 * connect now, and only their services for sound and its remote control.
 */
export function agentAnswer(call: Signal, admits: (device: string) => boolean): CallVerdict {
  if (call.path !== AGENT_PATH || call.interface !== AGENT_INTERFACE)
    return failed({ name: BLUEZ_ERRORS.unknownObject, text: 'there is only the agent' });
  const { authorizeService, requestConfirmation, requestAuthorization, cancel, release } = AGENT_CALLS;
  if (signalValues(cancel, call) !== undefined || signalValues(release, call) !== undefined) return ACCEPTED;
  const [device, uuid] = signalValues(authorizeService, call) ?? [];
  const paired = signalValues(requestConfirmation, call) ?? signalValues(requestAuthorization, call);
  const [applicant = device] = paired ?? [];
  // Every other call wants a key from the user, or wants to display one.
  if (applicant === undefined) return rejectCall('this node has neither keys nor a display');
  if (!admits(applicant)) return rejectCall('this node is not in pairing mode');
  return uuid === undefined || isSoundService(uuid) ? ACCEPTED : rejectCall('this node is for sound only');
}
