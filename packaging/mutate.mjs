// `node packaging/mutate.mjs [NAMES]`: whether the tests of the pure parts notice when one of them is wrong. Each of their decisions is
// turned round, one at a time, and the tests that stand beside it are run with it: a mutant that they let live shows what nobody has
// asserted. NAMES are parts of the paths in SUBJECTS; none means all. Run by hand; it changes nothing.
//
// test/mutants.md names those that may live, and why. What is said here is what is not in that table, and what should not be any more.

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { parseSync } from 'oxc-parser';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TABLE = join(ROOT, 'test/mutants.md');
/** Of the tests as they are. A mutant may wait for what never comes, and has so many times as long as they take. */
const RUN_MS = 60_000;
const PATIENCE = 10;
const PATIENCE_LEAST_MS = 2000;

/** Below src/: each with its tests, below test/. */
const SUBJECTS = {
  'gateway/trust': ['gateway/trust'],
  'actors/upgrade/run': ['actors/upgrade/run'],
  'supervisor/lifecycle': ['supervisor/lifecycle'],
  'supervisor/incarnation': ['supervisor/incarnation'],
  'gateway/events/queue': ['gateway/events/queue'],
  'gateway/events/ring': ['gateway/events/ring', 'gateway/events/tombstones', 'gateway/events/hub'],
  'gateway/events/snapshot': ['gateway/events/ring', 'gateway/events/hub'],
  'actors/systemd/commands': ['actors/systemd/verdict'],
  'actors/units/jobs': ['actors/units/jobs'],
  'client/store': ['client/store'],
  'gateway/connection-limits': ['gateway/connection-limits'],
  'actors/mqtt/command-queues': ['actors/mqtt/command-queues'],
  'protocol/pulse/frame': ['protocol/pulse/frame', 'protocol/pulse/condenser'],
  'protocol/pulse/reader': ['protocol/pulse/records', 'protocol/pulse/list-cache', 'protocol/pulse/golden'],
  'protocol/pulse/writer': ['protocol/pulse/commands', 'protocol/pulse/writer'],
  'protocol/pulse/list-cache': ['protocol/pulse/list-cache'],
  'protocol/pulse/property-budget': ['protocol/pulse/records'],
  'protocol/pulse/volume': ['protocol/pulse/volume'],
  'protocol/pulse/pending': ['protocol/pulse/session'],
  'protocol/pulse/session': [
    'protocol/pulse/session',
    'protocol/pulse/subscription',
    'protocol/pulse/commands',
  ],
};

/** Where the rest of a file is no decision, but the doing of it, which is tried on the real node and over real threads. */
const ONLY = {
  'actors/systemd/commands': ['verdictOn'],
  'supervisor/incarnation': ['isPinged', 'pongVerdict'],
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

function mutationsIn(source, path, only) {
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
  const { program } = parseSync(path, source);
  const declared = program.body.map((each) => each.declaration ?? each);
  walk(only === undefined ? program : declared.filter(({ id }) => only.includes(id?.name)));
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

/** A place of `node:test`: its tests run one behind the other, in this process, and the first that fails is thrown. */
function harness() {
  const steps = [];
  const hooks = { beforeEach: [], afterEach: [] };
  const last = (args) => args.findLast((each) => typeof each === 'function');
  const isLeftOut = (args) => args.some((each) => each?.skip);
  const test = (...args) => {
    if (isLeftOut(args)) return;
    steps.push(async () => {
      const afters = [];
      const context = { after: (act) => afters.push(act), diagnostic: () => undefined, test };
      for (const hook of hooks.beforeEach) await hook();
      await last(args)(context);
      for (const act of [...afters, ...hooks.afterEach]) await act();
    });
  };
  const describe = (...args) => (isLeftOut(args) ? undefined : last(args)());
  const offered = { test, it: test, describe, suite: describe };
  for (const name of ['before', 'after']) offered[name] = (act) => steps.push(act);
  for (const name of Object.keys(hooks)) offered[name] = (act) => hooks[name].push(act);
  return {
    offered,
    run: async () => {
      for (const step of steps) await step();
    },
  };
}

/** Throws what the first failing test throws, with `mutant` in place of the subject's source. */
async function passThrough(name, mutant) {
  const replaced = join(ROOT, `src/${name}.ts`);
  const inPlace = {
    name: 'in-place',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.ts$/ }, ({ path }) =>
        path === replaced ? { contents: mutant, loader: 'ts' } : undefined,
      ),
  };
  const from = createRequire(import.meta.url);
  for (const test of SUBJECTS[name]) {
    const url = JSON.stringify(pathToFileURL(join(ROOT, `build/test/${test}.test.js`)));
    const { outputFiles } = await build({
      entryPoints: [join(ROOT, `test/${test}.test.ts`)],
      ...{
        bundle: true,
        write: false,
        format: 'cjs',
        platform: 'node',
        packages: 'external',
        logLevel: 'silent',
      },
      define: { TONEARM_VERSION: '"0"', 'import.meta.url': url },
      plugins: [inPlace],
    });
    const { offered, run } = harness();
    const load = new Function('require', 'module', 'exports', outputFiles[0].text);
    load((id) => (id === 'node:test' ? offered : from(id)), { exports: {} }, {});
    await run();
  }
}

