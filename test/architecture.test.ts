// Tests which files may import what, and what no file may contain. The linter (biome.json) checks import
// cycles and the lengths of files and functions. For each rule, a test also shows that the rule refuses a
// source that breaks it.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BOUNDARIES, EDGES, PACKAGES } from './architecture/boundaries.js';
import { RULES, type RuleName } from './architecture/rules.js';
import { type SourceFile, sourceFile } from './architecture/source-file.js';
import { WRITING } from './architecture/writing.js';

// The built file is build/test/architecture.test.js.
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

function readSources(folder: string, ending: RegExp): readonly SourceFile[] {
  return (
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && ending.test(entry.name))
      // Node before 20.12 has only `path`.
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .map((file) => sourceFile(relative(ROOT, file).split(sep).join('/'), readFileSync(file, 'utf8')))
  );
}

const FILES = ['src', 'test', 'bench'].flatMap((folder) => readSources(folder, /\.tsx?$/));

/** The programs of packaging/. Only the rules of WRITING apply to them. */
const PACKAGING = readSources('packaging', /\.[cm]js$/);

const ruleNames = Object.keys(RULES).filter((name): name is RuleName => Object.hasOwn(RULES, name));

describe('the sources', () => {
  for (const name of ruleNames) {
    test(`keep the rule: ${name}`, () => assert.deepEqual(RULES[name](FILES), []));
  }

  for (const [name, rule] of Object.entries(WRITING)) {
    test(`the programs of packaging keep the rule: ${name}`, () => assert.deepEqual(rule(PACKAGING), []));
  }

  test('were found', () => {
    assert.ok(PACKAGING.some(({ path }) => path === 'packaging/test.mjs'));
    assert.ok(FILES.some(({ path }) => path === 'src/main.ts'));
    assert.ok(FILES.some(({ path, imports }) => path.startsWith('src/gateway/') && imports.length > 3));
  });

  test('exist for every row of BOUNDARIES and PACKAGES', () => {
    const boundaryPrefixes = BOUNDARIES.map(({ files }) => files.split('*')[0] ?? '');
    const packagePrefixes = Object.values(PACKAGES).flatMap((row) => row.in);
    const allPrefixes = [...boundaryPrefixes, ...packagePrefixes];
    const unused = allPrefixes.filter((prefix) => !FILES.some(({ path }) => path.startsWith(prefix)));
    assert.deepEqual(unused, []);
  });
});

/** A file with a correct header comment in line 1. The code begins in line 2. */
const headed = (path: string, code: string): SourceFile => sourceFile(path, `// It is a file.\n${code}\n`);

/**
 * Sources that break a rule, and a part of the rule's complaint. `:2:` is the number of the source's first
 * line (`headed`). Some sources are split, such as `${'Of'} a connection`. Otherwise the rule would find the
 * source in this file, too.
 */
