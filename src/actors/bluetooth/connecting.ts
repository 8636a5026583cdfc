// Pairs and connects a device for a client. Connects a known device again for reconnecting.ts. Decides when
// an attempt to connect has failed.

import { within } from '../../host/clock.js';
import { type Answer, DONE } from '../../protocol/actor/commands.js';
import { type FaultCode, failure } from '../../protocol/actor/faults.js';
import { success } from '../../protocol/actor/result.js';
import { BLUEZ_ERRORS, BLUEZ_METHODS } from '../../protocol/dbus/bluez.js';
import { type BusResult, CLOSED } from '../bus/fault.js';
import { type BluezParts, bluezRefusal, DEVICE_FAULTS, isError } from './bluez.js';
import type { BluetoothDevice } from './objects.js';
import { isOnlyForInput, type Pairing } from './pairing.js';
import type { AttemptProgress } from './reconnect-policy.js';

/**
 * The client gets an answer after this time at the latest, because after 10 s it would get a timeout
 * (docs/http-api.md, "Limits").
 */
const ANSWER_WITHIN_MS = 9_000;
/** The longest time for pairing and connecting together. */
const CONNECT_MAX_MS = 25_000;

export interface ConnectingParts extends BluezParts {
  readonly pairing: Pairing;
  /** The device with this path as BlueZ knows it now; undefined if BlueZ does not know it. */
  readonly currentDevice: (path: string) => BluetoothDevice | undefined;
  /** Resolves when the published record shows the device as connected, or after a while. */
  readonly untilConnected: (address: string) => Promise<void>;
  /** Called when an attempt to connect has ended after its client was answered. */
  readonly onLateOutcome: () => void;
  /** Called when an attempt to connect the device with this path has begun or ended. */
  readonly onProgress: (device: string, progress: AttemptProgress) => void;
}

function refusalOfInput({ Address: address = '' }: BluetoothDevice): Answer {
  const reason = 'it is for input, such as a keyboard, and this node is for sound only';
  return failure('refused', `${address} could not be connected: ${reason}`);
}

/** An attempt to connect a device, from its beginning to its outcome. */
interface Attempt {
  readonly outcome: Promise<Answer>;
  /** Ends the attempt at once. BlueZ may answer the calls of the attempt later, or never. */
  readonly abort: (fault: FaultCode, detail: string) => void;
  /** True once a client has requested this attempt, or has joined it. */
  isRequested: boolean;
  /** True once a client was answered before the outcome was known. An event reports the outcome later. */
  isReportDue: boolean;
}

export class Connecting {
  readonly #parts: ConnectingParts;
  /** The attempts that are under way, by the path of the device. */
  readonly #attempts = new Map<string, Attempt>();

  constructor(parts: ConnectingParts) {
    this.#parts = parts;
  }

  /** True if a client has requested one of the attempts that are under way. */
  get isAnyRequested(): boolean {
    return [...this.#attempts.values()].some(({ isRequested }) => isRequested);
  }

  /** True if an attempt for the device with this path is under way, and a client has requested it. */
  isRequestedFor(device: string): boolean {
    return this.#attempts.get(device)?.isRequested === true;
  }

  /**
   * Resolves with the outcome, which is the same for all clients that request the connection meanwhile. If
   * the outcome is not known after 9 s, the promise resolves with `DONE`, and an event reports the outcome
   * later.
   */
  async connect(device: BluetoothDevice): Promise<Answer> {
    const { Address: address = '' } = device;
    const { clock, untilConnected } = this.#parts;
    // An unpaired device's services are known only after the pairing, so `#pairAndConnect` checks them.
    if (device.Paired === true && isOnlyForInput(device)) return refusalOfInput(device);
    const attempt = this.#beginOrJoin(device, { isRequested: true });
    const publishedOutcome = attempt.outcome.then(async (outcome) => {
      if (outcome.ok) await untilConnected(address);
      return outcome;
    });
    const answer = await within(clock, ANSWER_WITHIN_MS, publishedOutcome);
    if (answer !== undefined) return answer;
    // One report is enough for all clients that wait for the attempt.
    if (!attempt.isReportDue) void this.#reportOutcome(address, attempt.outcome);
    attempt.isReportDue = true;
    return DONE;
  }

  async #reportOutcome(address: string, outcome: Promise<Answer>): Promise<void> {
    const { publish, onLateOutcome } = this.#parts;
    const answer = await outcome;
    if (!answer.ok) {
      const reason = answer.error.detail;
      publish.log('warn', 'a device could not be connected', { address, reason });
    }
    onLateOutcome();
  }

  /**
   * Connects a paired device without a request of a client. The attempt needs no agent (pairing.ts), because
   * the device is paired already. A client that requests the connection meanwhile gets the same outcome.
   */
  reconnect(device: BluetoothDevice): Promise<Answer> {
    return this.#beginOrJoin(device, { isRequested: false }).outcome;
  }

  /**
   * Makes BlueZ stop the attempt, unless a client has requested the connection. The attempt ends when BlueZ
   * answers the attempt's call with an error.
   */
  giveUp(path: string): void {
    if (!this.isRequestedFor(path)) this.#disconnect(path);
  }

