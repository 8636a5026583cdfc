// `node packaging/mutate.mjs [NAMES]`: whether the tests of the pure parts notice when one of them is wrong. Each of their decisions is
// turned round, one at a time, in a copy of the build, and the tests that stand beside it are run: a mutant that they let live shows
// what nobody has asserted. NAMES are parts of the paths in SUBJECTS; none means all (an hour on two cores). Run by hand, changes nothing.
//
// test/mutants.md names those that may live, and why. What is said here is what is not in that table, and what should not be any more.

import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { parseSync } from 'oxc-parser';
import { ending } from './bound-child.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TABLE = join(ROOT, 'test/mutants.md');
/** A mutant may wait for what never comes. The tests of one subject take a second. */
const RUN_MS = 60_000;

/** Below src/: each with its tests, below test/. */
const SUBJECTS = {
  'gateway/trust': ['gateway/trust'],
  'actors/upgrade/run': ['actors/upgrade/run'],
  'supervisor/lifecycle': ['supervisor/lifecycle'],
  'gateway/events/queue': ['gateway/events/queue'],
  'gateway/events/ring': ['gateway/events/ring', 'gateway/events/tombstones'],
  'actors/systemd/commands': ['actors/systemd/verdict'],
  'actors/units/jobs': ['actors/units/jobs'],
  'client/store': ['client/store'],
  'gateway/connection-limits': ['gateway/connection-limits'],
  'actors/mqtt/command-queues': ['actors/mqtt/command-queues'],
  'protocol/pulse/frame': ['protocol/pulse/frame'],
  'protocol/pulse/volume': ['protocol/pulse/volume'],
  'protocol/pulse/pending': ['protocol/pulse/session'],
  'protocol/pulse/session': ['protocol/pulse/session', 'protocol/pulse/subscription'],
};

const OTHER_OPERATORS = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&': ['|'],
  '|': ['&'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
};

/** Replacements of a piece of the source, by the kind of its node: from, to and the text that is put there. */
const MUTATIONS = {
  BinaryExpression: operators,
  LogicalExpression: operators,
  AssignmentExpression: operators,
  IfStatement: ({ test }) => ['true', 'false'].map((word) => [test.start, test.end, word]),
  ConditionalExpression: ({ test }) => ['true', 'false'].map((word) => [test.start, test.end, word]),
  WhileStatement: ({ test }) => [[test.start, test.end, 'false']],
  UnaryExpression: ({ operator, start, argument }) =>
    operator === '!' || operator === '-' ? [[start, argument.start, '']] : [],
  UpdateExpression: ({ operator, prefix, start, end, argument }) => {
    const other = operator === '++' ? '--' : '++';
    return [prefix ? [start, argument.start, other] : [argument.end, end, other]];
  },
  Literal: ({ value, start, end }) => {
    if (typeof value === 'boolean') return [[start, end, String(!value)]];
    if (typeof value === 'number') return [[start, end, String(value + 1)]];
    return typeof value === 'string' && value !== '' ? [[start, end, "''"]] : [];
  },
  ExpressionStatement: ({ start, end }) => [[start, end, ';']],
  ReturnStatement: ({ argument, start }) => (argument === null ? [[start, start + 'return'.length, '']] : []),
};

function operators({ operator, left, right }, source) {
  const at = source.indexOf(operator, left.end);
  if (at < 0 || at > right.start) return [];
  return (OTHER_OPERATORS[operator] ?? []).map((other) => [at, at + operator.length, other]);
}

/** Not decisions: types, imports, messages of errors that only say what is wrong with the program, and the keys of objects. */
const PASSED_OVER = new Set([
  'ImportDeclaration',
  'ThrowStatement',
  'TSTypeAliasDeclaration',
  'TSInterfaceDeclaration',
]);

