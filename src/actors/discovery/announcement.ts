// What Avahi announces for us, as the entry group that holds it: made, replaced and withdrawn. It decides nothing and waits for
// nothing but answers.

import { AVAHI_METHODS } from '../../protocol/dbus/avahi.js';
import { VERSION } from '../../version.js';
import type { AvahiBus } from '../bus/avahi.js';
import type { BusError, Outcome } from '../bus/fault.js';
import type { Place } from './places.js';

const TYPE = '_http._tcp';
const TXT = ['path=/ui', 'api=tonearm', `version=${VERSION}`].map((pair) => Buffer.from(pair));
const NO_FLAGS = 0;
/** For the domain and the host: Avahi's own. */
const USUAL = '';

export interface Service {
  readonly name: string;
  readonly port: number;
  readonly places: readonly Place[];
}

/** Undefined: it was done. */
type Failure = BusError | undefined;

export class Announcement {
  readonly #bus: AvahiBus;
  /** The object of the group; undefined when there is none. */
  #path: string | undefined;
  #service: string | undefined;

  constructor(bus: AvahiBus) {
    this.#bus = bus;
  }

  /** Whether a signal of the object at this path is about it. */
  isAt(path: string): boolean {
    return path === this.#path;
  }

  /** The group has ended with avahi-daemon, or with the connection that made it. */
  ended(): void {
    this.#path = undefined;
    this.#service = undefined;
  }

  /** Avahi is told anew the next time, whatever it was told before. */
  outdated(): void {
    this.#service = undefined;
  }

  /** Withdraws what was announced and announces this instead, unless it is the same. */
  async renew(service: Service): Promise<Failure> {
    const text = JSON.stringify(service);
    if (text === this.#service) return undefined;
    const failure = await this.withdraw();
    if (failure !== undefined) return failure;
    // Before it is made: it may be outdated, or have ended, by the time it is.
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
      const service = [index, protocol, NO_FLAGS, name, TYPE, USUAL, USUAL, port, TXT] as const;
      const added = await this.#bus.call(AVAHI_METHODS.addService, service, { path });
      if (!added.ok) return added.error;
    }
    return errorOf(await this.#bus.call(AVAHI_METHODS.commit, [], { path }));
  }
}

function errorOf(outcome: Outcome<unknown>): Failure {
  return outcome.ok ? undefined : outcome.error;
}
