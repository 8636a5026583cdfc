// Lists the methods, signals, states, errors and other constants of org.freedesktop.Avahi that the daemon
// uses. Data only. Reference: avahi-daemon's introspection files (org.freedesktop.Avahi.Server.xml,
// .EntryGroup.xml) and avahi-common/defs.h.

import { methodsOf, signalRow } from './method.js';

export const AVAHI_NAME = 'org.freedesktop.Avahi';
export const AVAHI_SERVER = 'org.freedesktop.Avahi.Server';
export const AVAHI_ENTRY_GROUP = 'org.freedesktop.Avahi.EntryGroup';
export const AVAHI_BROWSER = 'org.freedesktop.Avahi.ServiceBrowser';
export const AVAHI_RESOLVER = 'org.freedesktop.Avahi.ServiceResolver';

const serverMethod = methodsOf(AVAHI_NAME, '/', AVAHI_SERVER);
/** Makes the rows of methods that are called on the path of an entry group. */
const entryGroupMethod = methodsOf(AVAHI_NAME, undefined, AVAHI_ENTRY_GROUP);
/** Makes the rows of methods that are called on the path of a resolver. */
const resolverMethod = methodsOf(AVAHI_NAME, undefined, AVAHI_RESOLVER);

/**
 * `methodsOf` (method.ts) explains the form of a row. Comments name the arguments. An arrow (`->`) stands
 * before the reply.
 */
export const AVAHI_METHODS = {
  /** -> the state of avahi-daemon, such as `SERVER_RUNNING`. */
  getState: serverMethod('GetState', ['', 'i'], 'none'),
  /** Name -> another name for the same service: `NAME #2` for `NAME`, `NAME #3` for `NAME #2`. */
  getAlternativeServiceName: serverMethod('GetAlternativeServiceName', ['s', 's'], 'none'),
  /**
   * -> the path of a new entry group, which is a set of services. The entry group ends if our connection to
   * the bus ends, or if avahi-daemon ends.
   */
  entryGroupNew: serverMethod('EntryGroupNew', ['', 'o'], 'announcements'),
  /**
   * Interface index, protocol, flags, name, type, domain, host, port, TXT. An empty host means this node.
   */
  addService: entryGroupMethod('AddService', ['iiussssqaay', ''], 'announcements'),
  /**
   * avahi-daemon asks on the network whether another host uses the names of the services. If no host does,
   * avahi-daemon announces the services.
   */
  commit: entryGroupMethod('Commit', ['', ''], 'announcements'),
  /** Withdraws the services, and ends the entry group. */
  free: entryGroupMethod('Free', ['', ''], 'announcements'),
  /**
   * Interface index, protocol, type, domain, flags -> the path of a service browser, which finds the services
   * of this type. The service browser ends if our connection to the bus ends, or if avahi-daemon ends.
   */
  serviceBrowserNew: serverMethod('ServiceBrowserNew', ['iissu', 'o'], 'none'),
  /**
   * Interface index, protocol, name, type, domain, protocol of the address, flags -> the path of a resolver.
   * The resolver ends in the same cases as a service browser.
   */
  serviceResolverNew: serverMethod('ServiceResolverNew', ['iisssiu', 'o'], 'none'),
  freeResolver: resolverMethod('Free', ['', ''], 'none'),
} as const;

export const AVAHI_SIGNALS = {
  /** State, error. `groupStateChanged` has the same arguments. */
  serverStateChanged: signalRow(AVAHI_SERVER, 'StateChanged', 'is'),
  groupStateChanged: signalRow(AVAHI_ENTRY_GROUP, 'StateChanged', 'is'),
  /** Interface index, protocol, name, type, domain, flags. `itemRemove` has the same arguments. */
  itemNew: signalRow(AVAHI_BROWSER, 'ItemNew', 'iisssu'),
  itemRemove: signalRow(AVAHI_BROWSER, 'ItemRemove', 'iisssu'),
  browserFailure: signalRow(AVAHI_BROWSER, 'Failure', 's'),
  /**
   * Interface index, protocol, name, type, domain, host, protocol of the address, address, port, TXT, flags.
   * The resolver sends the signal when it has found the service, and after each change of these values.
   */
  found: signalRow(AVAHI_RESOLVER, 'Found', 'iissssisqaayu'),
  /**
   * Error. The resolver has not found the service, or has lost it because the host's records have expired.
   * `found` may follow later.
   */
  resolverFailure: signalRow(AVAHI_RESOLVER, 'Failure', 's'),
} as const;

/**
 * The state in which avahi-daemon can announce services. In any other state, services that were added before
 * are gone, or have a host name that avahi-daemon no longer uses.
 */
export const SERVER_RUNNING = 2;

/** The daemon handles these states of an entry group (`groupStateChanged`). */
export const GROUP_STATES = { established: 2, collision: 3, failure: 4 } as const;

export const AVAHI_ERRORS = {
  collision: 'org.freedesktop.Avahi.CollisionError',
  /** avahi-daemon.conf has `disable-user-service-publishing=yes`, or `disable-publishing=yes`. */
  notPermitted: 'org.freedesktop.Avahi.NotPermittedError',
} as const;

/** This bit in the flags of a found service says that our own host announces the service. */
export const LOCAL_FLAG = 8;

/** The interface index that stands for all interfaces. */
export const EVERY_INTERFACE = -1;
export const PROTOCOLS = { both: -1, IPv4: 0, IPv6: 1 } as const;
