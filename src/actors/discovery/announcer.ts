// Has Avahi announce the service, and keeps the announcement right when addresses, avahi-daemon or the owner
// of the name change. Every change requests a round, which compares the announced service with the desired
// one. One round runs at a time.

import { type Clock, Timers } from '../../host/clock.js';
import { errorText } from '../../printable.js';
import type { ServedRecord } from '../../protocol/actor/messages.js';
import { failed, success } from '../../protocol/actor/result.js';
import type { DiscoverySettings } from '../../protocol/actor/settings.js';
import {
  AVAHI_ERRORS,
  AVAHI_METHODS,
  AVAHI_SIGNALS,
  GROUP_STATES,
  SERVER_RUNNING,
} from '../../protocol/dbus/avahi.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { VERSION } from '../../version.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, type BusResult, reasonOf } from '../bus/fault.js';
import type { NodeLink } from '../runtime.js';
import { SharedWork } from '../turns.js';
import { SERVICE_TYPE } from './browser.js';
import { announcedOn, type Interfaces, type Place, placesOf } from './places.js';

/**
 * 10 s are promised (docs/configuration.md, "Finding nodes"), and not every new or replaced interface is
 * reported.
 */
const ROUND_EVERY_MS = 8_000;

/** The number of names that are tried without a pause. Then the announcer waits, as after every failure. */
const NAMES_MAX = 32;

const TXT = ['path=/ui', 'api=tonearm', `version=${VERSION}`].map((pair) => Buffer.from(pair));
const NO_FLAGS = 0;
/** Selects Avahi's own domain and host. */
const USUAL = '';

export interface AnnouncerWorld {
  /** The present interfaces. May throw. */
  readonly interfaces: () => Interfaces;
  readonly clock: Clock;
}

type Step = BusResult<undefined>;

const DONE: Step = success(undefined);

/** Our entry group in Avahi; `path` is its object, once Avahi has made it. */
interface Group {
  /** '' once it has to be made anew, because Avahi's host name has changed. */
  service: string;
  path: string | undefined;
  /** True if the service is on the network. */
  isEstablished: boolean;
}

