// Our service in Avahi, as an entry group: creates, replaces and withdraws it. It makes no decisions and waits only for replies.

import { AVAHI_METHODS, GROUP_STATES } from '../../protocol/dbus/avahi.js';
import { VERSION } from '../../version.js';
import type { AvahiBus } from '../bus/avahi.js';
import type { BusError, Outcome } from '../bus/fault.js';
import { SERVICE_TYPE } from './browser.js';
import type { Place } from './places.js';

const TXT = ['path=/ui', 'api=tonearm', `version=${VERSION}`].map((pair) => Buffer.from(pair));
const NO_FLAGS = 0;
/** Selects Avahi's own domain and host. */
const USUAL = '';

export interface Service {
  readonly name: string;
  readonly port: number;
  readonly places: readonly Place[];
}

/** Undefined on success. */
type Failure = BusError | undefined;

export class Announcement {
  readonly #bus: AvahiBus;
  /** The path of the group's object; undefined if there is none. */
  #path: string | undefined;
  #service: string | undefined;
  #isEstablished = false;

  constructor(bus: AvahiBus) {
    this.#bus = bus;
  }

  isAt(path: string): boolean {
    return path === this.#path;
  }

  /** True if the service is on the network. */
  get isEstablished(): boolean {
    return this.#isEstablished;
  }

  is(state: number): void {
    this.#isEstablished = state === GROUP_STATES.established;
  }

  /** The group has ended with avahi-daemon, or with the connection that created it. */
  ended(): void {
    this.#path = undefined;
    this.#service = undefined;
    this.#isEstablished = false;
  }

  /** Makes the next `renew` announce again, even if nothing has changed. */
  outdated(): void {
    this.#service = undefined;
  }

  /** Replaces the announced service, unless it is the same. */
  async renew(service: Service): Promise<Failure> {
    const text = JSON.stringify(service);
    if (text === this.#service) return undefined;
    const failure = await this.withdraw();
    if (failure !== undefined) return failure;
    // Set before the group is created, because it may be outdated or have ended by the time it is.
    this.#service = text;
    return this.#announce(service);
  }

  async withdraw(): Promise<Failure> {
    const path = this.#path;
    if (path === undefined) return undefined;
    this.ended();
    return errorOf(await this.#bus.call(AVAHI_METHODS.free, [], { path }));
  }

  async #announce({ name, port, places }: Service): Promise<Failure> {
    const group = await this.#bus.call(AVAHI_METHODS.entryGroupNew, []);
    if (!group.ok) return group.error;
    const path = group.value;
    this.#path = path;
    for (const [index, protocol] of places) {
      const service = [index, protocol, NO_FLAGS, name, SERVICE_TYPE, USUAL, USUAL, port, TXT] as const;
      const added = await this.#bus.call(AVAHI_METHODS.addService, service, { path });
      if (!added.ok) return added.error;
    }
    return errorOf(await this.#bus.call(AVAHI_METHODS.commit, [], { path }));
  }
}

function errorOf(outcome: Outcome<unknown>): Failure {
  return outcome.ok ? undefined : outcome.error;
}
