// Table of the methods, signals, states and errors of org.freedesktop.Avahi in use. Comments name the
// arguments of a method, and after `->` its reply. Data only. Reference: avahi-daemon's own introspection
// files (org.freedesktop.Avahi.Server.xml, .EntryGroup.xml) and avahi-common/defs.h.

import { methodsOf, signalRow } from './method.js';

export const AVAHI_NAME = 'org.freedesktop.Avahi';
export const AVAHI_SERVER = 'org.freedesktop.Avahi.Server';
export const AVAHI_ENTRY_GROUP = 'org.freedesktop.Avahi.EntryGroup';
export const AVAHI_BROWSER = 'org.freedesktop.Avahi.ServiceBrowser';
export const AVAHI_RESOLVER = 'org.freedesktop.Avahi.ServiceResolver';

const server = methodsOf(AVAHI_NAME, '/', AVAHI_SERVER);
/** Called on a group's path. */
const entryGroup = methodsOf(AVAHI_NAME, undefined, AVAHI_ENTRY_GROUP);
/** Called on a resolver's path. */
const resolver = methodsOf(AVAHI_NAME, undefined, AVAHI_RESOLVER);

export const AVAHI_METHODS = {
  /** -> the server's state, which should be `SERVER_RUNNING`. */
  getState: server('GetState', ['', 'i'], 'none'),
  /** Name -> the next name to try for the same service: `NAME #2`, `NAME #3`. */
  getAlternativeServiceName: server('GetAlternativeServiceName', ['s', 's'], 'none'),
  /** -> the path of a group, which lasts as long as both this connection and avahi-daemon. */
  entryGroupNew: server('EntryGroupNew', ['', 'o'], 'announcements'),
  /**
   * Interface index, protocol, flags, name, type, domain, host, port, TXT. An empty host is the default one.
   */
  addService: entryGroup('AddService', ['iiussssqaay', ''], 'announcements'),
  /**
   * Makes avahi-daemon ask whether others have the names of the group's services, and announce them if not.
   */
  commit: entryGroup('Commit', ['', ''], 'announcements'),
  /** Withdraws the services, and ends the group. */
  free: entryGroup('Free', ['', ''], 'announcements'),
  /**
   * Interface index, protocol, type, domain, flags -> the path of a browser, which lasts as long as both this
   * connection and avahi-daemon.
   */
  serviceBrowserNew: server('ServiceBrowserNew', ['iissu', 'o'], 'none'),
  /**
   * Interface index, protocol, name, type, domain, protocol of the address, flags -> the path of a resolver,
   * which lasts as long as a browser.
   */
  serviceResolverNew: server('ServiceResolverNew', ['iisssiu', 'o'], 'none'),
  freeResolver: resolver('Free', ['', ''], 'none'),
} as const;

export const AVAHI_SIGNALS = {
  /** State, error. */
  server: signalRow(AVAHI_SERVER, 'StateChanged', 'is'),
  group: signalRow(AVAHI_ENTRY_GROUP, 'StateChanged', 'is'),
  /** Interface index, protocol, name, type, domain, flags. */
  itemNew: signalRow(AVAHI_BROWSER, 'ItemNew', 'iisssu'),
  itemRemove: signalRow(AVAHI_BROWSER, 'ItemRemove', 'iisssu'),
  browserFailure: signalRow(AVAHI_BROWSER, 'Failure', 's'),
  /**
   * Interface index, protocol, name, type, domain, host, protocol of the address, address, port, TXT, flags.
   * Sent again at each change.
   */
  found: signalRow(AVAHI_RESOLVER, 'Found', 'iissssisqaayu'),
  /** Error. Also sent when the host's records have expired; `found` may follow later. */
  resolverFailure: signalRow(AVAHI_RESOLVER, 'Failure', 's'),
} as const;

/**
 * In any other state of the server, services that were added before are gone, or name a host that is gone.
 */
export const SERVER_RUNNING = 2;

export const GROUP_STATES = { established: 2, collision: 3, failure: 4 } as const;

export const AVAHI_ERRORS = { collision: 'org.freedesktop.Avahi.CollisionError' } as const;

/** A bit in the flags of a found service: this host announces it. */
export const IS_LOCAL = 8;

export const EVERY_INTERFACE = -1;
export const PROTOCOLS = { both: -1, IPv4: 0, IPv6: 1 } as const;