export class Announcer {
  readonly #bus: Bus<'announcements'>;
  readonly #settings: DiscoverySettings;
  readonly #node: Pick<NodeLink, 'status' | 'log'>;
  readonly #world: AnnouncerWorld;
  readonly #timers: Timers<'round'>;
  #served: ServedRecord | undefined;
  #isAvahiThere: boolean | undefined;
  #group: Group | undefined;
  #name: string;
  /** The names of the interfaces on which the service is announced. */
  #announcedOn = '';
  #hasCollided = false;
  /** Counted per connection. */
  #collisions = 0;
  /** A change has come since the last round began. */
  #isDue = false;
  readonly #rounds = new SharedWork(async () => {
    this.#isDue = false;
    const round = await this.#round();
    if (round.ok) return;
    // The failure may be due to a change that came meanwhile: then the next round makes the group anew.
    if (this.#isDue) this.#outdate();
    else this.#bus.reconnect(`avahi-daemon: ${reasonOf(round.error)}`);
  });
  #areInterfacesKnown = true;

  constructor(
    bus: Bus<'announcements'>,
    settings: DiscoverySettings,
    node: Pick<NodeLink, 'status' | 'log'>,
    world: AnnouncerWorld,
  ) {
    this.#bus = bus;
    this.#settings = settings;
    this.#node = node;
    this.#world = world;
    this.#timers = new Timers(world.clock);
    this.#name = settings.name;
  }

  /** The service's name on the network; undefined while it is not announced. */
  get name(): string | undefined {
    return this.#group?.isEstablished ? this.#name : undefined;
  }

  served(record: ServedRecord): void {
    this.#served = record;
    this.#requestRound();
  }

  stop(): void {
    this.#timers.cancelAll();
  }

  /** Avahi has forgotten the group. `isThere`: undefined while that is unknown. */
  beginAnew(isThere: boolean | undefined): void {
    this.#isAvahiThere = isThere;
    this.#group = undefined;
    this.#name = this.#settings.name;
    this.#hasCollided = false;
    this.#collisions = 0;
    this.#requestRound();
  }

  signal(signal: Signal): void {
    const state = signalValues(AVAHI_SIGNALS.group, signal);
    if (state !== undefined && signal.path === this.#group?.path) this.#groupChanged(...state);
    if (signalValues(AVAHI_SIGNALS.server, signal) === undefined) return;
    this.#outdate();
    this.#requestRound();
  }

  /** The next round makes the group anew. */
  #outdate(): void {
    if (this.#group !== undefined) this.#group.service = '';
  }

  #groupChanged(state: number, error: string): void {
    if (this.#group !== undefined) this.#group.isEstablished = state === GROUP_STATES.established;
    if (state === GROUP_STATES.established) this.#reportAnnounced();
    else if (state === GROUP_STATES.collision) this.#nameCollided();
    else if (state === GROUP_STATES.failure)
      this.#bus.reconnect(`avahi-daemon could not announce the service: ${error}`);
  }

  #reportAnnounced(): void {
    this.#node.status('up', `announced as ${this.#name} on ${this.#announcedOn}`);
  }

  #nameCollided(): void {
    this.#hasCollided = true;
    this.#requestRound();
  }

  #requestRound(): void {
    this.#isDue = true;
    void this.#rounds.run();
  }

  /** Done on success, and also if a signal will start the next round. */
  async #round(): Promise<Step> {
    if (this.#served === undefined || this.#isAvahiThere === undefined) return DONE;
    if (!this.#isAvahiThere) return this.#waitFor('avahi-daemon is not running');
    this.#timers.set('round', ROUND_EVERY_MS, () => this.#requestRound());
    const { port, addresses } = this.#served;
    const interfaces = this.#interfacesNow();
    if (interfaces === undefined) return DONE;
    const places = placesOf(addresses, interfaces);
    if (places.length === 0) {
      const withdrawn = await this.#withdraw();
      const nothing = 'nothing to announce: the service listens on no interface that has multicast';
      if (withdrawn.ok) this.#node.status('up', nothing);
      return withdrawn;
    }
    this.#setAnnouncedOn(announcedOn(addresses, interfaces).join(', '));
    const state = await this.#bus.call(AVAHI_METHODS.getState, []);
    if (!state.ok) return state;
    if (state.value !== SERVER_RUNNING) return this.#waitFor('avahi-daemon has no host name yet');
    const chosen = await this.#chooseName();
    if (!chosen.ok) return chosen;
    const renewed = await this.#renew(port, places);
    if (renewed.ok || !isCollision(renewed.error)) return renewed;
    // The name belongs to a service of this same avahi-daemon.
    this.#nameCollided();
    return DONE;
  }

  /** The entry for all interfaces stays the same while interfaces come and go, so only the report changes. */
  #setAnnouncedOn(names: string): void {
    const before = this.#announcedOn;
    this.#announcedOn = names;
    if (before !== names && this.#group?.isEstablished) this.#reportAnnounced();
  }

  /** A signal will start the next round. */
  #waitFor(reason: string): Step {
    this.#node.status('connecting', reason);
    return DONE;
  }

  /** Undefined if the system call fails: the announcement stays, and the next round tries again. */
  #interfacesNow(): Interfaces | undefined {
    const wereKnown = this.#areInterfacesKnown;
    try {
      this.#areInterfacesKnown = true;
      return this.#world.interfaces();
    } catch (error) {
      this.#areInterfacesKnown = false;
      const fields = { error: errorText(error) };
      if (wereKnown) this.#node.log('warn', 'the network interfaces cannot be read', fields);
      return undefined;
    }
  }

  async #chooseName(): Promise<Step> {
    if (!this.#hasCollided) return DONE;
    this.#collisions += 1;
    if (this.#collisions > NAMES_MAX)
      return failed({ kind: 'local', detail: `the first ${NAMES_MAX} names are all in use on the network` });
    const name = this.#name;
    const next = await this.#bus.call(AVAHI_METHODS.getAlternativeServiceName, [name]);
    if (!next.ok) return next;
    this.#node.log('warn', 'another service on the network has this name', { name, next: next.value });
    this.#name = next.value;
    this.#hasCollided = false;
    return DONE;
  }

  /** Replaces the announced service, unless it is the same. */
  async #renew(port: number, places: readonly Place[]): Promise<Step> {
    const service = JSON.stringify([this.#name, port, places]);
    if (service === this.#group?.service) return DONE;
    const withdrawn = await this.#withdraw();
    if (!withdrawn.ok) return withdrawn;
    // The group is set before Avahi has made it, because avahi-daemon may end meanwhile.
    const group: Group = { service, path: undefined, isEstablished: false };
    this.#group = group;
    const made = await this.#bus.call(AVAHI_METHODS.entryGroupNew, []);
    if (!made.ok) return made;
    const path = made.value;
    group.path = path;
    for (const [index, protocol] of places) {
      const entry = [index, protocol, NO_FLAGS, this.#name, SERVICE_TYPE, USUAL, USUAL, port, TXT] as const;
      const added = await this.#bus.call(AVAHI_METHODS.addService, entry, { path });
      if (!added.ok) return added;
    }
    const committed = await this.#bus.call(AVAHI_METHODS.commit, [], { path });
    return committed.ok ? DONE : committed;
  }

  async #withdraw(): Promise<Step> {
    const group = this.#group;
    const path = group?.path;
    const freed = path === undefined ? DONE : await this.#bus.call(AVAHI_METHODS.free, [], { path });
    // A group that could not be freed is still on the network, and the next round tries again.
    if (!freed.ok) return freed;
    if (this.#group === group) this.#group = undefined;
    return DONE;
  }
}

function isCollision(error: BusError): boolean {
  return error.kind === 'dbus' && error.name === AVAHI_ERRORS.collision;
}
