// YAML that is broken or odd, a row each: nothing throws, and every problem has a place; each key is checked
// under its own name; and the output of --check-config loads to the same settings. Keys and defaults are
// compared with docs/configuration.md in docs.test.ts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KEYS, type KeyValues, pathsIn } from '../../../src/supervisor/config/keys.js';
import { resolve } from '../../../src/supervisor/config/resolve.js';
import { effectiveYaml } from '../../../src/supervisor/config/yaml.js';
import { accepted, DEFAULT_SETTINGS, ENVIRONMENT, FULL_YAML, problemsIn } from './full.js';

function problems(name: string, yaml: string, ...lines: (string | RegExp)[]): void {
  test(name, async () => {
    const found = await problemsIn(yaml);
    assert.equal(found.length, lines.length, JSON.stringify(found));
    for (const [index, line] of lines.entries()) {
      if (typeof line === 'string') assert.equal(found[index], line);
      else assert.match(found[index] ?? '', line);
    }
  });
}

problems('an open flow list', 'a: 1\nb: [1,\n', /^a:3:1: syntax: .*\]/);
problems('an open quote', 'bind: "lo\n', /^a:2:1: syntax: Missing closing "quote$/);
problems('a tab as indentation', 'api:\n\tport: 1', /^a:2:1: syntax: Tabs are not allowed/);
problems('a map inside a line', 'a: b: c', /^a:1:4: syntax: Nested mappings/);
problems('an unknown alias', 'bind: *lo', 'a:1:7: syntax: the alias "*lo" has no anchor before it');
problems('a key that is no text', '? [a]\n: 1', /^a:1:3: syntax: .*keys must be strings/);
problems('a list as document', '- a\n- b', 'a:1:1: document: must be a map of keys, not a list');
problems('a word as document', '\nbind', 'a:2:1: document: must be a map of keys, not the text "bind"');
problems('an alias as document', '*x', 'a:1:1: syntax: the alias "*x" has no anchor before it');
const TOO_LARGE = 'its aliases or its nesting make it too large';
problems('an alias in itself', 'a: &a {b: *a}', `a:1:1: syntax: ${TOO_LARGE}`);
problems('a key without a value', '? bind', /^a:1:3: bind: must be .*, not nothing$/);
problems('a number as document', '5', 'a:1:1: document: must be a map of keys, not 5');
const SECOND = 'a second YAML document in one file is not allowed';
problems('two documents', 'bind: lo\n---\nbind: all', `a:2:1: syntax: ${SECOND}`);
problems(
  'keys that are given twice, at any depth',
  'api:\n  port: 1\n  "port": 2\nbind: lo\napi:\n  hosts: [x]\n',
  'a:3:3: syntax: this key is given twice in one map',
  'a:5:1: syntax: this key is given twice in one map',
);
problems('a control character', 'bind: lo\nlogLevel: \u0002x', /^a:2:11: .* U\+0002 is not allowed$/);
problems('an escape sequence', '# \u001b[31m', 'a:1:3: syntax: the control character U+001b is not allowed');
const TEN = Array(10).fill(/^a:1:\d+: syntax: /);
problems('garbage makes a bounded number of problems', ']'.repeat(5000), ...TEN);
problems('a syntax error hides no more than its own file', 'bind: [\napi: {port: 0}', /^a:\d+:\d+: syntax: /);

test('a broken file does not make the others be judged without it', async () => {
  const found = await problemsIn('upgrade: {enabled: true}\nbind: lo\nbind: lo', 'upgrade: {resultFile: /x');
  assert.equal(found.length, 2);
  assert.equal(found[0], 'a:3:1: syntax: this key is given twice in one map');
  assert.match(found[1] ?? '', /^b:1:\d+: syntax: /);
});

test('a line break in a file name does not break the line of the error', async () => {
  const resolved = await resolve([{ path: 'a\nb', text: 'bind: []' }], ENVIRONMENT);
  assert.deepEqual(resolved.ok ? [] : resolved.error.problems, [
    'a\\u{a}b:1:7: bind: must not be an empty list',
  ]);
});

// Anchors, tags, versions.

function means(name: string, yaml: string, hosts: readonly string[], ...warnings: string[]): void {
  test(name, async () => {
    const found = await accepted(yaml);
    assert.deepEqual(found.settings, { ...DEFAULT_SETTINGS, api: { ...DEFAULT_SETTINGS.api, hosts } });
    assert.deepEqual(found.warnings, warnings);
  });
}

means('an alias means its anchor', 'api: {hosts: [&a one, two, *a]}', ['one', 'two', 'one']);
means('an alias means the latest anchor', 'api: {hosts: [&a one, &a two, *a]}', ['one', 'two', 'two']);
means('quoting makes text of anything', 'api: {hosts: ["1", \'true\', !!str 2]}', ['1', 'true', '2']);
means('yes, no, on and off are words', 'api: {hosts: [yes, no, on, off]}', ['yes', 'no', 'on', 'off']);
means('the rules of YAML 1.2 hold for 1.1 too', '%YAML 1.1\n---\napi: {hosts: [yes]}', ['yes']);
const UNKNOWN = 'a:1:15: syntax: Unresolved tag: !odd';
means('an unknown tag is a warning', 'api: {hosts: [!odd one]}', ['one'], UNKNOWN);

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
  const systemd = { ...DEFAULTS.systemd, user: [{ name: 'a.service', url: odd }] };
  returns(`an address that is ${JSON.stringify(odd.slice(0, 20))}`, { ...DEFAULTS, systemd });
}
for (const path of ['/a b', '/a: b', '/a #b', '/~/x', '/\u0007', '/[x]', "/it's", '/$HOME', '/тест']) {
  const upgrade = { ...DEFAULTS.upgrade, resultFile: path };
  returns(`a path that is ${JSON.stringify(path)}`, { ...DEFAULTS, upgrade });
}
for (const name of ['yes', '1', '0', '1e3', '0x5', 'null', 'true'])
  returns(`an interface that is ${name}`, { ...DEFAULTS, bind: [name] });

// No key takes a number below zero, and no section takes anything but a map: each must notice by its own
// name.
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
