// Tests that broken or odd YAML throws nothing, and that every problem has a place. Each key refuses a wrong
// value under its own name. The output of --check-config can be loaded again, and has the same values.
// docs.test.ts compares keys and defaults with docs/configuration.md.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { KEYS, type KeyValues, pathsIn } from '../../../src/supervisor/config/keys.js';
import { resolve } from '../../../src/supervisor/config/resolve.js';
import { effectiveYaml } from '../../../src/supervisor/config/yaml.js';
import { configurationOf, DEFAULT_SETTINGS, ENVIRONMENT, FULL_YAML, problemsIn } from './full.js';

/** Declares a test. `yaml` is the text of the file `a`, and `lines` are all problems of this file. */
function testProblems(name: string, yaml: string, ...lines: (string | RegExp)[]): void {
  test(name, async () => {
    const found = await problemsIn(yaml);
    assert.equal(found.length, lines.length, JSON.stringify(found));
    for (const [index, line] of lines.entries()) {
      if (typeof line === 'string') assert.equal(found[index], line);
      else assert.match(found[index] ?? '', line);
    }
  });
}

testProblems('an open flow list is refused', 'a: 1\nb: [1,\n', /^a:3:1: syntax: .*\]/);
testProblems('an open quote is refused', 'bind: "lo\n', /^a:2:1: syntax: Missing closing "quote$/);
testProblems('a tab as indentation is refused', 'api:\n\tport: 1', /^a:2:1: syntax: Tabs are not allowed/);
testProblems('a map on the line of its key needs braces', 'a: b: c', /^a:1:4: syntax: Nested mappings/);
testProblems(
  'an unknown alias is refused',
  'bind: *lo',
  'a:1:7: syntax: the alias "*lo" has no anchor before it',
);
testProblems('a key that is no text is refused', '? [a]\n: 1', /^a:1:3: syntax: .*keys must be strings/);
testProblems(
  'a list as document is refused',
  '- a\n- b',
  'a:1:1: document: must be a map of keys, not a list',
);
testProblems(
  'a word as document is refused',
  '\nbind',
  'a:2:1: document: must be a map of keys, not the text "bind"',
);
testProblems(
  'an alias as document is refused',
  '*x',
  'a:1:1: syntax: the alias "*x" has no anchor before it',
);
testProblems(
  'an alias before its anchor is refused',
  'api: {hosts: [*a, &a one]}',
  'a:1:15: syntax: the alias "*a" has no anchor before it',
);
const TOO_LARGE = 'its aliases or its nesting make it too large';
testProblems('an alias inside its own anchor is refused', 'a: &a {b: *a}', `a:1:1: syntax: ${TOO_LARGE}`);
/** Almost 64 KiB, the most that a file may have (`FILE_MAX_BYTES` in load.ts). */
const MANY_ALIASES = `a: [&x 1${', *x'.repeat(15_000)}]`;
testProblems('thousands of aliases are refused', MANY_ALIASES, `a:1:1: syntax: ${TOO_LARGE}`);
testProblems('a key without a value is refused', '? bind', /^a:1:3: bind: must be .*, not nothing$/);
testProblems('a number as document is refused', '5', 'a:1:1: document: must be a map of keys, not 5');
const SECOND_DOCUMENT = 'a second YAML document in one file is not allowed';
testProblems('two documents are refused', 'bind: lo\n---\nbind: all', `a:2:1: syntax: ${SECOND_DOCUMENT}`);
testProblems(
  'a key that stands twice in one map is refused, at any depth',
  'api:\n  port: 1\n  "port": 2\nbind: lo\napi:\n  hosts: [x]\n',
  'a:3:3: syntax: this key is given twice in one map',
  'a:5:1: syntax: this key is given twice in one map',
);
testProblems(
  'a control character is refused',
  'bind: lo\nlogLevel: \u0002x',
  /^a:2:11: .* U\+0002 is not allowed$/,
);
testProblems(
  'an escape sequence in a comment is refused',
  '# \u001b[31m',
  'a:1:3: syntax: the control character U+001b is not allowed',
);
/** yaml.ts reports at most ten syntax errors of a file (`SYNTAX_PROBLEMS_MAX`). */
const TEN_SYNTAX_ERRORS = Array(10).fill(/^a:1:\d+: syntax: /);
testProblems('garbage makes a bounded number of problems', ']'.repeat(5000), ...TEN_SYNTAX_ERRORS);
testProblems(
  'a syntax error hides the other problems of its file',
  'bind: [\napi: {port: 0}',
  /^a:\d+:\d+: syntax: /,
);

test('rules between keys are not checked while a file is broken', async () => {
  // The rule that upgrade.enabled needs upgrade.resultFile would report a third problem.
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

function testHosts(name: string, yaml: string, hosts: readonly string[], ...warnings: string[]): void {
  test(name, async () => {
    const found = await configurationOf(yaml);
    assert.deepEqual(found.settings, { ...DEFAULT_SETTINGS, api: { ...DEFAULT_SETTINGS.api, hosts } });
    assert.deepEqual(found.warnings, warnings);
  });
}

testHosts('an alias means its anchor', 'api: {hosts: [&a one, two, *a]}', ['one', 'two', 'one']);
testHosts('an alias means the latest anchor of its name', 'api: {hosts: [&a one, &a two, *a]}', [
  'one',
  'two',
  'two',
]);
testHosts('quotes or !!str make a value text', 'api: {hosts: ["1", \'true\', !!str 2]}', ['1', 'true', '2']);
testHosts('yes, no, on and off are words', 'api: {hosts: [yes, no, on, off]}', ['yes', 'no', 'on', 'off']);
testHosts(
  'a file that declares YAML 1.1 is read by the rules of 1.2',
  '%YAML 1.1\n---\napi: {hosts: [yes]}',
  ['yes'],
);
const UNKNOWN_TAG = 'a:1:15: syntax: Unresolved tag: !odd';
testHosts('an unknown tag causes a warning', 'api: {hosts: [!odd one]}', ['one'], UNKNOWN_TAG);

const { values: DEFAULT_VALUES } = await configurationOf();
const { values: FULL_VALUES } = await configurationOf(FULL_YAML);

const EXAMPLE = readFileSync(new URL('../../../../packaging/config.example.yaml', import.meta.url), 'utf8');

/**
 * Removes the `#` directly before a key, and before the indent of an inner key. The `#` of a sentence stays,
 * because exactly one blank follows it.
 */
const uncommented = (text: string): string => text.replace(/^#(?=\S| {2})/gm, '');

test('the values of the packaged example are the defaults, except in lines with "for example"', async () => {
  const lines = EXAMPLE.split('\n').filter((line) => !line.includes('for example'));
  const { values, warnings } = await configurationOf(uncommented(lines.join('\n')));
  assert.deepEqual({ values, warnings }, { values: DEFAULT_VALUES, warnings: [] });
});

test('the packaged example has every key, in an accepted form', async () => {
  const text = uncommented(EXAMPLE);
  assert.deepEqual((await configurationOf(text)).warnings, []);
  // A key counts as present if any section has a key with the same last name.
  const lastNames = pathsIn(KEYS).map((path) => path.split('.').at(-1));
  const missing = lastNames.filter((name) => !new RegExp(`^ *${name}:`, 'm').test(text));
  assert.deepEqual(missing, []);
});

function testLoadsAgain(name: string, values: KeyValues): void {
  test(`--check-config prints ${name} in a form that loads again`, async () => {
    assert.deepEqual((await configurationOf(effectiveYaml(values))).values, values);
  });
}

testLoadsAgain('the defaults', DEFAULT_VALUES);
testLoadsAgain('every key', FULL_VALUES);
const ODD_WORDS = 'true null ~ 1 0x10 #a *a " \' \\ \u0085'.split(' ');
for (const odd of [...ODD_WORDS, '- a', 'a: b', ' a ', 'a\nb', 'é'.repeat(200)]) {
  const systemd = { ...DEFAULT_VALUES.systemd, user: [{ name: 'a.service', url: odd }] };
  testLoadsAgain(`an address that is ${JSON.stringify(odd.slice(0, 20))}`, { ...DEFAULT_VALUES, systemd });
}
for (const path of ['/a b', '/a: b', '/a #b', '/~/x', '/\u0007', '/[x]', "/it's", '/$HOME', '/тест']) {
  const upgrade = { ...DEFAULT_VALUES.upgrade, resultFile: path };
  testLoadsAgain(`a path that is ${JSON.stringify(path)}`, { ...DEFAULT_VALUES, upgrade });
}
for (const name of ['yes', '1', '0', '1e3', '0x5', 'null', 'true'])
  testLoadsAgain(`an interface that is ${name}`, { ...DEFAULT_VALUES, bind: [name] });

// No key takes a negative number, and no section takes a number. Each refuses -7 under its own name.
for (const path of pathsIn(KEYS)) {
  test(`the value -7 is refused under the name ${path}`, async () => {
    const names = path.split('.');
    const lines = names.map((name, depth) => `${' '.repeat(depth)}${name}:`);
    const columnOfValue = (lines.at(-1) ?? '').length + 2;
    const [problem = '', ...others] = await problemsIn(`${lines.join('\n')} -7`);
    assert.deepEqual(others, []);
    assert.ok(problem.startsWith(`a:${lines.length}:${columnOfValue}: ${path}: must be `), problem);
    // Somebody may write the password itself into this key by mistake, so the problem omits the value.
    const end = path === 'mqtt.passwordFile' ? ': it must begin with / or ~/' : ', not -7';
    assert.ok(problem.endsWith(end), problem);
  });
}
