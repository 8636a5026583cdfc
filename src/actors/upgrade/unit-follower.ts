// Follows the upgrade unit on the user's bus, and has units started there. It tells what it sees; what that means is run.ts's.

import { PROPERTIES_CHANGED, PROPERTIES_INTERFACE } from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { readProperties } from '../../protocol/dbus/properties.js';
import {
  MANAGER_INTERFACE,
  MANAGER_PROPERTIES,
  SERVICE_INTERFACE,
  SYSTEMD_ERRORS,
  SYSTEMD_METHODS,
  SYSTEMD_NAME,
  SYSTEMD_PATH,
  SYSTEMD_SIGNALS,
  UNIT_INTERFACE,
  UNIT_PROPERTIES,
} from '../../protocol/dbus/systemd.js';
import { type BusOptions, type BusOwner, UserBus } from '../bus/bus.js';
import { type Outcome, sentence } from '../bus/fault.js';
import { JobEnds, type PropertyRecord } from '../bus/units.js';
import type { Clock } from '../clock.js';
import { NO_FACTS, type UpgradeFacts, withProperties } from './unit-facts.js';
import { type Started, UnitStarter } from './unit-starter.js';

/** A unit that changes during every reading is followed by its signals. */
const READ_MAX_TRIES = 8;

const NO_UNIT: Started = { ok: false, fault: 'no-such-unit', detail: 'No such unit is configured' };

export interface Units {
  readonly check?: string;
  readonly upgrade?: string;
}

export interface FollowerOwner {
  /** The bus is there; `facts` is the unit now, and every change from now on is told. `managerLife` is another one for each start of systemd. */
  up(facts: UpgradeFacts, managerLife: string): void;
  down(reason: string): void;
  unit(facts: UpgradeFacts): void;
  /** A job of the upgrade unit, of whatever kind; `job` is its path. */
  jobEnded(job: string, result: string): void;
  checkEnded(result: string): void;
}

export class UnitFollower implements BusOwner {
  readonly #units: Units;
  readonly #owner: FollowerOwner;
  readonly #bus: UserBus;
  readonly #ready: Promise<unknown>;
  readonly #starter: UnitStarter;
  readonly #jobEnds = new JobEnds();
  #facts: UpgradeFacts = NO_FACTS;
  /** The upgrade unit's object and its real name: an alias is told under the name of what it stands for. */
  #path = '';
  #name = '';
  /** Signals about the unit since the start: a reading during which one came may be older than the signal. */
  #heard = 0;
  #up = false;
  /** Counts beginnings: what an earlier one finds out later is of no interest. */
  #epoch = 0;

