// The system's bus for the power actor, and for no other: may ask logind to restart the machine or to switch it off.
// It lies in a file of its own so that a look at the imports shows who can.

import type { BusOptions, BusOwner } from './bus.js';
import { systemBusPaths } from './bus-address.js';
import { BusLink } from './bus-link.js';

export class LogindBus extends BusLink<'power'> {
  readonly kind = 'logind';

  constructor(options: BusOptions, owner: BusOwner) {
    super('power', { paths: () => systemBusPaths(process.env, process.getuid?.() ?? 0), ...options }, owner);
  }
}
