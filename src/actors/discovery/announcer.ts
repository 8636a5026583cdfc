// Decides what Avahi announces for this node. A round replaces the announced service if it differs from the
// desired one. A timer repeats the rounds. A round is also requested after each change of the served
// addresses, of the bus connection or of avahi-daemon, and after each collision of the name. Only one round
// runs at a time.

import { type Clock, Timers } from '../../host/clock.js';
import { SharedWork } from '../../host/turns.js';
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
import { type BusError, type BusResult, busErrorText } from '../bus/fault.js';
import type { NodeLink } from '../runtime.js';
import { SERVICE_TYPE } from './browser.js';
import { announcedInterfaceNames, announcementPlaces, type NetworkInterfaces, type Place } from './places.js';

/**
 * Nobody reports a new or replaced interface. But the service must be announced there within 10 s
 * (docs/configuration.md, "Finding nodes").
 */
const ROUND_EVERY_MS = 8_000;

/** At most this many names are tried. If all are in use, a new bus connection begins with the first name. */
const NAMES_MAX = 32;

const TXT = ['path=/ui', 'api=tonearm', `version=${VERSION}`].map((pair) => Buffer.from(pair));
const NO_FLAGS = 0;
/** Selects the domain, or the host name, that avahi-daemon itself has. */
const AVAHIS_OWN = '';

const NO_PLACE = 'nothing to announce: the service listens on no interface that has multicast';
const NOT_PERMITTED = 'not announced: avahi-daemon.conf does not permit it (disable-user-service-publishing)';

/** The announcer's access to the machine. */
export interface Machine {
  /** The present interfaces. May throw. */
  readonly interfaces: () => NetworkInterfaces;
  readonly clock: Clock;
}

type StepResult = BusResult<undefined>;

const DONE: StepResult = success(undefined);

/** Our entry group in Avahi: what Avahi announces for us. */
interface Group {
  /** Name, port and places as one text, by which a round finds changes; '' if the group is outdated. */
  serviceText: string;
  /** The path of the group's object; undefined until Avahi has made it. */
  path: string | undefined;
  /** True if the service is on the network. */
  isEstablished: boolean;
}