function mutationsIn(source, path) {
  const found = [];
  const walk = (node, key) => {
    if (Array.isArray(node)) for (const each of node) walk(each, key);
    if (node === null || typeof node !== 'object' || typeof node.type !== 'string') return;
    if (PASSED_OVER.has(node.type) || (node.type.startsWith('TS') && !node.type.endsWith('Expression')))
      return;
    for (const [start, end, text] of MUTATIONS[node.type]?.(node, source) ?? [])
      found.push({ start, end, text });
    for (const [name, child] of Object.entries(node)) {
      const isName = (name === 'key' || name === 'property') && !node.computed;
      if (name !== 'typeAnnotation' && name !== 'typeArguments' && !isName) walk(child, name);
    }
  };
  walk(parseSync(path, source).program);
  return found.map(({ start, end, text }) => {
    const mutant = source.slice(0, start) + text + source.slice(end);
    const line = source.slice(0, start).split('\n').length;
    const from = mutant.lastIndexOf('\n', start - 1) + 1;
    const shown = mutant
      .slice(from, mutant.indexOf('\n', start + text.length))
      .trim()
      .replaceAll(/\s+/g, ' ');
    return { mutant, line, shown };
  });
}

/** Whether all of the tests pass, in the copy of the build. The first that fails decides, and ends them. */
async function pass(copy, tests) {
  for (const test of tests) {
    const args = ['--test-reporter=tap', join(copy, 'test', `${test}.test.js`)];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: RUN_MS,
      killSignal: 'SIGKILL',
    });
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      rest += text;
      if (/^ *not ok /m.test(rest)) child.kill('SIGKILL');
      rest = rest.slice(rest.lastIndexOf('\n') + 1);
    });
    if ((await ending(child)).status !== 0) return false;
  }
  return true;
}

const define = { TONEARM_VERSION: '"0"' };

/** A worker: takes the next mutant until there is none. */
async function judge(copy, name, mutations, live) {
  const path = join(copy, 'src', `${name}.js`);
  const sound = readFileSync(path);
  for (let next = mutations.shift(); next !== undefined; next = mutations.shift()) {
    const { code } = transformSync(next.mutant, { loader: 'ts', target: 'node20', define });
    writeFileSync(path, code);
    if (await pass(copy, SUBJECTS[name])) live.push(next);
  }
  writeFileSync(path, sound);
}

/** The rows of test/mutants.md: file and line, as it is when it is mutated. */
function explained() {
  const rows = readFileSync(TABLE, 'utf8').matchAll(/^\| `([^`]+)` \| `` (.+?) `` \| .+ \|$/gm);
  return [...rows].map(([, file, shown]) => ({ file, shown: shown.replaceAll('\\|', '|') }));
}

async function main(names) {
  const subjects = Object.keys(SUBJECTS).filter(
    (name) => names.length === 0 || names.some((each) => name.includes(each)),
  );
  const table = explained();
  // Beside build/: what is imported from packages is found from there.
  const copies = Array.from({ length: availableParallelism() }, () =>
    mkdtempSync(join(ROOT, 'build-mutants-')),
  );
  let isClean = subjects.length > 0;
  try {
    for (const copy of copies) cpSync(join(ROOT, 'build'), copy, { recursive: true });
    for (const name of subjects) {
      const file = `src/${name}.ts`;
      if (!(await pass(copies[0], SUBJECTS[name])))
        throw new Error(`${file}: its tests fail without a mutation`);
      const mutations = mutationsIn(readFileSync(join(ROOT, file), 'utf8'), file);
      const { length } = mutations;
      const live = [];
      await Promise.all(copies.map((copy) => judge(copy, name, mutations, live)));
      const isExplained = ({ shown }) => table.some((row) => row.file === file && row.shown === shown);
      const surprising = live.filter((each) => !isExplained(each)).sort((a, b) => a.line - b.line);
      const gone = table.filter((row) => row.file === file && !live.some(({ shown }) => shown === row.shown));
      console.log(
        `${file}: ${length} mutants, ${live.length} live, ${surprising.length} of them unexplained`,
      );
      for (const { line, shown } of surprising) console.log(`  ${file}:${line}: ${shown}`);
      for (const { shown } of gone) console.log(`  lives no more: ${shown}`);
      isClean &&= surprising.length === 0 && gone.length === 0;
    }
  } finally {
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  }
  return isClean ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
