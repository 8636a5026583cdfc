// The system bus for the discovery bridge only: may have avahi-daemon announce services. In a file of its own, so that the imports
// show who can.

import { AVAHI_NAME } from '../../protocol/dbus/avahi.js';
import { systemBusPaths } from './address.js';
import { BusLink, type BusOptions, type BusOwner } from './link.js';

export class AvahiBus extends BusLink<'announcements'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('announcements', systemBusPaths, options, owner);
  }

  /** Has signals of these interfaces come to the owner. True if avahi-daemon runs. */
  async follow(interfaces: readonly string[]): Promise<boolean> {
    const watched = interfaces.map((iface) => this.watch({ sender: AVAHI_NAME, interface: iface }));
    if (!(await Promise.all(watched)).every(({ ok }) => ok))
      throw new Error('avahi-daemon cannot be watched');
    return this.isRunning(AVAHI_NAME);
  }
}
