// The units of the systemd scenarios, and what is to come of each command: a row per line. Data only.

import type { ServiceRecord } from '../../../src/protocol/actor/schemas.js';

export const SLEEP = 'ExecStart=sleep infinity\n';
const INSTALL = '[Install]\nWantedBy=default.target\n';

/** The user's units; the name says what is special about each. */
export const UNITS: Readonly<Record<string, string>> = {
  'plain.service': `[Unit]\nDescription=A plain one\n[Service]\n${SLEEP}${INSTALL}`,
  'marker.service': `[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=true\n`,
  'good-oneshot.service': '[Service]\nType=oneshot\nExecStart=true\n',
  'bad-oneshot.service': '[Service]\nType=oneshot\nExecStart=sh -c "exit 7"\n',
  'missing-binary.service': '[Service]\nExecStart=/nowhere/at-all\n',
  'retried.service': '[Service]\nRestart=on-failure\nRestartSec=1h\nExecStart=/nowhere/at-all\n',
  'lingering.service': '[Service]\nExecStart=/nowhere/at-all\nExecStopPost=sleep infinity\n',
  'lingering-again.service': `[Service]\nRestart=on-failure\nRestartSec=1h\nExecStart=false\nExecStopPost=sleep infinity\n`,
  'crashing.service': '[Service]\nRestart=always\nRestartSec=100ms\nExecStart=false\n',
  // Started when it is deaf.
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
  'aliased.service': `[Service]\n${SLEEP}ExecStop=sleep 1\n[Install]\nAlias=other-name.service\n`,
};

export const ODD_SWAP = 'dev-disk-by\\x2dlabel.swap';
export const USER = [
  ...Object.keys(UNITS).filter(
    (name) => !['tpl@.service', 'unlisted.service', 'real.service', 'aliased.service'].includes(name),
  ),
  'alias.service',
  'other-name.service',
  'secret-alias.service',
  'tpl@kitchen.service',
  'absent.service',
  'late.service',
  'transient.service',
  ODD_SWAP,
];
export const SYSTEM = ['watched.service', 'dbus.service'];
export const LISTS = `{system: [${SYSTEM.join(', ')}], user: [{name: plain.service, url: 'http://here/'}, ${USER.slice(
  1,
)
  .map((name) => `'${name}'`)
  .join(', ')}]}
upgrade: {enabled: true, resultFile: /tmp/none, upgradeUnit: secret.service}`;

export interface Row {
  readonly what: string;
  readonly unit: string;
  readonly verb: string;
  readonly status: number;
  readonly detail?: RegExp;
  /** It fails behind the end of its job. */
  readonly isBehind?: boolean;
  readonly record: Partial<ServiceRecord>;
}

export const STOPPED = { active_state: 'inactive', sub_state: 'dead', running: false } as const;
const RUNNING = { active_state: 'active', sub_state: 'running', running: true } as const;
const FAILED = { active_state: 'failed', running: false } as const;

/** One after another. */
export const ROWS: readonly Row[] = [
  { what: 'a start', unit: 'plain.service', verb: 'start', status: 202, record: RUNNING },
  { what: 'a start of what runs', unit: 'plain.service', verb: 'start', status: 202, record: RUNNING },
  { what: 'a restart', unit: 'plain.service', verb: 'restart', status: 202, record: RUNNING },
  { what: 'a stop', unit: 'plain.service', verb: 'stop', status: 202, record: STOPPED },
  { what: 'a stop of what is stopped', unit: 'plain.service', verb: 'stop', status: 202, record: STOPPED },
  {
    what: 'enable',
    unit: 'plain.service',
    verb: 'enable',
    status: 202,
    record: { ...RUNNING, enabled: true, unit_file_state: 'enabled' },
  },
  {
    what: 'disable',
    unit: 'plain.service',
    verb: 'disable',
    status: 202,
    record: { ...STOPPED, enabled: false, unit_file_state: 'disabled' },
  },
  {
    what: 'enable of a static unit, which only starts it',
    unit: 'static.service',
    verb: 'enable',
    status: 202,
    record: { ...RUNNING, enabled: false, unit_file_state: 'static' },
  },
  {
    what: 'a oneshot that succeeds',
    unit: 'good-oneshot.service',
    verb: 'start',
    status: 202,
    record: STOPPED,
  },
  {
    what: 'a oneshot that fails',
    unit: 'bad-oneshot.service',
    verb: 'start',
    status: 502,
    detail: /failed.*exit-code/,
    record: FAILED,
  },
  {
    what: 'a service without a program',
    unit: 'missing-binary.service',
    verb: 'start',
    status: 502,
    detail: /done.*exit-code/,
    isBehind: true,
    record: FAILED,
  },
  {
    what: 'a crash loop',
    unit: 'crashing.service',
    verb: 'start',
    status: 502,
    detail: /exit-code/,
    isBehind: true,
    record: FAILED,
  },
  { what: 'a deaf service starts', unit: 'deaf.service', verb: 'start', status: 202, record: RUNNING },
  { what: 'a service that ignores SIGTERM', unit: 'deaf.service', verb: 'stop', status: 202, record: FAILED },
  {
    what: 'a condition that is not met',
    unit: 'conditional.service',
    verb: 'start',
    status: 502,
    detail: /condition/,
    record: STOPPED,
  },
  {
    what: 'a dependency that fails',
    unit: 'dependent.service',
    verb: 'start',
    status: 502,
    detail: /dependency/,
    record: STOPPED,
  },
  {
    what: 'a start that takes too long',
    unit: 'slow.service',
    verb: 'start',
    status: 502,
    detail: /timeout/,
    record: FAILED,
  },
  {
    what: 'an alias',
    unit: 'alias.service',
    verb: 'start',
    status: 202,
    record: { ...RUNNING, unit_file_state: 'alias' },
  },
  { what: 'an alias stops', unit: 'alias.service', verb: 'stop', status: 202, record: STOPPED },
  { what: 'an instance', unit: 'tpl@kitchen.service', verb: 'start', status: 202, record: RUNNING },
  { what: 'an instance stops', unit: 'tpl@kitchen.service', verb: 'stop', status: 202, record: STOPPED },
  {
    what: 'a unit that is not there',
    unit: 'absent.service',
    verb: 'start',
    status: 502,
    detail: /not found/,
    record: { exists: false, running: false, enabled: false },
  },
  { what: 'an unlisted unit', unit: 'unlisted.service', verb: 'start', status: 404, record: {} },
  { what: 'an internal unit', unit: 'secret.service', verb: 'start', status: 404, record: {} },
  {
    what: 'an internal unit by another name',
    unit: 'secret-alias.service',
    verb: 'start',
    status: 404,
    record: {},
  },
  { what: 'a bare template', unit: 'tpl@.service', verb: 'start', status: 404, record: {} },
  {
    what: 'a name of 300 characters',
    unit: `${'a'.repeat(292)}.service`,
    verb: 'start',
    status: 404,
    record: {},
  },
];
