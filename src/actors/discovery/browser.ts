// Has Avahi browse for nodes on the network. It keeps a resolver for each service: only a resolver reports
// soon that a host has lost its power. The service's own record lives for 75 minutes, the host's records live
// for two.

import { type Clock, Timers } from '../../host/clock.js';
import {
  AVAHI_METHODS,
  AVAHI_SIGNALS,
  EVERY_INTERFACE,
  IS_LOCAL,
  PROTOCOLS,
} from '../../protocol/dbus/avahi.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import type { Values } from '../../protocol/dbus/signatures.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, reasonOf } from '../bus/fault.js';
import type { Publisher } from '../runtime.js';
import { type Sighting, sightingOf } from './sighting.js';

export const SERVICE_TYPE = '_http._tcp';
const DOMAIN = 'local';
const NO_FLAGS = 0;
/**
 * Services that are resolved, counted for each interface and protocol. Further ones are left out. Avahi
 * allows a client 1024.
 */
const RESOLVERS_MAX = 256;
/** Gathers the events of a service that appears on several interfaces, so that it is published once. */
const GATHER_MS = 250;

/** A service on one interface, by one protocol. */
type Service = Values<'iisssu'>;

/** A service that is resolved, until it has gone or turns out to be no node. */
interface FoundService {
  /** The resolver's object; undefined until Avahi has made it. */
  path: string | undefined;
  sighting: Sighting | undefined;
}

export class Browser {
  readonly #bus: Bus<'announcements'>;
  readonly #log: Publisher['log'];
  readonly #timers: Timers<'gather'>;
  /** Called with all sightings when some of them have changed. */
  readonly #sighted: (sightings: readonly Sighting[]) => void;
  /** By interface, protocol and name, in order of arrival. */
  readonly #items = new Map<string, FoundService>();
  #hasLoggedTooMany = false;

  constructor(
    bus: Bus<'announcements'>,
    log: Publisher['log'],
    clock: Clock,
    sighted: (sightings: readonly Sighting[]) => void,
  ) {
    this.#bus = bus;
    this.#log = log;
    this.#timers = new Timers(clock);
    this.#sighted = sighted;
  }

  /** Avahi has forgotten the browser and its resolvers. */
  beginAnew(isAvahiThere: boolean): void {
    this.#items.clear();
    this.#hasLoggedTooMany = false;
    this.#timers.cancel('gather');
    this.#reportAll();
    if (!isAvahiThere) return;
    const everywhere = [EVERY_INTERFACE, PROTOCOLS.both, SERVICE_TYPE, DOMAIN, NO_FLAGS] as const;
    void this.#bus.call(AVAHI_METHODS.serviceBrowserNew, everywhere).then((browser) => {
      if (browser.ok) return;
      this.#log('warn', 'cannot look for other nodes', { reason: reasonOf(browser.error) });
      this.#failed(browser.error);
    });
  }

  signal(signal: Signal): void {
    const came = signalValues(AVAHI_SIGNALS.itemNew, signal);
    if (came !== undefined) void this.#resolve(...came);
    const gone = signalValues(AVAHI_SIGNALS.itemRemove, signal);
    if (gone !== undefined) this.#forget(keyOf(gone));
    const failed = signalValues(AVAHI_SIGNALS.browserFailure, signal);
    if (failed !== undefined) this.#bus.reconnect(`avahi-daemon could not look for services: ${failed[0]}`);
    const found = signalValues(AVAHI_SIGNALS.found, signal);
    if (found !== undefined) this.#found(...found);
    if (signalValues(AVAHI_SIGNALS.resolverFailure, signal) === undefined) return;
    // The host's records have expired; it may be found again.
    for (const item of this.#items.values()) if (item.path === signal.path) item.sighting = undefined;
    this.#changed();
  }

  /**
   * Reconnects after other failures than these two. A lost connection is made anew by the bus itself. A
   * refusal would come again, and a new connection would end the announcement for nothing.
   */
  #failed(error: BusError): void {
    if (error.kind !== 'closed' && error.kind !== 'dbus')
      this.#bus.reconnect(`avahi-daemon: ${reasonOf(error)}`);
  }

  async #resolve(...[index, protocol, name, type, domain]: Service): Promise<void> {
    const key = keyOf([index, protocol, name]);
    if (this.#items.has(key)) return;
    if (this.#items.size >= RESOLVERS_MAX) {
      if (!this.#hasLoggedTooMany)
        this.#log('warn', 'too many services on the network: some are left out', { name });
      this.#hasLoggedTooMany = true;
      return;
    }
    const item: FoundService = { path: undefined, sighting: undefined };
    this.#items.set(key, item);
    const service = [index, protocol, name, type, domain, protocol, NO_FLAGS] as const;
    const resolver = await this.#bus.call(AVAHI_METHODS.serviceResolverNew, service);
    const isCurrent = this.#items.get(key) === item;
    if (resolver.ok && isCurrent) item.path = resolver.value;
    else if (resolver.ok) this.#free(resolver.value);
    else if (isCurrent) {
      this.#items.delete(key);
      this.#failed(resolver.error);
    }
  }

  /** Found by name and not by the resolver's path, because Avahi may send it before the path is known. */
  #found(...[index, protocol, name, , , host, , address, port, txt, flags]: Values<'iissssisqaayu'>): void {
    const key = keyOf([index, protocol, name]);
    const item = this.#items.get(key);
    if (item === undefined) return;
    item.sighting = sightingOf({ name, host, address, port }, txt, (flags & IS_LOCAL) !== 0);
    if (item.sighting === undefined) this.#forget(key);
    this.#changed();
  }

  #forget(key: string): void {
    const path = this.#items.get(key)?.path;
    if (path !== undefined) this.#free(path);
    if (this.#items.delete(key)) this.#changed();
  }

  #free(path: string): void {
    void this.#bus.call(AVAHI_METHODS.freeResolver, [], { path });
  }

  #changed(): void {
    if (!this.#timers.has('gather')) this.#timers.set('gather', GATHER_MS, () => this.#reportAll());
  }

  #reportAll(): void {
    this.#sighted([...this.#items.values()].flatMap(({ sighting }) => sighting ?? []));
  }
}

function keyOf([index, protocol, name]: readonly [number, number, string, ...unknown[]]): string {
  return `${index}/${protocol}/${name}`;
}
