// The system bus for the power actor only: may ask logind to restart the machine or to switch it off.
// In a file of its own, so that the imports show who can.

import { systemBusPaths } from './address.js';
import { BusLink, type BusOptions, type BusOwner } from './link.js';

export class LogindBus extends BusLink<'power'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('power', systemBusPaths, options, owner);
  }
}
