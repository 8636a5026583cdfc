// The system's bus for the discovery bridge, and for no other: may have avahi-daemon announce services. It lies in a file of its own so
// that a look at the imports shows who can.

import { systemBusPaths } from './address.js';
import { BusLink, type BusOptions, type BusOwner } from './link.js';

export class AvahiBus extends BusLink<'announcements'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('announcements', systemBusPaths, options, owner);
  }
}