  /** `ready`: until it resolves, nothing is told of a bus that is there. */
  constructor(
    units: Units,
    owner: FollowerOwner,
    options: BusOptions,
    ready: Promise<unknown>,
    clock: Clock,
  ) {
    this.#units = units;
    this.#owner = owner;
    this.#ready = ready;
    this.#bus = new UserBus(options, this);
    const sight = () => ({ facts: this.#facts, jobEnds: this.#jobEnds });
    this.#starter = new UnitStarter(this.#bus, sight, clock);
  }

  stop(): void {
    this.#bus.stop();
  }

  async up(): Promise<void> {
    this.#up = false;
    this.#jobEnds.clear();
    await this.#ready;
    await this.#begin();
  }

  down(reason: string): void {
    this.#epoch += 1;
    this.#up = false;
    this.#owner.down(reason);
  }

  /**
   * What was subscribed with the old owner is worth nothing. A systemd that executes itself anew has its new connection before
   * it leaves the old one: that is sat out. One that is gone is waited for.
   */
  ownerChanged(name: string, owned: boolean): void {
    if (name !== SYSTEMD_NAME) return;
    if (owned) void this.#beginAgain();
    else this.#bus.reconnect('systemd is not on the bus');
  }

  signal(signal: Signal): void {
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (changed !== undefined) {
      if (signal.path === this.#path) this.#propertiesChanged(changed[0], changed[1]);
      return;
    }
    const removed = signalValues(SYSTEMD_SIGNALS.jobRemoved, signal);
    if (removed !== undefined) this.#jobRemoved(removed[1], removed[2], removed[3]);
    const reloading = signalValues(SYSTEMD_SIGNALS.reloading, signal);
    // Behind a reload the unit's file may be another one.
    if (reloading?.[0] === false && this.#up) void this.#rereadAfterReload();
  }

  /** The unit as it is now, not as the last signal told; undefined when it cannot be asked. */
  async ask(): Promise<UpgradeFacts | undefined> {
    return (await this.#read()) ? this.#facts : undefined;
  }

  async startUpgrade(): Promise<Started> {
    const { upgrade } = this.#units;
    return upgrade === undefined ? NO_UNIT : this.#starter.startUpgrade(upgrade);
  }

  async startCheck(): Promise<Started> {
    const { check } = this.#units;
    return check === undefined ? NO_UNIT : this.#starter.start(check);
  }

  /** From a bare connection, or a new manager, to a unit that is known and followed. Rejects when that cannot be had. */
  async #begin(): Promise<void> {
    this.#epoch += 1;
    const epoch = this.#epoch;
    await this.#subscribe();
    await this.#follow();
    const manager = must(await this.#getAll(SYSTEMD_PATH, MANAGER_INTERFACE));
    if (epoch !== this.#epoch) return;
    this.#up = true;
    const { UserspaceTimestampMonotonic: startedUs } = readProperties(MANAGER_PROPERTIES, manager);
    this.#owner.up(this.#facts, String(startedUs ?? ''));
  }

  async #beginAgain(): Promise<void> {
    const beginning = this.#begin();
    const epoch = this.#epoch;
    try {
      await beginning;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (epoch === this.#epoch) this.#bus.reconnect(reason);
    }
  }

  async #subscribe(): Promise<void> {
    const outcome = await this.#bus.call(SYSTEMD_METHODS.subscribe, []);
    const already =
      !outcome.ok && outcome.error.kind === 'dbus' && outcome.error.name === SYSTEMD_ERRORS.alreadySubscribed;
    if (!already) must(outcome);
    const { reloading } = SYSTEMD_SIGNALS;
    await this.#watch({ interface: reloading.interface, member: reloading.member });
  }

  /** Watches before it reads: nothing is missed in between. */
  async #follow(): Promise<void> {
    const { check, upgrade } = this.#units;
    if (check !== undefined) await this.#watchJobs(check);
    if (upgrade === undefined) return;
    // Loading is what resolves an alias. A unit that does not exist has a path too.
    this.#path = must(await this.#bus.call(SYSTEMD_METHODS.loadUnit, [upgrade]));
    this.#name = upgrade;
    await this.#watch({ interface: PROPERTIES_INTERFACE, member: 'PropertiesChanged', path: this.#path });
    await this.#watchJobs(upgrade);
    if (!(await this.#read())) throw new Error(`${upgrade} cannot be read`);
    if (this.#name !== upgrade) await this.#watchJobs(this.#name);
  }

  async #watch(match: { interface: string; member: string; path?: string; arg2?: string }): Promise<void> {
    must(await this.#bus.watch({ sender: SYSTEMD_NAME, ...match }));
  }

  #watchJobs(unit: string): Promise<void> {
    const { interface: iface, member } = SYSTEMD_SIGNALS.jobRemoved;
    return this.#watch({ interface: iface, member, arg2: unit });
  }

  #propertiesChanged(iface: string, properties: PropertyRecord): void {
    this.#heard += 1;
    if (iface !== SERVICE_INTERFACE && iface !== UNIT_INTERFACE) return;
    this.#facts = withProperties(this.#facts, properties);
    // The Service's properties of a change come before the Unit's: with those the facts are whole.
    if (iface === UNIT_INTERFACE && this.#up) this.#owner.unit(this.#facts);
    this.#starter.stirred();
  }

  #jobRemoved(job: string, unit: string, result: string): void {
    this.#jobEnds.ended(job, result);
    if (unit === this.#units.check) this.#owner.checkEnded(result);
    if (this.#up && unit === this.#name) this.#owner.jobEnded(job, result);
    this.#starter.stirred();
  }

  async #rereadAfterReload(): Promise<void> {
    const { upgrade } = this.#units;
    if (upgrade === undefined) return;
    const loaded = await this.#bus.call(SYSTEMD_METHODS.loadUnit, [upgrade]);
    if (loaded.ok && loaded.value !== this.#path) {
      this.#bus.reconnect(`${upgrade} stands for another unit now`);
    } else if (await this.#read()) {
      if (this.#up) this.#owner.unit(this.#facts);
    }
  }

  /** Reads until no signal came meanwhile: the reply may have been overtaken. False when the unit cannot be read. */
  async #read(): Promise<boolean> {
    for (let tries = 0; tries < READ_MAX_TRIES; tries++) {
      const heard = this.#heard;
      const [service, unit] = await Promise.all([
        this.#getAll(this.#path, SERVICE_INTERFACE),
        this.#getAll(this.#path, UNIT_INTERFACE),
      ]);
      if (!unit.ok) return false;
      this.#name = readProperties(UNIT_PROPERTIES, unit.value).Id ?? this.#name;
      if (heard !== this.#heard) continue;
      // A unit that is no service has no such interface.
      const facts = service.ok ? withProperties(NO_FACTS, service.value) : NO_FACTS;
      this.#facts = withProperties(facts, unit.value);
      break;
    }
    return true;
  }

  #getAll(path: string, iface: string): Promise<Outcome<PropertyRecord>> {
    return this.#bus.call(SYSTEMD_METHODS.getAll, [iface], { path });
  }
}

function must<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw new Error(sentence(outcome.error));
}
