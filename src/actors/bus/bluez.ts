// The system bus for the Bluetooth actor only: may command BlueZ. In a file of its own, so that the imports show who can.

import { systemBusPaths } from './address.js';
import { BusLink, type BusOptions, type BusOwner } from './link.js';

export class BluezBus extends BusLink<'bluetooth'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('bluetooth', systemBusPaths, options, owner);
  }
}
