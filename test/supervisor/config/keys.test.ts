// Each key of the configuration is checked under its own name, and the output of --check-config loads to the same settings. Keys and
// defaults are compared with docs/configuration.md in docs.test.ts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KEYS, type KeyValues, pathsIn } from '../../../src/supervisor/config/keys.js';
import { effectiveYaml } from '../../../src/supervisor/config/yaml.js';
import { accepted, FULL_YAML, problemsIn } from './full.js';

const { values: DEFAULTS } = await accepted();
const { values: FULL } = await accepted(FULL_YAML);

const EXAMPLE = readFileSync(new URL('../../../../packaging/config.example.yaml', import.meta.url), 'utf8');

/** Uncomments keys: `#` directly before the key, or before the indent of an inner key. */
const uncommented = (text: string): string => text.replace(/^#(?=\S| {2})/gm, '');

test('the packaged example holds the defaults except where it names an example', async () => {
  const lines = EXAMPLE.split('\n').filter((line) => !line.includes('for example'));
  const { values, warnings } = await accepted(uncommented(lines.join('\n')));
  assert.deepEqual({ values, warnings }, { values: DEFAULTS, warnings: [] });
});

test('the packaged example has every key, in an accepted form', async () => {
  const text = uncommented(EXAMPLE);
  assert.deepEqual((await accepted(text)).warnings, []);
  const named = pathsIn(KEYS).map((path) => path.split('.').at(-1));
  const missing = named.filter((name) => !new RegExp(`^ *${name}:`, 'm').test(text));
  assert.deepEqual(missing, []);
});

function returns(name: string, values: KeyValues): void {
  test(`prints and loads again: ${name}`, async () => {
    assert.deepEqual((await accepted(effectiveYaml(values))).values, values);
  });
}

returns('the defaults', DEFAULTS);
returns('every key', FULL);
const ODD_WORDS = 'true null ~ 1 0x10 #a *a " \' \\ \u0085'.split(' ');
for (const odd of [...ODD_WORDS, '- a', 'a: b', ' a ', 'a\nb', 'é'.repeat(200)]) {
  returns(`an address that is ${JSON.stringify(odd.slice(0, 20))}`, {
    ...DEFAULTS,
    systemd: { ...DEFAULTS.systemd, user: [{ name: 'a.service', url: odd }] },
  });
}
for (const path of ['/a b', '/a: b', '/a #b', '/~/x', '/\u0007', '/[x]', "/it's", '/$HOME', '/тест']) {
  returns(`a path that is ${JSON.stringify(path)}`, {
    ...DEFAULTS,
    upgrade: { ...DEFAULTS.upgrade, resultFile: path },
  });
}
for (const name of ['yes', '1', '0', '1e3', '0x5', 'null', 'true']) {
  returns(`an interface that is ${name}`, { ...DEFAULTS, bind: [name] });
}

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