  #disconnect(path: string): void {
    void this.#parts.bluez(BLUEZ_METHODS.disconnect, [], { path });
  }

  /** Ends all attempts, because BlueZ may never answer calls to the devices of an adapter that is gone. */
  adapterLost(): void {
    for (const { abort } of this.#attempts.values()) abort('unavailable', 'The adapter is gone');
  }

  /**
   * To be called when BlueZ has removed the device. Ends the attempt, because BlueZ never answers calls to a
   * removed device.
   */
  deviceRemoved(path: string): void {
    this.#attempts.get(path)?.abort('no-such-device', 'BlueZ has forgotten the device');
  }

  /** Begins an attempt to connect the device, or joins the present attempt. */
  #beginOrJoin(device: BluetoothDevice, { isRequested }: Pick<Attempt, 'isRequested'>): Attempt {
    const { path } = device;
    const present = this.#attempts.get(path);
    if (present !== undefined) {
      present.isRequested ||= isRequested;
      return present;
    }
    // `abort` settles the attempt at once. The controller keeps `#pairAndConnect` from making further calls.
    // `new Promise` calls its function at once, so nobody gets the empty `abort`.
    const controller = new AbortController();
    let abort: Attempt['abort'] = () => undefined;
    const aborted = new Promise<Answer>((resolve) => {
      abort = (fault, detail) => {
        controller.abort();
        resolve(failure(fault, detail));
      };
    });
    const connectUntilAborted = (): Promise<Answer> =>
      Promise.race([aborted, this.#runAttempt(device, controller.signal)]);
    const { onProgress } = this.#parts;
    onProgress(path, 'begun');
    const answer = isRequested ? this.#withAgent(connectUntilAborted) : connectUntilAborted();
    // `finally` calls its function later, so the attempt is deleted after `set` below has added it.
    const outcome = answer.finally(() => this.#attempts.delete(path));
    void outcome.then(({ ok }) => onProgress(path, ok ? 'succeeded' : 'failed'));
    const attempt = { outcome, abort, isRequested, isReportDue: false };
    this.#attempts.set(path, attempt);
    return attempt;
  }

  /**
   * Keeps the agent registered only while `connect` runs, because any device can pair while the agent is
   * registered (see `Pairing.refuse`).
   */
  async #withAgent(connect: () => Promise<Answer>): Promise<Answer> {
    const { pairing } = this.#parts;
    const registered = await pairing.holdAgent();
    const answer = registered.ok
      ? await connect()
      : bluezRefusal(registered.error, 'BlueZ did not accept the pairing agent');
    pairing.releaseAgent();
    return answer;
  }

  async #runAttempt(device: BluetoothDevice, signal: AbortSignal): Promise<Answer> {
    const { path, Address: address = '' } = device;
    const outcome = await this.#pairAndConnect(device, signal);
    if (outcome.ok) return outcome.value === 'for input' ? refusalOfInput(device) : DONE;
    // Without this call BlueZ would go on trying to connect after the timeout. An aborted attempt makes no
    // such call, because the call could end the connection of a later attempt.
    if (outcome.error.kind === 'timeout' && !signal.aborted) this.#disconnect(path);
    return bluezRefusal(outcome.error, `${address} could not be connected`, DEVICE_FAULTS);
  }

  /**
   * Pairs the device if it is not paired yet, then connects it. If this pairing shows that the device is only
   * for input, the method makes BlueZ forget the device, and does not connect it.
   */
  async #pairAndConnect(
    { path, Paired: isPaired, Adapter: adapter = '' }: BluetoothDevice,
    signal: AbortSignal,
  ): Promise<BusResult<'connected' | 'for input'>> {
    const { bluez, clock, currentDevice, publish } = this.#parts;
    const endMs = clock.monotonic() + CONNECT_MAX_MS;
    /** `Pair` and `Connect` share one deadline. */
    const callOptions = () => ({ path, deadlineMs: Math.max(1, endMs - clock.monotonic()) });
    // The attempt may have been aborted while it waited for BlueZ to register the agent.
    if (isPaired !== true && !signal.aborted) {
      const paired = await bluez(BLUEZ_METHODS.pair, [], callOptions());
      if (!paired.ok && !isError(paired, BLUEZ_ERRORS.alreadyExists)) return paired;
      // BlueZ has learnt the services of the device before it answers `Pair`.
      const pairedDevice = currentDevice(path);
      if (paired.ok && pairedDevice !== undefined && isOnlyForInput(pairedDevice)) {
        // The attempt does not wait for this call, because the removal would abort the attempt with the fault
        // `no-such-device`.
        void bluez(BLUEZ_METHODS.removeDevice, [path], { path: adapter }).then(({ ok: isForgotten }) =>
          publish.log('info', 'a device that is for input only is not connected', {
            device: path,
            isForgotten,
          }),
        );
        return success('for input');
      }
    }
    // Nobody uses this result, because `abort` has settled the attempt.
    if (signal.aborted) return CLOSED;
    const connected = await bluez(BLUEZ_METHODS.connect, [], callOptions());
    const isConnected = connected.ok || isError(connected, BLUEZ_ERRORS.alreadyConnected);
    return isConnected ? success('connected') : connected;
  }
}
