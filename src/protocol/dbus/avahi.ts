// Table of the methods, signals, states and errors of org.freedesktop.Avahi in use. Data only. Reference: avahi-daemon's own
// introspection files (org.freedesktop.Avahi.Server.xml, .EntryGroup.xml) and avahi-common/defs.h.

import { methodsOf, signalRow } from './method.js';

export const AVAHI_NAME = 'org.freedesktop.Avahi';
export const AVAHI_SERVER = 'org.freedesktop.Avahi.Server';
export const AVAHI_ENTRY_GROUP = 'org.freedesktop.Avahi.EntryGroup';

const server = methodsOf(AVAHI_NAME, '/', AVAHI_SERVER);
/** Called on a group's path. */
const entryGroup = methodsOf(AVAHI_NAME, undefined, AVAHI_ENTRY_GROUP);

export const AVAHI_METHODS = {
  /** -> server state; see `SERVER_RUNNING`. */
  getState: server('GetState', ['', 'i'], 'none'),
  /** Name -> another name for the same service, by a common rule: `NAME #2`, `NAME #3`. */
  getAlternativeServiceName: server('GetAlternativeServiceName', ['s', 's'], 'none'),
  /** -> path of a group, which exists as long as this connection and avahi-daemon. */
  entryGroupNew: server('EntryGroupNew', ['', 'o'], 'announcements'),
  /** Interface index, protocol, flags, name, type, domain, host, port, TXT. Empty domain and host select the defaults. */
  addService: entryGroup('AddService', ['iiussssqaay', ''], 'announcements'),
  /** Has the group's services probed for, and announced if nobody else has their name. */
  commit: entryGroup('Commit', ['', ''], 'announcements'),
  /** Withdraws the services, and ends the group. */
  free: entryGroup('Free', ['', ''], 'announcements'),
} as const;

export const AVAHI_SIGNALS = {
  /** State, error. */
  server: signalRow(AVAHI_SERVER, 'StateChanged', 'is'),
  group: signalRow(AVAHI_ENTRY_GROUP, 'StateChanged', 'is'),
} as const;

/** Services that were added in another state than running are gone, or have a host name that is gone. */
export const SERVER_RUNNING = 2;

export const GROUP_STATES = { established: 2, collision: 3, failure: 4 } as const;

export const AVAHI_ERRORS = { collision: 'org.freedesktop.Avahi.CollisionError' } as const;

export const EVERY_INTERFACE = -1;
export const PROTOCOLS = { both: -1, IPv4: 0, IPv6: 1 } as const;
