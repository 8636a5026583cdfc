// The discovery bridge: announces this node and finds others, by one connection to avahi-daemon, and
// publishes the nodes that it knows. After any failure the connection is given up, so that Avahi forgets
// everything of it, and a new one begins from the start. The nodes of the configuration need no Avahi. The
// bridge requests no operation.

import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { systemClock } from '../../host/clock.js';
import { deviceOf } from '../../host/own-addresses.js';
import type { ChangeBatch, ServedRecord } from '../../protocol/actor/messages.js';
import type { DiscoverySettings } from '../../protocol/actor/settings.js';
import {
  AVAHI_BROWSER,
  AVAHI_ENTRY_GROUP,
  AVAHI_NAME,
  AVAHI_RESOLVER,
  AVAHI_SERVER,
} from '../../protocol/dbus/avahi.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { Bus, type BusOwner } from '../bus/bus.js';
import { type BridgeActor, bridgeThread, type OwnerLink } from '../runtime.js';
import { Announcer, type Machine } from './announcer.js';
import { Browser } from './browser.js';
import type { ConfiguredNodes } from './configured-nodes.js';
import { KnownNodes } from './known-nodes.js';
import type { Interface, Interfaces } from './places.js';

/** An avahi-daemon that does not answer at once hangs. */
const CALL_DEADLINE_MS = 4_000;
const WATCHED_INTERFACES = [AVAHI_SERVER, AVAHI_ENTRY_GROUP, AVAHI_BROWSER, AVAHI_RESOLVER];

export class Discovery implements BridgeActor, BusOwner {
  readonly #node: OwnerLink;
  readonly #bus: Bus<'announcements'>;
  readonly #announcer: Announcer;
  readonly #browser: Browser;
  readonly #nodes: KnownNodes;
  /** Undefined if the configuration names no nodes. */
  readonly #configured: Promise<ConfiguredNodes> | undefined;
  #ownPort: number | undefined;
  /** Undefined while the bus is away, or has not answered. */
  #isAvahiRunning: boolean | undefined;

