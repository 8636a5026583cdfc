// The buses that actors may use: the user's, which can change units or command players, and the system's, which can change nothing.
// They differ by type: a method that mutates does not compile on a SystemBus, and is refused there at run time.

import { systemBusPaths, userBusPaths } from './address.js';
import { BusLink, type BusOptions, type BusOwner } from './link.js';

export type { CallVerdict } from './connection.js';
export type { BusOptions, BusOwner, CallOptions } from './link.js';

/** The user's bus: may call methods that change units. */
export class UserBus extends BusLink<'units'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('units', userBusPaths, options, owner);
  }
}

/** The user's bus for the players actor: may command media players. */
export class PlayersBus extends BusLink<'players'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('players', userBusPaths, options, owner);
  }
}

/** The system's bus: may call methods that change nothing. */
export class SystemBus extends BusLink<'none'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('none', systemBusPaths, options, owner);
  }
}
