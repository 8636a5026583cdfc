// Asks Avahi to search the network for services, and decides which of them Avahi resolves. Only a resolved
// service shows whether it is a node.

import { type Clock, Timers } from '../../host/clock.js';
import {
  AVAHI_METHODS,
  AVAHI_SIGNALS,
  EVERY_INTERFACE,
  LOCAL_FLAG,
  PROTOCOLS,
} from '../../protocol/dbus/avahi.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import type { Values } from '../../protocol/dbus/signatures.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, busErrorText } from '../bus/fault.js';
import type { Publisher } from '../runtime.js';
import { parseSighting, type Sighting } from './sighting.js';

export const SERVICE_TYPE = '_http._tcp';
const DOMAIN = 'local';
const NO_FLAGS = 0;
/**
 * At most this many services are resolved. A service counts once for each interface and protocol. To resolve
 * a service, Avahi makes an object, the resolver. Avahi allows a client 1024 objects.
 */
const RESOLVERS_MAX = 256;
/**
 * Changes are reported this long after the first of them. A service on several interfaces causes several
 * changes, which then share one report.
 */
const GATHER_MS = 250;

/** A service on one interface, by one protocol: interface, protocol, name, type, domain, flags. */
type Service = Values<'iisssu'>;

/**
 * A service that Avahi resolves. It is forgotten when it goes, or when it turns out to be no node. The
 * resolver of a node stays, because it notices when the node's host loses its power. The resolver then fails
 * within two minutes, when the host's address expires. Avahi's browser notices the loss of power only when
 * the service's own record expires, after up to 75 minutes (RFC 6762, section 10).
 */
interface ResolvedService {
  /** The resolver's object; undefined until Avahi has made it. */
  resolverPath: string | undefined;
  /** Undefined until the resolver has found the service, and after the resolver has failed. */
  sighting: Sighting | undefined;
}

export class Browser {
  readonly #bus: Bus<'announcements'>;
  readonly #log: Publisher['log'];
  readonly #timers: Timers<'gather'>;
  /** Called with all sightings when some of them may have changed. */
  readonly #onChange: (sightings: readonly Sighting[]) => void;
  /** The resolved services, by interface, protocol and name, in order of arrival. */
  readonly #services = new Map<string, ResolvedService>();
  #hasLoggedTooMany = false;

  constructor(
    bus: Bus<'announcements'>,
    log: Publisher['log'],
    clock: Clock,
    onChange: (sightings: readonly Sighting[]) => void,
  ) {
    this.#bus = bus;
    this.#log = log;
    this.#timers = new Timers(clock);
    this.#onChange = onChange;
  }

  /**
   * To be called when avahi-daemon or the connection to the bus has begun or ended. After that Avahi no
   * longer has the browser and the resolvers that this class has requested.
   */
  beginAnew(isAvahiRunning: boolean): void {
    this.forgetAll();
    if (isAvahiRunning) this.#browse();
  }

  /**
   * Sends nothing to Avahi. Avahi has forgotten the resolvers already, or forgets them when the connection to
   * the bus ends.
   */
  forgetAll(): void {
    this.#services.clear();
    this.#hasLoggedTooMany = false;
    this.#timers.cancel('gather');
    this.#reportAll();
  }

