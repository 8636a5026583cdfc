// The buses that actors may have: the user's, which can change units, and the system's, which can change nothing.
// The two are told apart by type: a method that mutates does not compile on a SystemBus, and is refused there at run time.

import { systemBusPaths, userBusPaths } from './bus-address.js';
import { BusLink, type BusOwner, type BusSettings } from './bus-link.js';

export type { BusOwner, CallOptions } from './bus-link.js';
export type { BusError, Outcome } from './bus-outcome.js';

/** What an actor brings along; the addresses come from the process's environment unless given. */
export type BusOptions = Omit<BusSettings, 'paths'> & Partial<Pick<BusSettings, 'paths'>>;

/** The user's bus: may call methods that change units. */
export class UserBus extends BusLink<'units'> {
  readonly kind = 'user';

  constructor(options: BusOptions, owner: BusOwner) {
    super('units', { paths: () => userBusPaths(process.env, userId()), ...options }, owner);
  }
}

/** The system's bus: may call methods that change nothing. */
export class SystemBus extends BusLink<'none'> {
  readonly kind = 'system';

  constructor(options: BusOptions, owner: BusOwner) {
    super('none', { paths: () => systemBusPaths(process.env, userId()), ...options }, owner);
  }
}

function userId(): number {
  return process.getuid?.() ?? 0;
}