  constructor(settings: DiscoverySettings, node: OwnerLink, machine: Machine) {
    this.#node = node;
    const log: OwnerLink['log'] = (...line) => node.log(...line);
    const status: OwnerLink['status'] = (state, detail) => this.#reportStatus(state, detail);
    this.#nodes = new KnownNodes({
      publish: node,
      isTrusting: settings.trust,
      ownName: () => this.#announcer.name,
      ownPort: () => this.#ownPort,
    });
    this.#bus = new Bus('announcements', { callDeadlineMs: CALL_DEADLINE_MS }, this);
    this.#announcer = new Announcer(this.#bus, settings, { status, log }, machine);
    this.#browser = new Browser(this.#bus, log, machine.clock, (found) => this.#nodes.setSightings(found));
    const hasConfigured = settings.nodes.length > 0;
    this.#configured = hasConfigured ? this.#loadConfigured(settings.nodes, log, machine.clock) : undefined;
  }

  applyChanges({ changes }: ChangeBatch): void {
    for (const change of changes) {
      if (change.kind !== 'put' || change.collection !== 'served') continue;
      const served = JSON.parse(change.json) as ServedRecord;
      this.#ownPort = served.port;
      this.#announcer.setServed(served);
      this.#nodes.publish();
    }
  }

  /** Avahi withdraws a connection's announcements when the connection ends. */
  async stop(): Promise<void> {
    this.#announcer.stop();
    this.#browser.beginAnew(false);
    this.#bus.stop();
    const configured = await this.#configured;
    await configured?.stop();
  }

  async up(): Promise<void> {
    // `down` is not called for a connection that was lost before it was up, if the reason is that of the loss
    // before.
    this.#beginAnew(undefined);
    const watched = WATCHED_INTERFACES.map((iface) =>
      this.#bus.watch({ sender: AVAHI_NAME, interface: iface }),
    );
    if (!(await Promise.all(watched)).every(({ ok }) => ok))
      throw new Error('avahi-daemon cannot be watched');
    // If `ownerChanged` was called meanwhile, that is newer.
    if (this.#isAvahiRunning === undefined) this.#beginAnew(this.#bus.isRunning(AVAHI_NAME));
  }

  down(reason: string): void {
    this.#beginAnew(undefined);
    this.#reportStatus('connecting', reason);
  }

  ownerChanged(_name: string, isOwned: boolean): void {
    this.#beginAnew(isOwned);
  }

  signal(signal: Signal): void {
    this.#announcer.signal(signal);
    this.#browser.signal(signal);
  }

  /** `state` is Avahi's. With nodes of the configuration discovery is `up` without Avahi, too. */
  #reportStatus(state: 'connecting' | 'up', detail: string | undefined): void {
    const isAvahiUp = state === 'up';
    const hasConfigured = this.#configured !== undefined;
    const isUp = isAvahiUp || hasConfigured;
    // Before the status, which removes all records if it is not `up`.
    this.#nodes.setUp(isUp);
    const isReduced = !isAvahiUp && hasConfigured && detail !== undefined;
    this.#node.status(
      isUp ? 'up' : state,
      isReduced ? `only the nodes of discovery.nodes: ${detail}` : detail,
    );
  }

  async #loadConfigured(
    urls: readonly string[],
    log: OwnerLink['log'],
    clock: Machine['clock'],
  ): Promise<ConfiguredNodes> {
    // Loaded here because it loads Node's HTTP, too, which few nodes need.
    const { ConfiguredNodes } = await import('./configured-nodes.js');
    return new ConfiguredNodes({ urls, log, clock, onChange: (nodes) => this.#nodes.setConfigured(nodes) });
  }

  #beginAnew(isAvahiRunning: boolean | undefined): void {
    this.#isAvahiRunning = isAvahiRunning;
    this.#announcer.beginAnew(isAvahiRunning);
    this.#browser.beginAnew(isAvahiRunning === true);
  }
}

export default bridgeThread<'discovery'>(
  (settings, node) => new Discovery(settings, node, { interfaces: externalInterfaces, clock: systemClock }),
);

/**
 * The interfaces on which Avahi announces.
 * @throws if the system call fails, as without a free descriptor
 */
function externalInterfaces(): Interfaces {
  const listed = networkInterfaces();
  // An address with a label is listed under a name of its own, though its interface is the same.
  const names = new Set(Object.keys(listed).map(deviceOf));
  return [...names].flatMap((name) => externalInterface(name, listed) ?? []);
}

/** Undefined for one on which Avahi does not announce, or that has gone meanwhile. */
function externalInterface(
  name: string,
  listed: ReturnType<typeof networkInterfaces>,
): Interface | undefined {
  const ofThisName = Object.entries(listed).filter(([listedName]) => deviceOf(listedName) === name);
  const allAddresses = ofThisName.flatMap(([, infos = []]) => infos);
  const addresses = allAddresses.filter(({ internal }) => !internal);
  if (addresses.length === 0 || !canAnnounceOn(name)) return undefined;
  const index = readNumber(name, 'ifindex');
  return index === undefined ? undefined : { name, index, addresses };
}

/** Flags of an interface (netdevice(7)). */
const POINT_TO_POINT = 0x10;
const MULTICAST = 0x1000;

/**
 * False for an interface without multicast, as WireGuard's, and for one with a single peer, as OpenVPN's:
 * Avahi leaves out the latter unless it is configured otherwise.
 */
function canAnnounceOn(name: string): boolean {
  const flags = readNumber(name, 'flags') ?? 0;
  return (flags & MULTICAST) !== 0 && (flags & POINT_TO_POINT) === 0;
}

/** Undefined if the interface has gone meanwhile. */
function readNumber(name: string, file: 'ifindex' | 'flags'): number | undefined {
  try {
    // `Number` also reads flags, which are written as 0x1003.
    return Number(readFileSync(`/sys/class/net/${name}/${file}`, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
