// The discovery bridge asks avahi-daemon to announce this node and to find other nodes. The bridge publishes
// the known nodes, and requests no operation.

import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { systemClock } from '../../host/clock.js';
import { withoutLabel } from '../../host/own-addresses.js';
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
import type { NetworkInterface, NetworkInterfaces } from './places.js';

/**
 * avahi-daemon usually answers at once, but on a busy board only after seconds. The deadline is long, since
 * a call without an answer ends the connection, and Avahi then withdraws the announcement. A long deadline
 * delays no client, because no client waits for such a call.
 */
const CALL_DEADLINE_MS = 20_000;
const WATCHED_DBUS_INTERFACES = [AVAHI_SERVER, AVAHI_ENTRY_GROUP, AVAHI_BROWSER, AVAHI_RESOLVER];

export class Discovery implements BridgeActor, BusOwner {
  readonly #link: OwnerLink;
  readonly #bus: Bus<'announcements'>;
  readonly #announcer: Announcer;
  readonly #browser: Browser;
  readonly #nodes: KnownNodes;
  /** The nodes of the configuration, which need no Avahi; undefined if there are none. */
  readonly #configured: Promise<ConfiguredNodes> | undefined;
  #ownPort: number | undefined;
  /** True if avahi-daemon is on the bus; undefined while there is no bus, or the bus has not answered. */
  #isAvahiRunning: boolean | undefined;

  constructor(settings: DiscoverySettings, link: OwnerLink, machine: Machine) {
    this.#link = link;
    const log: OwnerLink['log'] = (...line) => link.log(...line);
    const status: OwnerLink['status'] = (state, detail) => this.#reportStatus(state, detail);
    // Nothing calls `ownName` or `status` before this constructor ends, so both may use what is set below.
    this.#nodes = new KnownNodes({
      publish: link,
      isTrusting: settings.trust,
      ownName: () => this.#announcer.name,
      ownPort: () => this.#ownPort,
    });
    this.#bus = new Bus('announcements', { callDeadlineMs: CALL_DEADLINE_MS }, this);
    this.#announcer = new Announcer(this.#bus, settings, { status, log }, machine);
    this.#browser = new Browser(this.#bus, log, machine.clock, (found) => this.#nodes.setSightings(found));
    const hasConfiguredNodes = settings.nodes.length > 0;
    this.#configured = hasConfiguredNodes
      ? this.#loadConfigured(settings.nodes, log, machine.clock)
      : undefined;
  }

  applyChanges({ changes }: ChangeBatch): void {
    for (const change of changes) {
      if (change.kind !== 'put' || change.collection !== 'served') continue;
      const served = JSON.parse(change.json) as ServedRecord;
      this.#ownPort = served.port;
      this.#announcer.setServed(served);
      // The own port decides which of the configured nodes is this node.
      this.#nodes.publish();
    }
  }

  /** Sends nothing to Avahi, which withdraws the announcements of a connection that ends. */
  async stop(): Promise<void> {
    this.#announcer.stop();
    this.#browser.forgetAll();
    this.#bus.stop();
    const configured = await this.#configured;
    await configured?.stop();
  }

  async up(): Promise<void> {
    const watched = await Promise.all(
      WATCHED_DBUS_INTERFACES.map((iface) => this.#bus.watch({ sender: AVAHI_NAME, interface: iface })),
    );
    if (!watched.every(({ ok }) => ok)) return this.#bus.reconnect('avahi-daemon cannot be watched');
    // If `ownerChanged` was called meanwhile, everything has begun anew already.
    if (this.#isAvahiRunning === undefined) this.#beginAnew(this.#bus.isRunning(AVAHI_NAME));
  }

  down(reason: string): void {
    this.#beginAnew(undefined);
    this.#reportStatus('connecting', reason);
  }

  /** The name is always Avahi's, because no other name is watched. */
  ownerChanged(_name: string, isOwned: boolean): void {
    this.#beginAnew(isOwned);
  }

  signal(signal: Signal): void {
    this.#announcer.signal(signal);
    this.#browser.signal(signal);
  }

  /**
   * `state` and `detail` are Avahi's. If the configuration has nodes, discovery is `up` even without Avahi.
   */
  #reportStatus(state: 'connecting' | 'up', detail: string | undefined): void {
    const isAvahiUp = state === 'up';
    const hasConfiguredNodes = this.#configured !== undefined;
    const isUp = isAvahiUp || hasConfiguredNodes;
    // The records must be published before the status `up` (`Publisher` in runtime.ts).
    this.#nodes.setIsUp(isUp);
    const hasOnlyConfiguredNodes = !isAvahiUp && hasConfiguredNodes;
    this.#link.status(
      isUp ? 'up' : 'connecting',
      hasOnlyConfiguredNodes && detail !== undefined
        ? `only the nodes of discovery.nodes: ${detail}`
        : detail,
    );
  }

  async #loadConfigured(
    urls: readonly string[],
    log: OwnerLink['log'],
    clock: Machine['clock'],
  ): Promise<ConfiguredNodes> {
    // The file is loaded only here, because it also loads Node's HTTP client, which few nodes need.
    const { ConfiguredNodes } = await import('./configured-nodes.js');
    return new ConfiguredNodes({ urls, log, clock, onChange: (nodes) => this.#nodes.setConfigured(nodes) });
  }

  /**
   * Lets announcer and browser begin anew, because Avahi forgets their requests when avahi-daemon or the
   * connection ends.
   */
  #beginAnew(isAvahiRunning: boolean | undefined): void {
    this.#isAvahiRunning = isAvahiRunning;
    this.#announcer.beginAnew(isAvahiRunning);
    this.#browser.beginAnew(isAvahiRunning === true);
  }
}

