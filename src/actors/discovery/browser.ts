// Has Avahi look for nodes on the network, and publishes them. It has a connection of its own, so that neither it nor the announcer ends
// what the other has in Avahi. It keeps a resolver for each service, because Avahi shows a host that has lost its power only by that:
// the service's own record lives for 75 minutes, the host's for two.

import { type Clock, Timers } from '../../clock.js';
import {
  AVAHI_BROWSER,
  AVAHI_METHODS,
  AVAHI_RESOLVER,
  AVAHI_SIGNALS,
  EVERY_INTERFACE,
  IS_LOCAL,
  PROTOCOLS,
} from '../../protocol/dbus/avahi.js';
import { type Signal, signalValues, type Values } from '../../protocol/dbus/method.js';
import { AvahiBus } from '../bus/avahi.js';
import type { BusOwner } from '../bus/bus.js';
import { type BusError, sentence } from '../bus/fault.js';
import type { Publisher } from '../runtime.js';
import { type Sighting, sightingOf } from './sighting.js';

export const SERVICE_TYPE = '_http._tcp';
const DOMAIN = 'local';
const NO_FLAGS = 0;
/** avahi-daemon answers at once, or hangs. */
const CALL_DEADLINE_MS = 4_000;
/** Services that are looked into, on each interface and protocol. Avahi allows a client 1024. */
const RESOLVERS_MAX = 256;
/** Services that wait to be looked into: what proves to be no node, as a printer, makes room. Further ones are left out. */
const WAITING_MAX = 1024;
/** A service that comes on several interfaces is one change. */
const GATHER_MS = 250;

/** A service on one interface, by one protocol. */
type Service = Values<'iisssu'>;

/** A service that is looked into, until it is gone or proves to be no node. */
interface FoundService {
  /** The resolver's object; undefined until Avahi has made it. */
  path: string | undefined;
  sighting: Sighting | undefined;
}

export interface BrowserParts {
  readonly clock: Clock;
  readonly log: Publisher['log'];
  readonly found: (sightings: readonly Sighting[]) => void;
}

export class Browser implements BusOwner {
  readonly #parts: BrowserParts;
  readonly #bus: AvahiBus;
  readonly #timers: Timers<'gather'>;
  /** By interface, protocol and name, in order of arrival. */
  readonly #items = new Map<string, FoundService>();
  /** Services for which there is no room yet, likewise. */
  readonly #waiting = new Map<string, Service>();
  /** Signals of resolvers whose path is not known yet: Avahi may send them before its reply. */
  readonly #early = new Map<string, Signal>();
  #isBrowsing = false;
  #hasLoggedTooMany = false;
  /** True if it is in the log that the connection is lost. */
  #hasLoggedDown = false;

  constructor(parts: BrowserParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
    this.#bus = new AvahiBus({ callDeadlineMs: CALL_DEADLINE_MS }, this);
  }

  stop(): void {
    this.#timers.cancelAll();
    this.#bus.stop();
  }

