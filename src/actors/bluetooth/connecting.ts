// Connections that a client requests, and those by which a known device comes back: pairs the device where
// needed, connects it, and gives up after a while.

import { within } from '../../host/clock.js';
import { type Answer, DONE } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { success } from '../../protocol/actor/result.js';
import { BLUEZ_ERRORS, BLUEZ_METHODS } from '../../protocol/dbus/bluez.js';
import type { BusResult } from '../bus/fault.js';
import { type BluezParts, isError, refusedBy } from './bluez.js';
import type { Device } from './objects.js';
import type { Pairing } from './pairing.js';

/**
 * The client gets an answer after this time at the latest, because after 10 s it would get a timeout
 * (docs/http-api.md, "Limits").
 */
const ANSWER_WITHIN_MS = 9_000;
/** Pairing and connection together. */
const CONNECT_MAX_MS = 25_000;

export interface ConnectingParts extends BluezParts {
  readonly pairing: Pairing;
  /** Resolves when the published record shows the device as connected, or after a while. */
  readonly untilConnected: (address: string) => Promise<void>;
  /** Called when a connection has ended after its client was answered. */
  readonly ended: () => void;
}

interface ConnectionUnderWay {
  readonly outcome: Promise<Answer>;
  /** Ends it at once. */
  readonly lose: () => void;
  /** False while no client waits for it: then the device comes back by itself. */
  isRequested: boolean;
}

export class Connecting {
  readonly #parts: ConnectingParts;
  /** By the path of the device. */
  readonly #underWay = new Map<string, ConnectionUnderWay>();

  constructor(parts: ConnectingParts) {
    this.#parts = parts;
  }

  /** True while no client waits for a connection. */
  get isIdle(): boolean {
    return ![...this.#underWay.values()].some(({ isRequested }) => isRequested);
  }

  /** True for a device whose connection a client has requested. */
  includes(device: string): boolean {
    return this.#underWay.get(device)?.isRequested === true;
  }

  /** Resolves with the outcome. If that takes too long it resolves with `ok`, and the outcome is an event. */
  async connect(device: Device): Promise<Answer> {
    const { path, Address: address = '' } = device;
    if (this.includes(path)) return failure('in-progress', `${address} is being connected already`);
    const { clock, publish, ended, untilConnected } = this.#parts;
    const outcome = this.#outcome(device, true);
    const published = outcome.then(async (answer) => {
      if (answer.ok) await untilConnected(address);
      return answer;
    });
    const answer = await within(clock, ANSWER_WITHIN_MS, published);
    if (answer !== undefined) return answer;
    void outcome.then((late) => {
      if (!late.ok)
        publish.log('warn', 'a device could not be connected', { address, reason: late.error.detail });
      ended();
    });
    return DONE;
  }

  /**
   * Connects a device that has paired, for no client, and without the agent: the device has its keys. A
   * client that asks for it meanwhile gets the same outcome.
   */
  reconnect(device: Device): Promise<Answer> {
    return this.#outcome(device, false);
  }

  /** Ends a connection that no client waits for. */
  giveUp(path: string): void {
    if (!this.includes(path)) void this.#parts.bluez(BLUEZ_METHODS.disconnect, [], { path });
  }

  /** Ends all connections: BlueZ may never answer the calls to the devices of that adapter. */
  adapterLost(): void {
    for (const { lose } of this.#underWay.values()) lose();
  }

  #outcome(device: Device, isRequested: boolean): Promise<Answer> {
    const { path } = device;
    const present = this.#underWay.get(path);
    if (present !== undefined) {
      present.isRequested ||= isRequested;
      return present.outcome;
    }
    let lose = (): void => undefined;
    const lost = new Promise<Answer>((resolve) => {
      lose = () => resolve(failure('unavailable', 'The adapter is gone'));
    });
    const attempt = (): Promise<Answer> => Promise.race([this.#attempt(device), lost]);
    const outcome = (isRequested ? this.#withAgent(attempt) : attempt()).finally(() =>
      this.#underWay.delete(path),
    );
    this.#underWay.set(path, { outcome, lose, isRequested });
    return outcome;
  }

  /** Others may pair while the agent is registered, so this connection keeps it no longer than needed. */
  async #withAgent(connect: () => Promise<Answer>): Promise<Answer> {
    const { pairing } = this.#parts;
    const registered = await pairing.holdAgent();
    const answer = registered.ok
      ? await connect()
      : refusedBy(registered.error, 'BlueZ did not accept the pairing agent');
    pairing.releaseAgent();
    return answer;
  }

  async #attempt(device: Device): Promise<Answer> {
    const { path, Address: address = '' } = device;
    const connected = await this.#pairAndConnect(device);
    if (connected.ok) return DONE;
    // Without this call BlueZ would go on trying to connect.
    if (connected.error.kind === 'timeout') void this.#parts.bluez(BLUEZ_METHODS.disconnect, [], { path });
    return refusedBy(connected.error, `${address} could not be connected`, true);
  }

  async #pairAndConnect({ path, Paired: isPaired }: Device): Promise<BusResult<undefined>> {
    const { bluez, clock } = this.#parts;
    const end = clock.monotonic() + CONNECT_MAX_MS;
    const options = () => ({ path, deadlineMs: Math.max(1, end - clock.monotonic()) });
    if (isPaired !== true) {
      const paired = await bluez(BLUEZ_METHODS.pair, [], options());
      if (!paired.ok && !isError(paired, BLUEZ_ERRORS.alreadyExists)) return paired;
    }
    const connected = await bluez(BLUEZ_METHODS.connect, [], options());
    const isThere = connected.ok || isError(connected, BLUEZ_ERRORS.alreadyConnected);
    return isThere ? success(undefined) : connected;
  }
}
