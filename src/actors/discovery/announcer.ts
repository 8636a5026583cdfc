// The discovery bridge: has Avahi announce the service, and keeps that right when addresses, avahi-daemon, the bus or the name's owner
// change. Every change asks for a round, which compares what is announced with what should be; one round runs at a time. It asks nothing
// of the node.

import { type Clock, Timers } from '../../clock.js';
import type { ChangeBatch, ServedRecord } from '../../protocol/actor/messages.js';
import type { DiscoverySettings } from '../../protocol/actor/settings.js';
import {
  AVAHI_ENTRY_GROUP,
  AVAHI_ERRORS,
  AVAHI_METHODS,
  AVAHI_SERVER,
  AVAHI_SIGNALS,
  GROUP_STATES,
  SERVER_RUNNING,
} from '../../protocol/dbus/avahi.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { AvahiBus } from '../bus/avahi.js';
import type { BusOwner } from '../bus/bus.js';
import { type BusError, sentence } from '../bus/fault.js';
import type { BridgeActor, NodeLink } from '../runtime.js';
import { Announcement } from './announcement.js';
import { type Interfaces, placesOf } from './places.js';

/** avahi-daemon answers at once, or hangs. */
const CALL_DEADLINE_MS = 4_000;
/**
 * 10 s are promised (docs/configuration.md, "Finding nodes"). A new interface is not reported while all addresses are listened on, and an
 * interface that is replaced by one with the same addresses is never reported.
 */
const LOOK_EVERY_MS = 8_000;

/** Names tried without a pause; then it waits, as after every failure. */
const NAMES_MAX = 32;

export interface AnnouncerWorld {
  /** The present interfaces. May throw. */
  readonly interfaces: () => Interfaces;
  readonly clock: Clock;
}

type AnnouncerNode = Pick<NodeLink, 'status' | 'log'>;

export class Announcer implements BridgeActor, BusOwner {
  readonly #settings: DiscoverySettings;
  readonly #node: AnnouncerNode;
  readonly #world: AnnouncerWorld;
  readonly #timers: Timers<'look'>;
  readonly #bus: AvahiBus;
  readonly #announcement: Announcement;
  #served: ServedRecord | undefined;
  /** Undefined while the bus is away, or has not answered. */
  #isAvahiThere: boolean | undefined;
  #name: string;
  #isNameTaken = false;
  /** Counted per connection. */
  #namesTaken = 0;
  #isUnderWay = false;
  #isDue = false;
  #areInterfacesKnown = true;

  constructor(settings: DiscoverySettings, node: AnnouncerNode, world: AnnouncerWorld) {
    this.#settings = settings;
    this.#node = node;
    this.#world = world;
    this.#timers = new Timers(world.clock);
    this.#name = settings.name;
    this.#bus = new AvahiBus({ callDeadlineMs: CALL_DEADLINE_MS }, this);
    this.#announcement = new Announcement(this.#bus);
  }

  /** The service's name on the network; undefined while it is not announced. */
  get name(): string | undefined {
    return this.#announcement.isEstablished ? this.#name : undefined;
  }

  applyChanges({ changes }: ChangeBatch): void {
    for (const change of changes) {
      if (change.kind === 'put' && change.collection === 'served')
        this.#served = JSON.parse(change.json) as ServedRecord;
    }
    this.#look();
  }

  /** Avahi withdraws a connection's announcements when the connection ends. */
  async stop(): Promise<void> {
    this.#timers.cancelAll();
    this.#bus.stop();
  }

  async up(): Promise<void> {
    const isThere = await this.#bus.follow([AVAHI_SERVER, AVAHI_ENTRY_GROUP], 'StateChanged');
    // A signal that came meanwhile is newer.
    this.#isAvahiThere ??= isThere;
    this.#look();
  }

  down(reason: string): void {
    this.#isAvahiThere = undefined;
    this.#beginAnew();
    this.#node.status('connecting', reason);
  }

  ownerChanged(_name: string, owned: boolean): void {
    this.#isAvahiThere = owned;
    this.#beginAnew();
    this.#look();
  }

