// What --check-config prints loads to the same settings, and says what the contract calls things.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Settings } from '../../../src/protocol/actor/settings.js';
import { effectiveYaml, resolve } from '../../../src/supervisor/config/resolve.js';
import { DEFAULT_SETTINGS, ENVIRONMENT, FULL_SETTINGS } from './full.js';

test('the defaults print as the contract names them', () => {
  assert.equal(
    effectiveYaml(DEFAULT_SETTINGS),
    `bind:
  - lo
logLevel: info
api:
  port: 8018
  cors:
    origins: []
  hosts: []
  sse:
    enabled: true
    maxClients: 256
systemd:
  enabled: true
  system: []
  user: []
pulseaudio:
  enabled: true
  serve_cookie: false
power:
  enabled: false
  capabilities:
    poweroff: false
    reboot: false
upgrade:
  enabled: false
  progressSocket: /run/user/1000/tonearm/upgrade.sock
  stateFile: /home/pi/.local/state/tonearm/upgrade-run.json
`,
  );
});

test('a unit is printed with its address, or as its bare name', () => {
  const yaml = effectiveYaml(FULL_SETTINGS);
  assert.match(
    yaml,
    /\n {2}user:\n {4}- mpd\.service\n {4}- name: player@kitchen\.service\n {6}url: http:\/\/kitchen\.lan:6680\n {4}- check\.service\n/,
  );
});

function returns(name: string, settings: Settings): void {
  test(`prints and loads again: ${name}`, () => {
    const resolved = resolve([{ path: 'c', text: effectiveYaml(settings) }], ENVIRONMENT);
    assert.ok(resolved.ok, JSON.stringify(resolved));
    assert.deepEqual(resolved.settings, settings);
  });
}

returns('the defaults', DEFAULT_SETTINGS);
returns('every key', FULL_SETTINGS);
for (const odd of [
  'true',
  'null',
  '~',
  '1',
  '0x10',
  '- a',
  'a: b',
  '#a',
  '*a',
  '"',
  "'",
  '\\',
  ' a ',
  'a\nb',
  '\u0085',
  'é'.repeat(200),
]) {
  returns(`an address that is ${JSON.stringify(odd.slice(0, 20))}`, {
    ...DEFAULT_SETTINGS,
    systemd: { ...DEFAULT_SETTINGS.systemd, user: [{ name: 'a.service', url: odd }] },
  });
}
for (const path of ['/a b', '/a: b', '/a #b', '/~/x', '/\u0007', '/[x]', "/it's", '/$HOME', '/тест']) {
  returns(`a path that is ${JSON.stringify(path)}`, {
    ...DEFAULT_SETTINGS,
    upgrade: { ...DEFAULT_SETTINGS.upgrade, resultFile: path },
  });
}
for (const name of ['yes', '1', '0', '1e3', '.5x', '-', '~', 'null', 'true', 'ä', '{x}', '&a']) {
  returns(`an interface that is ${name}`, { ...DEFAULT_SETTINGS, bind: [name] });
}
