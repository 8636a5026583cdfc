// A manager's signals as calls of what they mean. Pure. UnitNew is not among them: it says nothing that is not told otherwise.

import { PROPERTIES_CHANGED } from '../../protocol/dbus/daemon.js';
import { type Signal, type SignalRow, signalValues } from '../../protocol/dbus/method.js';
import { SYSTEMD_SIGNALS } from '../../protocol/dbus/systemd.js';
import type { PropertyRecord } from '../bus/units.js';

export interface ManagerEvents {
  /** `path` is that of the unit's object. */
  unitChanged(path: string, properties: PropertyRecord): void;
  /** The manager has let go of the unit; given by primary name. */
  unitRemoved(unit: string): void;
  jobRemoved(job: string, result: string): void;
  unitFilesChanged(): void;
  reloading(active: boolean): void;
}

type Tell = (signal: Signal, events: ManagerEvents) => boolean;

function when<V>(row: SignalRow<V>, tell: (events: ManagerEvents, values: V, path: string) => void): Tell {
  return (signal, events) => {
    const values = signalValues(row, signal);
    if (values === undefined) return false;
    tell(events, values, signal.path);
    return true;
  };
}

/** The most frequent first. */
const TELLS: readonly Tell[] = [
  when(PROPERTIES_CHANGED, (events, [, properties], path) => events.unitChanged(path, properties)),
  when(SYSTEMD_SIGNALS.unitRemoved, (events, [unit]) => events.unitRemoved(unit)),
  when(SYSTEMD_SIGNALS.jobRemoved, (events, [, job, , result]) => events.jobRemoved(job, result)),
  when(SYSTEMD_SIGNALS.unitFilesChanged, (events) => events.unitFilesChanged()),
  when(SYSTEMD_SIGNALS.reloading, (events, [active]) => events.reloading(active)),
];

export function tellSignal(signal: Signal, events: ManagerEvents): void {
  TELLS.some((tell) => tell(signal, events));
}
