// The system bus for the discovery bridge only: may have avahi-daemon announce services. In a file of its own, so that the imports
// show who can.

import { AVAHI_NAME } from '../../protocol/dbus/avahi.js';
import { systemBusPaths } from './address.js';
import { BusLink, type BusOptions, type BusOwner } from './link.js';

export class AvahiBus extends BusLink<'announcements'> {
  constructor(options: BusOptions, owner: BusOwner) {
    super('announcements', systemBusPaths, options, owner);
  }

  /** Has signals of these interfaces come to the owner: of all members, or only of one. True if avahi-daemon runs. */
  async follow(interfaces: readonly string[], member?: string): Promise<boolean> {
    const rules = interfaces.map((iface) => ({ sender: AVAHI_NAME, interface: iface }));
    const watched = await Promise.all(
      rules.map((rule) => this.watch(member === undefined ? rule : { ...rule, member })),
    );
    if (!watched.every(({ ok }) => ok)) throw new Error('avahi-daemon cannot be watched');
    return this.isRunning(AVAHI_NAME);
  }
}