/** In a process of its own, since a mutant may never end: answers each with why it is dead, or with nothing. */
function serve() {
  process.on('disconnect', () => process.exit());
  process.on('unhandledRejection', () => undefined);
  process.on('uncaughtException', () => undefined);
  process.on('message', async ({ name, mutant }) => {
    const why = await passThrough(name, mutant).then(
      () => '',
      (error) => String(error?.message ?? error) || 'it failed',
    );
    process.send(why);
  });
}

class Judge {
  #child;
  #withinMs;

  constructor(withinMs) {
    this.#withinMs = withinMs;
  }

  /** Why the mutant is dead; '' for one that lives. */
  judge(name, mutant) {
    this.#child ??= fork(fileURLToPath(import.meta.url), ['--serve'], { stdio: 'ignore' });
    const child = this.#child;
    return new Promise((resolve) => {
      const settle = (why) => {
        clearTimeout(late);
        child.off('message', settle).off('exit', ended);
        resolve(why);
      };
      const ended = () => {
        this.#child = undefined;
        settle('it ended the process');
      };
      const late = setTimeout(() => child.kill('SIGKILL'), this.#withinMs);
      child.on('message', settle).on('exit', ended);
      child.send({ name, mutant });
    });
  }

  end() {
    this.#child?.kill();
  }
}

/** Takes the next mutant until there is none. */
async function work(name, mutations, live, withinMs) {
  const judge = new Judge(withinMs);
  for (let next = mutations.shift(); next !== undefined; next = mutations.shift()) {
    if ((await judge.judge(name, next.mutant)) === '') live.push(next);
  }
  judge.end();
}

/** The rows of test/mutants.md: file and line, as it is when it is mutated. */
function explained() {
  const rows = [...readFileSync(TABLE, 'utf8').matchAll(/^\| `([^`]+)` \| (.+``) \| .+ \|$/gm)];
  return rows.flatMap(([, file, lines]) =>
    [...lines.matchAll(/`` (.+?) ``/g)].map(([, shown]) => ({ file, shown: shown.replaceAll('\\|', '|') })),
  );
}

async function main(names) {
  const subjects = Object.keys(SUBJECTS).filter(
    (name) => names.length === 0 || names.some((each) => name.includes(each)),
  );
  const table = explained();
  let isClean = subjects.length > 0;
  for (const name of subjects) {
    const file = `src/${name}.ts`;
    const source = readFileSync(join(ROOT, file), 'utf8');
    const unharmed = new Judge(RUN_MS);
    const begun = performance.now();
    const why = await unharmed.judge(name, source);
    const withinMs = Math.max(PATIENCE_LEAST_MS, PATIENCE * (performance.now() - begun));
    unharmed.end();
    if (why !== '') {
      console.log(`${file}: its tests fail without a mutation: ${why}`);
      isClean = false;
      continue;
    }
    const mutations = mutationsIn(source, file, ONLY[name]);
    const { length } = mutations;
    const live = [];
    const works = Array.from({ length: availableParallelism() }, () => work(name, mutations, live, withinMs));
    await Promise.all(works);
    const isExplained = ({ shown }) => table.some((row) => row.file === file && row.shown === shown);
    const surprising = live.filter((each) => !isExplained(each)).sort((a, b) => a.line - b.line);
    const gone = table.filter((row) => row.file === file && !live.some(({ shown }) => shown === row.shown));
    console.log(`${file}: ${length} mutants, ${live.length} live, ${surprising.length} of them unexplained`);
    for (const { line, shown } of surprising) console.log(`  ${file}:${line}: ${shown}`);
    for (const { shown } of gone) console.log(`  lives no more: ${shown}`);
    isClean &&= surprising.length === 0 && gone.length === 0;
  }
  return isClean ? 0 : 1;
}

if (process.argv[2] === '--serve') serve();
else process.exitCode = await main(process.argv.slice(2));
