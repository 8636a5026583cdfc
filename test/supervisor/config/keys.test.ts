// The table of keys against the contract's: a row per line of section 1, in its order. Documentation is made from this table.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRow, KEYS, type KeyRow, type KeyTable, pathsIn } from '../../../src/supervisor/config/keys.js';
import { resolve } from '../../../src/supervisor/config/resolve.js';
import { ENVIRONMENT } from './full.js';

function rowsIn(table: KeyTable, path = ''): readonly (readonly [string, KeyRow<unknown>])[] {
  return Object.entries(table).flatMap(([name, row]) =>
    isRow(row) ? [[path + name, row] as const] : rowsIn(row, `${path}${name}.`),
  );
}

const ROWS = rowsIn(KEYS);
const SECTIONS = pathsIn(KEYS).filter((path) => !ROWS.some(([key]) => key === path));

const CONTRACT: readonly (readonly [string, string, unknown])[] = [
  ['bind', 'string or list', ['lo']],
  ['logLevel', '`fatal` `error` `warn` `info` `debug` `trace`', 'info'],
  ['api.port', '1..65535', 8018],
  ['api.cors.origins', 'list of origins, `*` allowed', []],
  ['api.hosts', 'list of host names', []],
  ['api.sse.enabled', 'boolean', true],
  ['api.sse.maxClients', '1..10000', 256],
  ['api.ui.enabled', 'boolean', true],
  ['systemd.enabled', 'boolean', true],
  ['systemd.system', 'list of units', []],
  ['systemd.user', 'list of units', []],
  ['pulseaudio.enabled', 'boolean', true],
  ['pulseaudio.serve_cookie', 'boolean', false],
  ['power.enabled', 'boolean', false],
  ['power.capabilities.poweroff', 'boolean', false],
  ['power.capabilities.reboot', 'boolean', false],
  ['upgrade.enabled', 'boolean', false],
  ['upgrade.resultFile', 'absolute path', undefined],
  ['upgrade.checkUnit', 'unit name', undefined],
  ['upgrade.upgradeUnit', 'unit name', undefined],
  ['upgrade.progressSocket', 'absolute path', '$XDG_RUNTIME_DIR/tonearm/upgrade.sock'],
  ['upgrade.stateFile', 'absolute path', '$XDG_STATE_HOME/tonearm/upgrade-run.json'],
  ['players.enabled', 'boolean', false],
  ['discovery.enabled', 'boolean', false],
  ['discovery.name', '1..63 bytes', 'tonearm on HOSTNAME'],
  ['mqtt.enabled', 'boolean', false],
  ['mqtt.url', '`mqtt://` or `mqtts://`', undefined],
  ['mqtt.username', 'string', undefined],
  ['mqtt.passwordFile', 'absolute path', undefined],
  ['mqtt.caFile', 'absolute path', undefined],
  ['mqtt.topic', 'topic without wildcards', 'tonearm/HOSTNAME'],
  ['mqtt.control', 'boolean', true],
  ['mqtt.homeAssistant', 'boolean', true],
  ['mqtt.homeAssistantPrefix', 'topic', 'homeassistant'],
];

test('the table is the contract', () => {
  const rows = ROWS.map(([key, row]) => [key, row.type, row.shownDefault ?? row.byDefault(ENVIRONMENT)]);
  assert.deepEqual(rows, CONTRACT);
});

test('every row has a meaning that fits a cell of a table', () => {
  for (const [key, row] of ROWS) assert.match(row.meaning, /^[^|\n]+$/, key);
});

test('a documented default is the real one with its variable left in', () => {
  const environment = {
    env: { XDG_RUNTIME_DIR: '/$XDG_RUNTIME_DIR', XDG_STATE_HOME: '/$XDG_STATE_HOME' },
    home: '',
    hostname: 'HOSTNAME',
    uid: 0,
  };
  for (const [key, row] of ROWS) {
    if (row.shownDefault === undefined) continue;
    const shown = row.shownDefault.startsWith('$') ? `/${row.shownDefault}` : row.shownDefault;
    assert.equal(row.byDefault(environment), shown, key);
  }
});

test('the sections are those of the keys', () => {
  assert.deepEqual(SECTIONS, [
    'api',
    'api.cors',
    'api.sse',
    'api.ui',
    'systemd',
    'pulseaudio',
    'power',
    'power.capabilities',
    'upgrade',
    'players',
    'discovery',
    'mqtt',
  ]);
});

// No key takes a number below zero, and no section takes anything but a map: each must notice by its own name.
for (const path of pathsIn(KEYS)) {
  test(`${path} is read`, () => {
    const names = path.split('.');
    const text = `${names.map((name, depth) => `${' '.repeat(depth)}${name}:`).join('\n')} -7`;
    const resolved = resolve([{ path: 'c', text }], ENVIRONMENT);
    const place = `c:${names.length}:${names.length + (names.at(-1) ?? '').length + 2}`;
    assert.equal(resolved.ok, false);
    assert.equal(resolved.ok || resolved.problems.length, 1);
    assert.ok(!resolved.ok && resolved.problems[0]?.startsWith(`${place}: ${path}: must be `));
    // What stands there may be the password itself.
    const end = path === 'mqtt.passwordFile' ? ': it must begin with / or ~/' : ', not -7';
    assert.ok(!resolved.ok && resolved.problems[0]?.endsWith(end));
  });
}
