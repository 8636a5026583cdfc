// The system bus for the discovery bridge only: may have avahi-daemon announce services. In a file of its own, so that the imports
// show who can.

import { systemBusPaths } from './address.js';
import { BusLink, type BusOptions, type BusOwner } from './link.js';

export class AvahiBus extends BusLink<'announcements'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('announcements', systemBusPaths, options, owner);
  }
}