  async up(): Promise<void> {
    // A connection that was lost before it was up, for the same reason as the one before, was not reported.
    this.#beginAnew();
    if (await this.#bus.follow([AVAHI_BROWSER, AVAHI_RESOLVER])) this.#browse();
    this.#hasLoggedDown = false;
  }

  down(reason: string): void {
    this.#beginAnew();
    if (!this.#hasLoggedDown) this.#parts.log('warn', 'cannot look for other nodes', { reason });
    this.#hasLoggedDown = true;
  }

  ownerChanged(_name: string, owned: boolean): void {
    this.#beginAnew();
    if (owned) this.#browse();
  }

  signal(signal: Signal): void {
    const came = signalValues(AVAHI_SIGNALS.itemNew, signal);
    if (came !== undefined) void this.#resolve(...came);
    const gone = signalValues(AVAHI_SIGNALS.itemRemove, signal);
    if (gone !== undefined) this.#gone(...gone);
    const failed = signalValues(AVAHI_SIGNALS.browserFailure, signal);
    if (failed !== undefined) this.#bus.reconnect(`avahi-daemon could not look for services: ${failed[0]}`);
    if (signal.interface === AVAHI_RESOLVER) this.#resolved(signal);
  }

  #beginAnew(): void {
    this.#isBrowsing = false;
    this.#items.clear();
    this.#waiting.clear();
    this.#early.clear();
    this.#hasLoggedTooMany = false;
    this.#timers.cancel('gather');
    this.#parts.found([]);
  }

  #browse(): void {
    if (this.#isBrowsing) return;
    this.#isBrowsing = true;
    const everywhere = [EVERY_INTERFACE, PROTOCOLS.both, SERVICE_TYPE, DOMAIN, NO_FLAGS] as const;
    void this.#bus.call(AVAHI_METHODS.serviceBrowserNew, everywhere).then((browser) => {
      if (!browser.ok) this.#failed(browser.error);
    });
  }

  /** A new connection clears all that Avahi holds for the old one. One that was lost is made anew without this. */
  #failed(error: BusError): void {
    if (error.kind !== 'closed') this.#bus.reconnect(`avahi-daemon: ${sentence(error)}`);
  }

  async #resolve(...came: Service): Promise<void> {
    const [index, protocol, name, type, domain] = came;
    const key = keyOf(index, protocol, name);
    if (this.#items.has(key)) return;
    if (this.#items.size >= RESOLVERS_MAX) return this.#wait(key, came);
    const item: FoundService = { path: undefined, sighting: undefined };
    this.#items.set(key, item);
    const service = [index, protocol, name, type, domain, protocol, NO_FLAGS] as const;
    const resolver = await this.#bus.call(AVAHI_METHODS.serviceResolverNew, service);
    if (this.#items.get(key) !== item) {
      if (resolver.ok) this.#free(resolver.value);
      return;
    }
    if (!resolver.ok) {
      this.#forget(key);
      // A service that Avahi refuses is refused by the next connection, too.
      if (resolver.error.kind !== 'dbus') this.#failed(resolver.error);
      return;
    }
    item.path = resolver.value;
    const early = this.#early.get(item.path);
    this.#early.delete(item.path);
    if (early !== undefined) this.#resolved(early);
  }

  #wait(key: string, service: Service): void {
    if (this.#waiting.size < WAITING_MAX) {
      this.#waiting.set(key, service);
      return;
    }
    if (!this.#hasLoggedTooMany)
      this.#parts.log('warn', 'too many services on the network: some are left out', {
        ...{ most: RESOLVERS_MAX + WAITING_MAX, name: service[2] },
      });
    this.#hasLoggedTooMany = true;
  }

  /** The next one takes the room. */
  #forget(key: string): void {
    this.#items.delete(key);
    const [next] = this.#waiting;
    if (next === undefined) return;
    const [nextKey, service] = next;
    this.#waiting.delete(nextKey);
    void this.#resolve(...service);
  }

  #resolved(signal: Signal): void {
    const [key, item] = [...this.#items].find(([, { path }]) => path === signal.path) ?? [];
    if (key === undefined || item === undefined) {
      const [oldest] = this.#early.keys();
      if (oldest !== undefined && this.#early.size >= RESOLVERS_MAX) this.#early.delete(oldest);
      this.#early.set(signal.path, signal);
      return;
    }
    const found = signalValues(AVAHI_SIGNALS.found, signal);
    if (found !== undefined) {
      const [, , name, , , host, , address, port, txt, flags] = found;
      item.sighting = sightingOf({ name, host, address, port }, txt, (flags & IS_LOCAL) !== 0);
      if (item.sighting === undefined) {
        this.#free(signal.path);
        this.#forget(key);
      }
    } else if (signalValues(AVAHI_SIGNALS.resolverFailure, signal) !== undefined) item.sighting = undefined;
    this.#changed();
  }

  #gone(...[index, protocol, name]: Service): void {
    const key = keyOf(index, protocol, name);
    this.#waiting.delete(key);
    const item = this.#items.get(key);
    if (item === undefined) return;
    if (item.path !== undefined) this.#free(item.path);
    this.#forget(key);
    this.#changed();
  }

  #free(path: string): void {
    void this.#bus.call(AVAHI_METHODS.freeResolver, [], { path });
  }

  #changed(): void {
    if (this.#timers.has('gather')) return;
    this.#timers.set('gather', GATHER_MS, () =>
      this.#parts.found([...this.#items.values()].flatMap(({ sighting }) => sighting ?? [])),
    );
  }
}

function keyOf(index: number, protocol: number, name: string): string {
  return `${index}/${protocol}/${name}`;
}
