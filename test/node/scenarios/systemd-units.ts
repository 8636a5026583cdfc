// The units of the systemd scenarios, and a row for each command with the answer and the record that must
// follow. The file has only data.

import type { ServiceRecord } from '../../../src/protocol/actor/schemas.js';

export const SLEEP = 'ExecStart=sleep infinity\n';
const INSTALL = '[Install]\nWantedBy=default.target\n';

/** The user's units; the name describes what is special about each. */
export const UNITS: Readonly<Record<string, string>> = {
  // Most scenarios start this unit. On a quick machine they start it more often than systemd's limit allows,
  // which is five times in ten seconds.
  'plain.service': `[Unit]\nDescription=A plain one\nStartLimitIntervalSec=0\n[Service]\n${SLEEP}${INSTALL}`,
  'marker.service': `[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=true\n`,
  'good-oneshot.service': '[Service]\nType=oneshot\nExecStart=true\n',
  'bad-oneshot.service': '[Service]\nType=oneshot\nExecStart=sh -c "exit 7"\n',
  'missing-binary.service': '[Service]\nExecStart=/nowhere/at-all\n',
  'retried.service': '[Service]\nRestart=on-failure\nRestartSec=1h\nExecStart=/nowhere/at-all\n',
  'lingering.service': '[Service]\nExecStart=/nowhere/at-all\nExecStopPost=sleep infinity\n',
  'lingering-again.service': `[Service]\nRestart=on-failure\nRestartSec=1h\nExecStart=false\nExecStopPost=sleep infinity\n`,
  'crashing.service': '[Service]\nRestart=always\nRestartSec=100ms\nExecStart=false\n',
  // The unit fails until a test makes the file `mended` in the runtime directory (%t).
  'limited.service': `[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=600\n[Service]\nRestart=on-failure\nRestartSec=100ms\nExecStart=sh -c "test -e %t/mended && exec sleep infinity"\n`,
  // The script runs `trap` before it reports its start. So the unit ignores SIGTERM once it counts as
  // started.
  'deaf.service': `[Service]\nType=notify\nNotifyAccess=all\nTimeoutStopSec=500ms\nExecStart=sh -c "trap '' TERM; systemd-notify --ready; while :; do sleep 0.1; done"\n`,
  'conditional.service': `[Unit]\nConditionPathExists=/nowhere\n[Service]\n${SLEEP}`,
  'dependent.service': `[Unit]\nRequires=bad-oneshot.service\nAfter=bad-oneshot.service\n[Service]\n${SLEEP}`,
  'slow.service': `[Service]\nType=notify\nTimeoutStartSec=500ms\n${SLEEP}`,
  'endless.service': '[Service]\nType=oneshot\nExecStart=sleep infinity\n',
  'static.service': `[Service]\n${SLEEP}`,
  'real.service': `[Service]\n${SLEEP}`,
  'tpl@.service': `[Service]\n${SLEEP}`,
  'secret.service': `[Service]\n${SLEEP}`,
  'unlisted.service': `[Service]\n${SLEEP}`,
  // The stop takes a second. So the unit is still `deactivating` if the answer comes before the stop ends.
  'aliased.service': `[Service]\n${SLEEP}ExecStop=sleep 1\n[Install]\nAlias=other-name.service\n`,
};

/**
 * The user's units in the configuration. The template, real.service and aliased.service are in it only by
 * other names, and unlisted.service is not in it. systemd.ts makes the links alias.service, to real.service,
 * and secret-alias.service, to secret.service.
 */
export const USER_UNITS = [
  ...Object.keys(UNITS).filter(
    (name) => !['tpl@.service', 'unlisted.service', 'real.service', 'aliased.service'].includes(name),
  ),
  'alias.service',
  'other-name.service',
  'secret-alias.service',
  'tpl@kitchen.service',
  'absent.service',
  'late.service',
];
export const SYSTEM_UNITS = ['watched.service', 'dbus.service'];
const WITH_URL = USER_UNITS.map((name) => (name === 'plain.service' ? { name, url: 'http://here/' } : name));
/**
 * The value of the section `systemd`, and on the next line the section `upgrade`. JSON is valid YAML. The
 * upgrade unit is internal: clients neither see nor change it (docs/configuration.md, "Upgrades").
 */
