// The system's bus for the power actor, and for no other: may ask logind to restart the machine or to switch it off.
// It lies in a file of its own so that a look at the imports shows who can.

import { systemBusPaths } from './address.js';
import { BusLink, type BusOptions, type BusOwner } from './link.js';

export class LogindBus extends BusLink<'power'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('power', systemBusPaths, options, owner);
  }
}
