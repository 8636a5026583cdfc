// The table of keys: a row per key of docs/configuration.md, "Keys", in the order of the table.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRow, KEYS, type KeyRow, type KeyTable, pathsIn } from '../../../src/supervisor/config/keys.js';
import { problemsIn } from './full.js';

function rowsIn(table: KeyTable, path = ''): readonly (readonly [string, KeyRow<unknown>])[] {
  return Object.entries(table).flatMap(([name, row]) =>
    isRow(row) ? [[path + name, row] as const] : rowsIn(row, `${path}${name}.`),
  );
}

const ROWS = rowsIn(KEYS);

const EXPECTED: readonly (readonly [string, unknown])[] = [
  ['bind', ['lo']],
  ['logLevel', 'info'],
  ['api.port', 8018],
  ['api.cors.origins', []],
  ['api.hosts', []],
  ['api.sse.enabled', true],
  ['api.sse.maxClients', 256],
  ['api.ui.enabled', true],
  ['api.logs', true],
  ['systemd.enabled', true],
  ['systemd.system', []],
  ['systemd.user', []],
  ['pulseaudio.enabled', true],
  ['pulseaudio.serve_cookie', false],
  ['pulseaudio.volumeLimit', undefined],
  ['pulseaudio.outputs', {}],
  ['power.enabled', false],
  ['power.capabilities.poweroff', false],
  ['power.capabilities.reboot', false],
  ['upgrade.enabled', false],
  ['upgrade.resultFile', undefined],
  ['upgrade.checkUnit', undefined],
  ['upgrade.upgradeUnit', undefined],
  ['upgrade.progressSocket', '/$XDG_RUNTIME_DIR/tonearm/upgrade.sock'],
  ['upgrade.stateFile', '/$XDG_STATE_HOME/tonearm/upgrade-run.json'],
  ['players.enabled', false],
  ['players.fetchCovers', false],
  ['bluetooth.enabled', false],
  ['bluetooth.adapter', undefined],
  ['bluetooth.powerOnStart', false],
  ['bluetooth.pairingTimeout', 60],
  ['bluetooth.scanTimeout', 60],
  ['bluetooth.idleTimeout', 0],
  ['discovery.enabled', false],
  ['discovery.name', 'tonearm on HOSTNAME'],
  ['mqtt.enabled', false],
  ['mqtt.url', undefined],
  ['mqtt.username', undefined],
  ['mqtt.passwordFile', undefined],
  ['mqtt.caFile', undefined],
  ['mqtt.topic', 'tonearm/HOSTNAME'],
  ['mqtt.control', true],
  ['mqtt.homeAssistant', true],
  ['mqtt.homeAssistantPrefix', 'homeassistant'],
];

test('the table has these keys and defaults', () => {
  const environment = {
    env: { XDG_RUNTIME_DIR: '/$XDG_RUNTIME_DIR', XDG_STATE_HOME: '/$XDG_STATE_HOME' },
    home: '',
    hostname: 'HOSTNAME',
    uid: 0,
  };
  const rows = ROWS.map(([key, row]) => [key, row.byDefault(environment)]);
  assert.deepEqual(rows, EXPECTED);
});

// No key takes a number below zero, and no section takes anything but a map: each must notice by its own name.
for (const path of pathsIn(KEYS)) {
  test(`${path} is read`, async () => {
    const names = path.split('.');
    const text = `${names.map((name, depth) => `${' '.repeat(depth)}${name}:`).join('\n')} -7`;
    const place = `a:${names.length}:${names.length + (names.at(-1) ?? '').length + 2}`;
    const [problem = '', ...others] = await problemsIn(text);
    assert.deepEqual(others, []);
    assert.ok(problem.startsWith(`${place}: ${path}: must be `), problem);
    // The value of this key may be the password itself, so it is not shown.
    const end = path === 'mqtt.passwordFile' ? ': it must begin with / or ~/' : ', not -7';
    assert.ok(problem.endsWith(end), problem);
  });
}