export const CONFIGURED_UNITS = `${JSON.stringify({ system: SYSTEM_UNITS, user: WITH_URL })}
upgrade: {enabled: true, resultFile: /tmp/none, upgradeUnit: secret.service}`;

type ExpectedRecord = Partial<ServiceRecord>;

interface Row {
  /** The case, for the title of the test. */
  readonly what: string;
  readonly unit: string;
  readonly verb: string;
  /** The status of the answer. */
  readonly status: number;
  /** The detail of the answer, if it is a problem. */
  readonly detail?: RegExp;
  /** True if the unit fails after the end of its job. */
  readonly failsAfterJob?: boolean;
  /** Fields that the unit's record must have afterwards. */
  readonly record: ExpectedRecord;
}

export const STOPPED = { active_state: 'inactive', sub_state: 'dead', running: false } as const;
const RUNNING = { active_state: 'active', sub_state: 'running', running: true } as const;
const FAILED = { active_state: 'failed', running: false } as const;
const STATIC = { ...RUNNING, enabled: false, unit_file_state: 'static' };
const ABSENT = { exists: false, running: false, enabled: false };

/** `request`: the verb and the unit; `start x` starts x.service. */
function row(
  what: string,
  request: string,
  status: number,
  record: ExpectedRecord,
  more: Partial<Row> = {},
): Row {
  const [verb = '', name = ''] = request.split(' ');
  return { what, unit: `${name}.service`, verb, status, record, ...more };
}

/** The rows run one after another. Each row begins in the state that the row before has left. */
export const ROWS: readonly Row[] = [
  row('a start', 'start plain', 202, RUNNING),
  row('a start of what runs', 'start plain', 202, RUNNING),
  row('a restart', 'restart plain', 202, RUNNING),
  row('a stop', 'stop plain', 202, STOPPED),
  row('a stop of what is stopped', 'stop plain', 202, STOPPED),
  // `enable` also starts the unit, and `disable` stops it (docs/http-api.md, "Unit routes").
  row('enable', 'enable plain', 202, { ...RUNNING, enabled: true, unit_file_state: 'enabled' }),
  row('disable', 'disable plain', 202, { ...STOPPED, enabled: false, unit_file_state: 'disabled' }),
  row('enable of a static unit, which only starts it', 'enable static', 202, STATIC),
  row('a oneshot that succeeds', 'start good-oneshot', 202, STOPPED),
  row('a oneshot that fails', 'start bad-oneshot', 502, FAILED, { detail: /failed.*exit-code/ }),
  // The detail has the result of the job, `done`, because the failure comes after the end of the job.
  row('a service without a program', 'start missing-binary', 502, FAILED, {
    detail: /done.*exit-code/,
    failsAfterJob: true,
  }),
  row('a crash loop', 'start crashing', 502, FAILED, { detail: /exit-code/, failsAfterJob: true }),
  row('a start of a service that ignores SIGTERM', 'start deaf', 202, RUNNING),
  // The stop succeeds, because systemd kills the service after TimeoutStopSec=. Then the unit is `failed`.
  row('a stop of a service that ignores SIGTERM', 'stop deaf', 202, FAILED),
  row('a condition that is not met', 'start conditional', 502, STOPPED, { detail: /condition/ }),
  row('a dependency that fails', 'start dependent', 502, STOPPED, { detail: /dependency/ }),
  row('a start that takes too long', 'start slow', 502, FAILED, { detail: /timeout/ }),
  row('a start of an alias', 'start alias', 202, { ...RUNNING, unit_file_state: 'alias' }),
  row('a stop of an alias', 'stop alias', 202, STOPPED),
  row('a start of an instance', 'start tpl@kitchen', 202, RUNNING),
  row('a stop of an instance', 'stop tpl@kitchen', 202, STOPPED),
  row('a unit that is not there', 'start absent', 502, ABSENT, { detail: /not found/ }),
  row('an unlisted unit', 'start unlisted', 404, {}),
  row('an internal unit', 'start secret', 404, {}),
  row('an internal unit by another name', 'start secret-alias', 404, {}),
  row('a bare template', 'start tpl@', 404, {}),
  // A unit's name has at most 255 characters.
  row('a name of 300 characters', `start ${'a'.repeat(300 - '.service'.length)}`, 404, {}),
];
