// The discovery bridge: one connection to avahi-daemon, which announces this node and browses for others.
// Whatever fails there gives up the connection, with which Avahi forgets all of it, and a new one begins
// anew. The nodes of the configuration need no Avahi. It sends this node no request.

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
import { Announcer, type AnnouncerWorld } from './announcer.js';
import { Browser } from './browser.js';
import { KnownNodes } from './known-nodes.js';
import type { NamedNodes } from './named-nodes.js';
import type { Interface, Interfaces } from './places.js';

/** avahi-daemon answers at once, or hangs. */
const CALL_DEADLINE_MS = 4_000;
const FOLLOWED = [AVAHI_SERVER, AVAHI_ENTRY_GROUP, AVAHI_BROWSER, AVAHI_RESOLVER];

export class Discovery implements BridgeActor, BusOwner {
  readonly #status: OwnerLink['status'];
  readonly #bus: Bus<'announcements'>;
  readonly #announcer: Announcer;
  readonly #browser: Browser;
  readonly #nodes: KnownNodes;
  /** Undefined if the configuration names no nodes. */
  readonly #named: Promise<NamedNodes> | undefined;
  #ownPort: number | undefined;
  /** Undefined while the bus is away, or has not answered. */
  #isAvahiThere: boolean | undefined;

  constructor(settings: DiscoverySettings, node: OwnerLink, world: AnnouncerWorld) {
    const hasNamed = settings.nodes.length > 0;
    this.#status = (state, detail) => {
      // The nodes of the configuration are there with or without Avahi.
      const isUp = state === 'up' || hasNamed;
      // Leaving `up` removes what was published.
      this.#nodes.publishWhile(isUp);
      node.status(isUp ? 'up' : state, state === 'up' ? detail : withNamedOnly(hasNamed, detail));
    };
    const log: OwnerLink['log'] = (...line) => node.log(...line);
    this.#nodes = new KnownNodes({
      publish: node,
      isTrusting: settings.trust,
      ownName: () => this.#announcer.name,
      ownPort: () => this.#ownPort,
    });
    this.#bus = new Bus('announcements', { callDeadlineMs: CALL_DEADLINE_MS }, this);
    this.#announcer = new Announcer(this.#bus, settings, { status: this.#status, log }, world);
    this.#browser = new Browser(this.#bus, log, world.clock, (found) => this.#nodes.sighted(found));
    this.#named = hasNamed ? this.#askNamed(settings.nodes, log, world.clock) : undefined;
  }

  applyChanges({ changes }: ChangeBatch): void {
    for (const change of changes) {
      if (change.kind !== 'put' || change.collection !== 'served') continue;
      const served = JSON.parse(change.json) as ServedRecord;
      this.#ownPort = served.port;
      this.#announcer.served(served);
      this.#nodes.publish();
    }
  }

  /** Avahi withdraws a connection's announcements when the connection ends. */
  async stop(): Promise<void> {
    this.#announcer.stop();
    this.#browser.beginAnew(false);
    this.#bus.stop();
    await (await this.#named)?.stop();
  }

  async up(): Promise<void> {
    // A connection that was lost before it was up, for the same reason as the one before, was not reported.
    this.#begin(undefined);
    const watched = FOLLOWED.map((iface) => this.#bus.watch({ sender: AVAHI_NAME, interface: iface }));
    if (!(await Promise.all(watched)).every(({ ok }) => ok))
      throw new Error('avahi-daemon cannot be watched');
    // A change that came meanwhile is newer.
    if (this.#isAvahiThere === undefined) this.#begin(this.#bus.isRunning(AVAHI_NAME));
  }

  down(reason: string): void {
    this.#begin(undefined);
    this.#status('connecting', reason);
  }

  ownerChanged(_name: string, owned: boolean): void {
    this.#begin(owned);
  }

  signal(signal: Signal): void {
    this.#announcer.signal(signal);
    this.#browser.signal(signal);
  }

  async #askNamed(
    urls: readonly string[],
    log: OwnerLink['log'],
    clock: AnnouncerWorld['clock'],
  ): Promise<NamedNodes> {
    // It loads Node's HTTP, which few nodes need.
    const { NamedNodes } = await import('./named-nodes.js');
    return new NamedNodes({ urls, log, clock, changed: (nodes) => this.#nodes.named(nodes) });
  }

  #begin(isThere: boolean | undefined): void {
    this.#isAvahiThere = isThere;
    this.#announcer.beginAnew(isThere);
    this.#browser.beginAnew(isThere === true);
  }
}

function withNamedOnly(hasNamed: boolean, detail: string | undefined): string | undefined {
  return hasNamed && detail !== undefined ? `only the nodes of discovery.nodes: ${detail}` : detail;
}

export default bridgeThread<'discovery'>(
  (settings, node) => new Discovery(settings, node, { interfaces: externalInterfaces, clock: systemClock }),
);

/** @throws if the system call fails, as without a free descriptor */
function externalInterfaces(): Interfaces {
  const listed = Object.entries(networkInterfaces());
  return [...new Set(listed.map(([name]) => deviceOf(name)))].flatMap((name): Interface[] => {
    const own = listed.filter(([each]) => deviceOf(each) === name);
    const addresses = own.flatMap(([, infos = []]) => infos).filter(({ internal }) => !internal);
    const index = addresses.length > 0 && isAnnouncing(name) ? factOf(name, 'ifindex') : undefined;
    return index === undefined ? [] : [{ name, index, addresses }];
  });
}

/** Flags of an interface (netdevice(7)). */
const POINT_TO_POINT = 0x10;
const MULTICAST = 0x1000;

/**
 * Avahi leaves out interfaces without multicast, as WireGuard's, and unless it is configured otherwise those
 * with one peer, as OpenVPN's.
 */
function isAnnouncing(name: string): boolean {
  const flags = factOf(name, 'flags') ?? 0;
  return (flags & MULTICAST) !== 0 && (flags & POINT_TO_POINT) === 0;
}

/** Undefined if the interface has gone meanwhile. */
function factOf(name: string, fact: 'ifindex' | 'flags'): number | undefined {
  try {
    // Flags are written as 0x1003.
    return Number(readFileSync(`/sys/class/net/${name}/${fact}`, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
