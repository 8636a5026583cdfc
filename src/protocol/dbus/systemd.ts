// Lists the methods, signals, errors and properties of org.freedesktop.systemd1 that the daemon uses. They
// are the same in the system's manager and in a user's manager. Also makes the path of a unit. Pure.
// Reference: org.freedesktop.systemd1(5).

import { getAll, type PropertyTable } from './daemon.js';
import { methodsOf, signalRow } from './method.js';

export const SYSTEMD_NAME = 'org.freedesktop.systemd1';
export const SYSTEMD_PATH = '/org/freedesktop/systemd1';
export const MANAGER_INTERFACE = 'org.freedesktop.systemd1.Manager';
export const UNIT_INTERFACE = 'org.freedesktop.systemd1.Unit';
export const UNITS_PATH = '/org/freedesktop/systemd1/unit';

/**
 * A job with this mode replaces queued jobs that conflict with it, as the jobs of systemctl do by default
 * (StartUnit in org.freedesktop.systemd1(5)).
 */
export const JOB_MODE = 'replace';

const managerMethod = methodsOf(SYSTEMD_NAME, SYSTEMD_PATH, MANAGER_INTERFACE);

/**
 * `methodsOf` (method.ts) explains the form of a row. Comments name the arguments. An arrow (`->`) stands
 * before the reply.
 */
export const SYSTEMD_METHODS = {
  /** A second call on the same connection gives the error `alreadySubscribed`, which is harmless. */
  subscribe: managerMethod('Subscribe', ['', ''], 'none'),
  /**
   * Name -> state of the unit file. The reply is always current. If unit files change, the property
   * `UnitFileState` of a loaded unit still has the old state until `Reload`.
   */
  getUnitFileState: managerMethod('GetUnitFileState', ['s', 's'], 'none'),
  /** Name, mode -> path of the job. */
  startUnit: managerMethod('StartUnit', ['ss', 'o'], 'units'),
  /** Name, mode -> path of the job. */
  stopUnit: managerMethod('StopUnit', ['ss', 'o'], 'units'),
  /** Name, mode -> path of the job. */
  restartUnit: managerMethod('RestartUnit', ['ss', 'o'], 'units'),
  /** Name. systemd forgets the unit's failure and its count of starts. */
  resetFailedUnit: managerMethod('ResetFailedUnit', ['s', ''], 'units'),
  /**
   * Names of files, `runtime`, `force` -> `hasInstall`, changes. With `runtime` the new links last only
   * until the next boot, and with `force` they replace links that exist. `hasInstall` is true if a file has
   * an [Install] section. Each change is (kind, link, target).
   */
  enableUnitFiles: managerMethod('EnableUnitFiles', ['asbb', 'ba(sss)'], 'units'),
  /**
   * Names of files, `runtime` -> changes, each as above. With `runtime` systemd removes only the links that
   * last until the next boot.
   */
  disableUnitFiles: managerMethod('DisableUnitFiles', ['asb', 'a(sss)'], 'units'),
  reload: managerMethod('Reload', ['', ''], 'units'),
  /** This method is called on a unit's path. Its row is explained at `getAll` in daemon.ts. */
  getAll: getAll(SYSTEMD_NAME),
} as const;

export const SYSTEMD_SIGNALS = {
  /** Job id, job path, unit. */
  jobNew: signalRow(MANAGER_INTERFACE, 'JobNew', 'uos'),
  /** Job id, job path, unit, result. */
  jobRemoved: signalRow(MANAGER_INTERFACE, 'JobRemoved', 'uoss'),
  /** Unit, path. */
  unitRemoved: signalRow(MANAGER_INTERFACE, 'UnitRemoved', 'so'),
  unitFilesChanged: signalRow(MANAGER_INTERFACE, 'UnitFilesChanged', ''),
  /** The value is true when systemd begins to read its unit files again, and false when it has finished. */
  reloading: signalRow(MANAGER_INTERFACE, 'Reloading', 'b'),
} as const;

export const SYSTEMD_ERRORS = {
  alreadySubscribed: 'org.freedesktop.systemd1.AlreadySubscribed',
  noSuchUnit: 'org.freedesktop.systemd1.NoSuchUnit',
  /** The answer of `getUnitFileState` if the unit has no file. */
  fileNotFound: 'org.freedesktop.DBus.Error.FileNotFound',
} as const;

/**
 * The only property of `MANAGER_INTERFACE` that the daemon uses: the time at which the manager started, in
 * microseconds of the monotonic clock. A reload or re-execution does not change this time.
 */
export const MANAGER_PROPERTIES = { UserspaceTimestampMonotonic: 't' } as const satisfies PropertyTable;

/**
 * Properties of `UNIT_INTERFACE`. `Job` is the id and the path of a job; id 0 means that there is no job.
 * Times are microseconds since the epoch; 0 means never.
 */
export const UNIT_PROPERTIES = {
  Id: 's',
  Names: 'as',
  Description: 's',
  LoadState: 's',
  ActiveState: 's',
  SubState: 's',
  InvocationID: 'ay',
  Job: '(uo)',
  ConditionResult: 'b',
  ConditionTimestamp: 't',
  StateChangeTimestamp: 't',
  InactiveEnterTimestamp: 't',
  InactiveExitTimestamp: 't',
} as const satisfies PropertyTable;

/**
 * Properties of the interface Service: the result of the last run, how often `Restart=` has started the
 * service again, and the type (`Type=`), such as `oneshot`.
 */
export const SERVICE_PROPERTIES = { Result: 's', NRestarts: 'u', Type: 's' } as const satisfies PropertyTable;

/**
 * The path of a unit's object. Letters of the name stay. A digit stays, too, unless it is the first byte.
 * Every other byte becomes `_` and two hexadecimal digits: `a-1.service` becomes `a_2d1_2eservice`. An empty
 * name becomes `_`.
 */
export function unitPath(name: string): string {
  const escaped = [...new TextEncoder().encode(name)].map((byte, index) => {
    const character = String.fromCharCode(byte);
    const isLetter = /[A-Za-z]/.test(character);
    const isLaterDigit = index > 0 && /\d/.test(character);
    return isLetter || isLaterDigit ? character : `_${byte.toString(16).padStart(2, '0')}`;
  });
  return `${UNITS_PATH}/${escaped.join('') || '_'}`;
}