const BREACHES: readonly (readonly [rule: RuleName, path: string, source: string, complaint: RegExp])[] = [
  ['boundaries', 'src/protocol/pulse/a.ts', "import { a } from 'node:net';", /:2: may not import node:net/],
  ['boundaries', 'src/protocol/actor/a.ts', "export * from '../pulse/tags.js';", /src\/protocol\/pulse/],
  ['boundaries', 'src/actors/audio/a.ts', "import { A } from '../systemd/a.js';", /src\/actors\/systemd/],
  ['boundaries', 'src/actors/bus/a.ts', "import { A } from '../systemd/a.js';", /src\/actors\/systemd/],
  ['boundaries', 'src/actors/a.ts', "import { A } from './audio/a.js';", /src\/actors\/audio/],
  ['boundaries', 'src/gateway/a.ts', "await import('../actors/a.js');", /src\/actors\/a/],
  ['boundaries', 'src/gateway/a.ts', 'await import(name);', /<computed>/],
  ['boundaries', 'src/supervisor/a.ts', "import type {\n  A,\n} from '../gateway/a.js';", /src\/gateway/],
  ['boundaries', 'src/supervisor/a.ts', "import '../actors/audio/backend.js';", /src\/actors\/audio/],
  ['boundaries', 'src/supervisor/a.ts', "import express from 'express';", /express/],
  ['boundaries', 'src/client/a.ts', "import { A } from '../protocol/actor/schemas.js';", /schemas/],
  ['boundaries', 'src/client/a.ts', "import type { A } from '../gateway/problem.js';", /problem/],
  ['who holds what', 'src/actors/upgrade/a.ts', "import { A } from '../bus/connection.js';", /connection/],
  ['who opens which bus', 'src/actors/systemd/a.ts', "new Bus('power', {}, owner);", /:2: .*power/],
  ['who opens which bus', 'src/actors/power/a.ts', 'new Bus<Effect>(effect, {}, owner);', /:2: .*undefined/],
  ['who opens which bus', 'src/actors/power/a.ts', "class A extends Bus<'power'> {}", /:2: .*undefined/],
  ['packages', 'src/actors/systemd/a.ts', "import { Message } from 'dbus-next';", /dbus-next/],
  ['packages', 'src/actors/audio/a.ts', "import { Check } from 'typebox/schema';", /typebox/],
  ['time at the edges', 'src/protocol/pulse/a.ts', 'const now = Date.now();', /:2: Date\.now/],
  ['time at the edges', 'src/gateway/a.ts', 'const at = new Date().toISOString();', /new Date/],
  ['time at the edges', 'src/gateway/a.ts', 'setTimeout(f, 1);', /setTimeout/],
  ['edges are edges', 'src/host/clock.ts', 'export const clock = 1;', /src\/host\/clock\.ts/],
  ['sentinels stay in the protocol', 'src/actors/audio/a.ts', 'const a = 0xffffffff;', /0xffffffff/],
  ['sentinels stay in the protocol', 'src/actors/audio/a.ts', 'const a = 4_294_967_295;', /4_294/],
  ['sentinels stay in the protocol', 'src/gateway/a.ts', 'const a = -1 >>> 0;', />>> 0/],
  ['only main ends the process', 'src/supervisor/a.ts', 'process.exit(1);', /process\.exit/],
  ['no require and no code from texts', 'src/gateway/a.ts', "const fs = require('node:fs');", /require/],
  ['no state of modules', 'src/gateway/a.ts', 'let count = 0;', /let count/],
  ['no state of modules', 'src/gateway/a.ts', 'const cache = new Map<string, string>();', /cache/],
  ['no switched-off checks', 'src/gateway/a.ts', '// biome-ignore lint/style/useConst: no', /biome-ignore/],
  ['no words of unfinished work', 'src/gateway/a.ts', '// TODO: later', /TODO/],
  ['comments begin with a subject', 'src/gateway/a.ts', `/** ${'Of'} a connection. */`, /:2: .*Of a conn/],
  ['comments begin with a subject', 'src/gateway/a.ts', `/**\n * ${'What'} is kept.\n */`, /What is kept/],
  ['comments use plain verbs', 'test/gateway/a.ts', `/${'/'} A listener is told.`, /:2: .*a state known/],
  ['names', 'src/gateway/utils.ts', '', /does not say/],
  ['literals are written out', 'src/gateway/a.ts', `const a = { ..${'.'}{ b, c } };`, /:2: write it out/],
  ['literals are written out', 'src/gateway/a.ts', `f(..${'.'}[a, b]);`, /:2: write it out/],
  ['literals are written out', 'src/gateway/a.ts', `f(..${'.'}([a, b] as const));`, /:2: write it out/],
  ['literals are written out', 'src/gateway/a.ts', `f(..${'.'}([a] as const).map(b));`, /:2: write it out/],
  ['literals are written out', 'src/gateway/a.ts', `f(..${'.'}[a, b].map(c));`, /:2: write it out/],
  [
    'literals are written out',
    'src/gateway/a.ts',
    `f([..${'.'}[a, ...b].map(c).flat()]);`,
    /:2: write it out/,
  ],
  ['literals are written out', 'src/gateway/a.ts', 'const [a, b] = [c, d];', /:2: write it out/],
  ['literals are written out', 'src/gateway/a.ts', '[this.a, this.b] = [c, d];', /:2: write it out/],
  ['comments end where code ends', 'test/gateway/a.ts', `/** ${'a '.repeat(60)}*/`, /:2: a comment has/],
  ['titles have a subject', 'test/a.test.ts', "test('of a stream');", /:2: a title is a sentence/],
  ['titles have a subject', 'test/a.test.ts', 'describe(`what a stream is`);', /:2: a title/],
  ['measurements are named', 'src/cli/a.ts', `// It takes 3 MB (${'measured'}).`, /:2: name the file/],
  ['state is in classes', 'src/cli/a.ts', 'function f() { let a = 1; return () => a; }', /:2: a returned/],
  ['state is in classes', 'src/cli/a.ts', 'const f = () => { let a; return { b() { a = 1; } }; };', /:2: a/],
  ['names are words of the field', 'src/cli/a.ts', 'const heldRecords = 1;', /:2: heldRecords/],
  ['names are words of the field', 'src/cli/a.ts', 'class A { readonly #wanted = 1; }', /:2: #wanted/],
];

/** Sources that seem to break a rule, but keep it. */
const FINE: readonly (readonly [rule: RuleName, path: string, source: string])[] = [
  ['boundaries', 'src/actors/audio/a.ts', "import { A } from '../backoff.js';\nimport { B } from './b.js';"],
  ['boundaries', 'src/actors/audio/a.ts', "import { A } from '../../protocol/pulse/tags.js';"],
  ['boundaries', 'src/gateway/a.ts', "// import { A } from '../actors/runtime.js';"],
  ['boundaries', 'src/gateway/a.ts', 'const text = "import x from \'../actors/runtime.js\'";'],
  ['boundaries', 'src/main.ts', "import { A } from './gateway/gateway.js';"],
  ['boundaries', 'src/client/a.ts', "import type { A } from '../protocol/actor/schemas.js';"],
  ['who opens which bus', 'src/actors/power/a.ts', "new Bus('power', {}, owner);"],
  ['time at the edges', 'src/gateway/a.ts', '// not Date.now(), which jumps\nconst d = new Date(given);'],
  ['time at the edges', 'src/gateway/a.ts', "const text = 'Date.now()' + /Date.now()/.source;"],
  ['time at the edges', 'src/host/clock.ts', 'Date.now();'],
  ['sentinels stay in the protocol', 'src/protocol/pulse/a.ts', 'const NONE = 0xffffffff;'],
  ['only main ends the process', 'src/main.ts', 'process.exit(0);'],
  ['literals are written out', 'src/gateway/a.ts', 'const [a, ...b] = [...c, d];'],
  ['literals are written out', 'src/gateway/a.ts', 'const a = { ...(b && { c }) };'],
  ['literals are written out', 'src/gateway/a.ts', 'f(...[...a].map(b), ...c.map(b));'],
  ['names are words of the field', 'src/cli/a.ts', "assert.doesNotMatch('held', /told/);"],
  ['names are words of the field', 'src/cli/a.ts', 'const threshold = upheld;'],
  ['titles have a subject', 'test/a.test.ts', "test('offers are listed');"],
  ['state is in classes', 'src/cli/a.ts', 'function f() { const a = 1; return () => a; }'],
  ['state is in classes', 'src/cli/a.ts', 'function f() { let a = 1; return g(() => a); }'],
  ['no state of modules', 'src/gateway/a.ts', 'function f(): void {\n  let count = 0;\n}'],
];

describe('the rules', () => {
  for (const [rule, path, source, complaint] of BREACHES) {
    test(`${rule}: refuses ${JSON.stringify(source.slice(0, 60))} in ${path}`, () =>
      assert.match(RULES[rule]([headed(path, source)]).join('\n'), complaint));
  }

  for (const [rule, path, source] of FINE) {
    test(`${rule}: accepts ${JSON.stringify(source.slice(0, 60))} in ${path}`, () =>
      assert.deepEqual(RULES[rule]([headed(path, source)]), []));
  }

  test('refuse a file without a header', () =>
    assert.equal(RULES.header([sourceFile('src/a.ts', 'export const a = 1;\n')]).length, 1));

  test('refuse a third file that imports uWebSockets.js', () => {
    const importers = ['a', 'b', 'c'].map((name) =>
      headed(`src/gateway/${name}.ts`, "import type { HttpResponse } from 'uWebSockets.js';"),
    );
    assert.deepEqual(RULES.packages(importers.slice(1)), []);
    assert.match(RULES.packages(importers).join(), /more than 2/);
  });

  test('follow imports from main.ts, except imports of types and imports that start another program', () => {
    const codec = headed('src/protocol/pulse/a.ts', '');
    const mainWithGateway = (importLine: string): readonly SourceFile[] => [
      headed('src/main.ts', "import { b } from './gateway/b.js';"),
      headed('src/gateway/b.ts', importLine),
      codec,
    ];
    const rule = RULES['main thread decodes nothing'];
    assert.deepEqual(rule(mainWithGateway("import { a } from '../protocol/pulse/a.js';")), [
      'src/protocol/pulse/a.ts: is in the main thread',
    ]);
    assert.equal(rule(mainWithGateway("await import('../protocol/pulse/a.js');")).length, 1);
    assert.deepEqual(rule(mainWithGateway("import type { a } from '../protocol/pulse/a.js';")), []);

    const mainWithTrace = (importLine: string): readonly SourceFile[] => [
      headed('src/main.ts', importLine),
      headed('src/cli/trace/trace.ts', "import { a } from '../../protocol/pulse/a.js';"),
      codec,
    ];
    assert.equal(rule(mainWithTrace("import { b } from './cli/trace/trace.js';")).length, 1);
    assert.deepEqual(rule(mainWithTrace("await import('./cli/trace/trace.js');")), []);
  });

  test('refuse schemas that are loaded when the main thread starts', () => {
    const mainWithSchemas = (importLine: string): readonly SourceFile[] => [
      headed('src/main.ts', importLine),
      headed('src/protocol/actor/schemas.ts', ''),
    ];
    const rule = RULES['main thread starts without schemas'];
    assert.equal(rule(mainWithSchemas("import { A } from './protocol/actor/schemas.js';")).length, 1);
    assert.deepEqual(rule(mainWithSchemas("await import('./protocol/actor/schemas.js');")), []);
  });

  test('each refuse at least one source of this file', () => {
    const testedByRow = new Set<string>(BREACHES.map(([rule]) => rule));
    const testedWithoutRow = ['header', 'main thread decodes nothing', 'main thread starts without schemas'];
    const untested = ruleNames.filter((name) => !testedByRow.has(name) && !testedWithoutRow.includes(name));
    assert.deepEqual(untested, []);
  });

  test('accept no edge without a reason', () =>
    assert.ok(Object.values(EDGES).every((reason) => reason.length > 0)));
});

describe('reading sources', () => {
  test('replaces comments, strings, templates and regular expressions by blanks, and keeps positions', () => {
    // The braces, quotes and slashes in these parts must not count as code. The expected text has one space
    // for the blanks of each part. Strings keep their quotes, regular expressions keep their slashes, and
    // templates lose their backticks.
    const source = `a('x{') /* { */ + \`{\${b({ c: '}' })}}\` / 2; // }\n/['"{/]/.test(d);`;
    const { code } = sourceFile('src/a.ts', source);
    assert.equal(code.length, source.length);
    const expected = `a(' ') + b({ c: ' ' }) / 2; / /.test(d);`;
    assert.equal(code.replaceAll(/\s+/g, ' '), expected);
  });
});