export class Announcer {
  readonly #bus: Bus<'announcements'>;
  readonly #settings: DiscoverySettings;
  readonly #link: Pick<NodeLink, 'status' | 'log'>;
  readonly #machine: Machine;
  readonly #timers: Timers<'round'>;
  /** Where this node is served; undefined until that is known. */
  #served: ServedRecord | undefined;
  /** True if avahi-daemon is on the bus; undefined while that is unknown. */
  #isAvahiRunning: boolean | undefined;
  #group: Group | undefined;
  #name: string;
  /** The names of the interfaces on which the service is announced, for people. */
  #interfaceNames = '';
  /** True if another service has `#name`. */
  #hasCollided = false;
  /** The number of collisions since the last `beginAnew`. */
  #collisions = 0;
  /** True if a round was requested since the last round began. The rounds of the timer do not count. */
  #isRoundRequested = false;
  readonly #rounds = new SharedWork(async () => {
    this.#isRoundRequested = false;
    const round = await this.#round();
    if (round.ok) return;
    // If a round was requested meanwhile, a change may have caused the failure, and the connection may be in
    // order. Then the requested round makes the group anew.
    if (this.#isRoundRequested) this.#markOutdated();
    else this.#bus.reconnect(`avahi-daemon: ${busErrorText(round.error)}`);
  });
  /** True if the interfaces could be read last time. If they could not, a failure is not logged again. */
  #areInterfacesReadable = true;

  constructor(
    bus: Bus<'announcements'>,
    settings: DiscoverySettings,
    link: Pick<NodeLink, 'status' | 'log'>,
    machine: Machine,
  ) {
    this.#bus = bus;
    this.#settings = settings;
    this.#link = link;
    this.#machine = machine;
    this.#timers = new Timers(machine.clock);
    this.#name = settings.name;
  }

  /** The service's name on the network; undefined while it is not announced. */
  get name(): string | undefined {
    return this.#group?.isEstablished ? this.#name : undefined;
  }

  setServed(record: ServedRecord): void {
    this.#served = record;
    this.#requestRound();
  }

  stop(): void {
    this.#timers.cancelAll();
  }

  /**
   * To be called when the bus connection or avahi-daemon has begun or ended. After that Avahi has no group of
   * ours. `isAvahiRunning` is undefined while it is not known whether avahi-daemon is on the bus.
   */
  beginAnew(isAvahiRunning: boolean | undefined): void {
    this.#isAvahiRunning = isAvahiRunning;
    this.#group = undefined;
    this.#name = this.#settings.name;
    this.#hasCollided = false;
    this.#collisions = 0;
    this.#requestRound();
  }

  signal(signal: Signal): void {
    const groupChange = signalValues(AVAHI_SIGNALS.groupStateChanged, signal);
    if (groupChange !== undefined && signal.path === this.#group?.path) this.#groupChanged(...groupChange);
    const hasServerChanged = signalValues(AVAHI_SIGNALS.serverStateChanged, signal) !== undefined;
    if (!hasServerChanged) return;
    // Avahi may have another host name now, but the group still has the old one.
    this.#markOutdated();
    this.#requestRound();
  }

  /** Causes the next round to make the group anew. */
  #markOutdated(): void {
    if (this.#group !== undefined) this.#group.serviceText = '';
  }

  #groupChanged(state: number, error: string): void {
    if (this.#group !== undefined) this.#group.isEstablished = state === GROUP_STATES.established;
    if (state === GROUP_STATES.established) this.#reportAnnounced();
    else if (state === GROUP_STATES.collision) this.#nameCollided();
    else if (state === GROUP_STATES.failure)
      this.#bus.reconnect(`avahi-daemon could not announce the service: ${error}`);
  }

  #reportAnnounced(): void {
    this.#link.status('up', `announced as ${this.#name} on ${this.#interfaceNames}`);
  }

  #nameCollided(): void {
    this.#hasCollided = true;
    this.#requestRound();
  }

  /** A request during a round causes one more round after it. */
  #requestRound(): void {
    this.#isRoundRequested = true;
    void this.#rounds.run();
  }

  /** Succeeds even if nothing can be announced now. A later change or the timer causes another round. */
  async #round(): Promise<StepResult> {
    if (this.#served === undefined || this.#isAvahiRunning === undefined) return DONE;
    if (!this.#isAvahiRunning) return this.#reportWaiting('avahi-daemon is not running');
    this.#timers.set('round', ROUND_EVERY_MS, () => void this.#rounds.run());
    const { port, addresses } = this.#served;
    const interfaces = this.#interfacesNow();
    if (interfaces === undefined) return DONE;
    const places = announcementPlaces(addresses, interfaces);
    if (places.length === 0) return this.#announceNothing(NO_PLACE);
    this.#setInterfaceNames(announcedInterfaceNames(addresses, interfaces).join(', '));
    const state = await this.#bus.call(AVAHI_METHODS.getState, []);
    if (!state.ok) return state;
    if (state.value !== SERVER_RUNNING) return this.#reportWaiting('avahi-daemon has no host name yet');
    const replaced = await this.#replaceCollidedName();
    if (!replaced.ok) return replaced;
    const announced = await this.#announce(port, places);
    if (announced.ok) return announced;
    // A missing permission is no failure of the round, because `#rounds` replaces the bus connection after a
    // failure. Avahi would refuse again on the new connection, and the browser would forget all nodes.
    if (isDbusError(announced.error, AVAHI_ERRORS.notPermitted)) return this.#announceNothing(NOT_PERMITTED);
    if (!isDbusError(announced.error, AVAHI_ERRORS.collision)) return announced;
    // Another service of this avahi-daemon has the name. About one of another machine Avahi sends a signal.
    this.#nameCollided();
    return DONE;
  }

  async #announceNothing(reason: string): Promise<StepResult> {
    const withdrawn = await this.#withdraw();
    if (withdrawn.ok) this.#link.status('up', reason);
    return withdrawn;
  }

  /**
   * Reports changed names, because Avahi does not always cause a report: an announcement for all interfaces
   * stays the same when interfaces come and go.
   */
  #setInterfaceNames(names: string): void {
    const before = this.#interfaceNames;
    this.#interfaceNames = names;
    if (before !== names && this.#group?.isEstablished) this.#reportAnnounced();
  }

  #reportWaiting(reason: string): StepResult {
    this.#link.status('connecting', reason);
    return DONE;
  }

  /** Undefined if the system call fails: the announcement then stays, and the next round tries again. */
  #interfacesNow(): NetworkInterfaces | undefined {
    const wereReadable = this.#areInterfacesReadable;
    try {
      this.#areInterfacesReadable = true;
      return this.#machine.interfaces();
    } catch (error) {
      this.#areInterfacesReadable = false;
      const fields = { error: errorText(error) };
      if (wereReadable) this.#link.log('warn', 'the network interfaces cannot be read', fields);
      return undefined;
    }
  }

  async #replaceCollidedName(): Promise<StepResult> {
    if (!this.#hasCollided) return DONE;
    this.#collisions += 1;
    if (this.#collisions >= NAMES_MAX)
      return failed({ kind: 'local', detail: `the first ${NAMES_MAX} names are all in use on the network` });
    const name = this.#name;
    const alternative = await this.#bus.call(AVAHI_METHODS.getAlternativeServiceName, [name]);
    if (!alternative.ok) return alternative;
    const next = alternative.value;
    this.#link.log('warn', 'another service on the network has this name', { name, next });
    this.#name = next;
    this.#hasCollided = false;
    return DONE;
  }

  /** Replaces the announced service if it differs from the desired one. */
  async #announce(port: number, places: readonly Place[]): Promise<StepResult> {
    const serviceText = JSON.stringify([this.#name, port, places]);
    if (serviceText === this.#group?.serviceText) return DONE;
    const withdrawn = await this.#withdraw();
    if (!withdrawn.ok) return withdrawn;
    /**
     * `#group` is set before the call that makes the group, not after it. If avahi-daemon ends during the
     * call, `beginAnew` forgets the group, and the end of the call does not bring it back.
     */
    const group: Group = { serviceText, path: undefined, isEstablished: false };
    this.#group = group;
    const created = await this.#bus.call(AVAHI_METHODS.entryGroupNew, []);
    if (!created.ok) return created;
    const path = created.value;
    group.path = path;
    for (const [index, protocol] of places) {
      const domain = AVAHIS_OWN;
      const host = AVAHIS_OWN;
      const entry = [index, protocol, NO_FLAGS, this.#name, SERVICE_TYPE, domain, host, port, TXT] as const;
      const added = await this.#bus.call(AVAHI_METHODS.addService, entry, { path });
      if (!added.ok) return added;
    }
    const committed = await this.#bus.call(AVAHI_METHODS.commit, [], { path });
    return committed.ok ? DONE : committed;
  }

  /**
   * A group that could not be freed is still announced, so it stays in `#group`. If a round was requested
   * meanwhile, this round tries to free the group again. If not, the connection ends (`#rounds`), and Avahi
   * withdraws the group.
   */
  async #withdraw(): Promise<StepResult> {
    const path = this.#group?.path;
    const freed = path === undefined ? DONE : await this.#bus.call(AVAHI_METHODS.free, [], { path });
    if (!freed.ok) return freed;
    this.#group = undefined;
    return DONE;
  }
}

function isDbusError(error: BusError, name: string): boolean {
  return error.kind === 'dbus' && error.name === name;
}
