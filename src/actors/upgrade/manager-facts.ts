// What is known of the user's systemd itself. Pure.

import { readProperties } from '../../protocol/dbus/properties.js';
import { MANAGER_PROPERTIES } from '../../protocol/dbus/systemd.js';
import type { PropertyRecord } from '../bus/units.js';

export interface ManagerFacts {
  /** This life of systemd: it is started once, and keeps the time over a reload or a re-execution; '' when it is not known. */
  readonly life: string;
  /** How many jobs, of whatever units, have failed in this life; undefined when that is not known. */
  readonly failedJobs: number | undefined;
}

export function managerFacts(record: PropertyRecord): ManagerFacts {
  const { UserspaceTimestampMonotonic, NFailedJobs } = readProperties(MANAGER_PROPERTIES, record);
  return { life: String(UserspaceTimestampMonotonic ?? ''), failedJobs: NFailedJobs };
}