  signal(signal: Signal): void {
    if (signalValues(AVAHI_SIGNALS.server, signal) !== undefined) {
      this.#announcement.outdated();
      this.#look();
      return;
    }
    const state = this.#announcement.isAt(signal.path)
      ? signalValues(AVAHI_SIGNALS.group, signal)
      : undefined;
    if (state !== undefined) this.#groupIs(...state);
  }

  #groupIs(state: number, error: string): void {
    this.#announcement.is(state);
    if (state === GROUP_STATES.established) {
      this.#node.status('up', `announced as ${this.#name}`);
    } else if (state === GROUP_STATES.collision) {
      this.#isNameTaken = true;
      this.#look();
    } else if (state === GROUP_STATES.failure) {
      this.#bus.reconnect(`avahi-daemon could not announce the service: ${error}`);
    }
  }

  #beginAnew(): void {
    this.#announcement.ended();
    this.#name = this.#settings.name;
    this.#isNameTaken = false;
    this.#namesTaken = 0;
  }

  #look(): void {
    this.#isDue = true;
    if (!this.#isUnderWay) void this.#rounds();
  }

  async #rounds(): Promise<void> {
    this.#isUnderWay = true;
    while (this.#isDue) {
      this.#isDue = false;
      const reason = await this.#round();
      // A new connection clears all that Avahi holds for the old one. Skipped if something happened meanwhile, which may be the reason.
      if (reason !== undefined && !this.#isDue) this.#bus.reconnect(`avahi-daemon: ${reason}`);
    }
    this.#isUnderWay = false;
  }

  /** Why the round failed. Undefined on success, or if a signal will start the next round. */
  async #round(): Promise<string | undefined> {
    if (this.#served === undefined || this.#isAvahiThere === undefined) return undefined;
    if (!this.#isAvahiThere) {
      this.#node.status('connecting', 'avahi-daemon is not running');
      return undefined;
    }
    const { port, addresses } = this.#served;
    this.#timers.set('look', LOOK_EVERY_MS, () => this.#look());
    const interfaces = this.#interfacesNow();
    if (interfaces === undefined) return undefined;
    const places = placesOf(addresses, interfaces);
    if (places.length === 0) return this.#announceNothing();
    const state = await this.#bus.call(AVAHI_METHODS.getState, []);
    if (!state.ok) return sentence(state.error);
    if (state.value !== SERVER_RUNNING) {
      this.#node.status('connecting', 'avahi-daemon has no host name yet');
      return undefined;
    }
    const failure =
      (await this.#chooseName()) ?? (await this.#announcement.renew({ name: this.#name, port, places }));
    if (failure === undefined) return undefined;
    if (failure.kind !== 'dbus' || failure.name !== AVAHI_ERRORS.collision) return sentence(failure);
    // The name belongs to a service of this same avahi-daemon.
    this.#isNameTaken = true;
    this.#isDue = true;
    return undefined;
  }

  /** Undefined if the system call fails: the announcement stays, and the next look tries again. */
  #interfacesNow(): Interfaces | undefined {
    const wereKnown = this.#areInterfacesKnown;
    try {
      const interfaces = this.#world.interfaces();
      this.#areInterfacesKnown = true;
      if (!wereKnown) this.#node.log('info', 'the network interfaces can be read again');
      return interfaces;
    } catch (error) {
      this.#areInterfacesKnown = false;
      if (wereKnown)
        this.#node.log('warn', 'the network interfaces cannot be read', { error: String(error) });
      return undefined;
    }
  }

  async #announceNothing(): Promise<string | undefined> {
    const failure = await this.#announcement.withdraw();
    if (failure !== undefined) return sentence(failure);
    this.#node.status('up', 'nothing to announce: the service listens on loopback only');
    return undefined;
  }

  async #chooseName(): Promise<BusError | undefined> {
    if (!this.#isNameTaken) return undefined;
    this.#namesTaken += 1;
    if (this.#namesTaken > NAMES_MAX)
      return { kind: 'local', detail: `the first ${NAMES_MAX} names are all in use on the network` };
    const next = await this.#bus.call(AVAHI_METHODS.getAlternativeServiceName, [this.#name]);
    if (!next.ok) return next.error;
    this.#node.log('warn', 'another service on the network has this name', {
      name: this.#name,
      next: next.value,
    });
    this.#name = next.value;
    this.#isNameTaken = false;
    return undefined;
  }
}