  #browse(): void {
    const request = [EVERY_INTERFACE, PROTOCOLS.both, SERVICE_TYPE, DOMAIN, NO_FLAGS] as const;
    void this.#bus.call(AVAHI_METHODS.serviceBrowserNew, request).then((reply) => {
      if (reply.ok) return;
      this.#log('warn', 'cannot look for other nodes', { reason: busErrorText(reply.error) });
      this.#reconnectIfUseful(reply.error);
    });
  }

  signal(signal: Signal): void {
    const added = signalValues(AVAHI_SIGNALS.itemNew, signal);
    if (added !== undefined) void this.#resolve(...added);
    const removed = signalValues(AVAHI_SIGNALS.itemRemove, signal);
    if (removed !== undefined) this.#forget(serviceKey(removed));
    const [failure] = signalValues(AVAHI_SIGNALS.browserFailure, signal) ?? [];
    if (failure !== undefined) this.#bus.reconnect(`avahi-daemon could not look for services: ${failure}`);
    const found = signalValues(AVAHI_SIGNALS.found, signal);
    if (found !== undefined) this.#serviceFound(...found);
    if (signalValues(AVAHI_SIGNALS.resolverFailure, signal) !== undefined) this.#resolverFailed(signal.path);
  }

  /**
   * To be called when a resolver has failed, for instance because the host's records have expired. The
   * service stays in `#services`, because the resolver may find it again.
   */
  #resolverFailed(resolverPath: string): void {
    for (const service of this.#services.values())
      if (service.resolverPath === resolverPath) service.sighting = undefined;
    this.#reportSoon();
  }

  /**
   * Makes a new connection to the bus after a timeout, or after an error on our side (`local`), such as a
   * reply that could not be read. Avahi would repeat its own errors (`dbus`) on a new connection, and `Bus`
   * itself replaces a lost connection (`closed`). A new connection has a price: this node's announcement ends
   * with the old connection.
   */
  #reconnectIfUseful(error: BusError): void {
    if (error.kind === 'timeout' || error.kind === 'local')
      this.#bus.reconnect(`avahi-daemon: ${busErrorText(error)}`);
  }

  async #resolve(...[index, protocol, name, type, domain]: Service): Promise<void> {
    const key = serviceKey([index, protocol, name]);
    if (this.#services.has(key)) return;
    if (this.#services.size >= RESOLVERS_MAX) {
      if (!this.#hasLoggedTooMany)
        this.#log('warn', 'too many services on the network: some are left out', { name });
      this.#hasLoggedTooMany = true;
      return;
    }
    const service: ResolvedService = { resolverPath: undefined, sighting: undefined };
    this.#services.set(key, service);
    const addressProtocol = protocol;
    const request = [index, protocol, name, type, domain, addressProtocol, NO_FLAGS] as const;
    const resolver = await this.#bus.call(AVAHI_METHODS.serviceResolverNew, request);
    // During the call the service may have gone. If it has come again, a newer call makes its resolver. In
    // both cases this resolver is of no use.
    const isCurrent = this.#services.get(key) === service;
    if (resolver.ok && isCurrent) service.resolverPath = resolver.value;
    else if (resolver.ok) this.#freeResolver(resolver.value);
    else if (isCurrent) {
      this.#services.delete(key);
      this.#reconnectIfUseful(resolver.error);
    }
  }

  /**
   * Finds the service by its key instead of the resolver's path, because Avahi may send the signal `Found`
   * before the reply that has this path.
   */
  #serviceFound(...values: Values<'iissssisqaayu'>): void {
    const [index, protocol, name, _type, _domain, host, _addressProtocol, address, port, txt, flags] = values;
    const key = serviceKey([index, protocol, name]);
    const service = this.#services.get(key);
    if (service === undefined) return;
    const isOfThisMachine = (flags & LOCAL_FLAG) !== 0;
    service.sighting = parseSighting({ name, host, address, port }, txt, isOfThisMachine);
    const isNode = service.sighting !== undefined;
    if (!isNode) this.#forget(key);
    this.#reportSoon();
  }

  #forget(key: string): void {
    const path = this.#services.get(key)?.resolverPath;
    if (path !== undefined) this.#freeResolver(path);
    if (this.#services.delete(key)) this.#reportSoon();
  }

  #freeResolver(path: string): void {
    void this.#bus.call(AVAHI_METHODS.freeResolver, [], { path });
  }

  #reportSoon(): void {
    if (!this.#timers.has('gather')) this.#timers.set('gather', GATHER_MS, () => this.#reportAll());
  }

  #reportAll(): void {
    this.#onChange([...this.#services.values()].flatMap(({ sighting }) => sighting ?? []));
  }
}

function serviceKey([index, protocol, name]: readonly [number, number, string, ...unknown[]]): string {
  return `${index}/${protocol}/${name}`;
}