export default bridgeThread<'discovery'>(
  (settings, link) => new Discovery(settings, link, { interfaces: externalInterfaces, clock: systemClock }),
);

/**
 * The interfaces on which Avahi announces.
 * @throws if the system call fails, for instance because no descriptor is free
 */
function externalInterfaces(): NetworkInterfaces {
  const listed = networkInterfaces();
  // An address with a label, such as `eth0:1`, is listed under this label, not under its interface's name.
  const names = new Set(Object.keys(listed).map(withoutLabel));
  return [...names].flatMap((name) => externalInterface(name, listed) ?? []);
}

/** Undefined for an interface on which Avahi does not announce, or that has gone meanwhile. */
function externalInterface(
  name: string,
  listed: ReturnType<typeof networkInterfaces>,
): NetworkInterface | undefined {
  const entries = Object.entries(listed).filter(([listedName]) => withoutLabel(listedName) === name);
  const allAddresses = entries.flatMap(([, infos = []]) => infos);
  const addresses = allAddresses.filter(({ internal }) => !internal);
  if (addresses.length === 0 || !canAnnounceOn(name)) return undefined;
  const index = readNumber(name, 'ifindex');
  return index === undefined ? undefined : { name, index, addresses };
}

/** Flags of an interface (netdevice(7)). */
const POINT_TO_POINT = 0x10;
const MULTICAST = 0x1000;

/**
 * True if the interface has multicast and may have more than one peer. An interface of WireGuard has no
 * multicast. By default Avahi leaves out an interface with a single peer, such as that of OpenVPN.
 */
function canAnnounceOn(name: string): boolean {
  const flags = readNumber(name, 'flags') ?? 0;
  return (flags & MULTICAST) !== 0 && (flags & POINT_TO_POINT) === 0;
}

/** Undefined if the interface has gone meanwhile. */
function readNumber(name: string, file: 'ifindex' | 'flags'): number | undefined {
  try {
    // Flags are written in hexadecimal, such as `0x1003`. `Number` reads this, too.
    return Number(readFileSync(`/sys/class/net/${name}/${file}`, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
