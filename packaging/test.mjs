// `npm test [-- [--debian13] [--coverage] [--scenario NAME] PATTERNS]`: everything that is checked, in one command, the quick steps first. The
// first step that fails ends it, with its output. Patterns are parts of test file names; they limit the tests, and leave out the
// second Node and the second Debian. With --debian13 the tests run on that Debian, and only there. With --scenario only those
// tests run whose name, or whose suite's, contains NAME: of the booted node, where no pattern says otherwise.
//
// With --coverage it is told how many of the branches of each folder the tests have taken, in their own processes and threads: not in the
// bundles, which some of them start. That takes three times as long.
//
// In a run of everything, a file that runs real programs and fails is run once more, on its own, and is named at the end: those programs
// have faults of their own, which come once in hundreds of runs (CONTRIBUTING.md, "A test that fails now and then").
//
// `npm run soak [-- MINUTES [PATTERNS]]`: what may leave nothing behind (test/leaks) at full size, then the seeded tests
// (test/seeded-random.ts) again and again, each time on another seed, and with every fault of the table (test/node/faults/table.ts)
// where the minutes are enough for those.
//
// A test that cannot run here says why in one line. With CI=true or TONEARM_REQUIRE_ALL=1 that is a failure.

import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ending } from './bound-child.mjs';
import { debian13, insideDebian13 } from './debian13.mjs';
import { openRunDirectory } from './leftovers.mjs';
import { node22 } from './node22.mjs';
import { ensure } from './setup.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BIN = join(ROOT, 'node_modules/.bin');
const REPORTER = join(ROOT, 'packaging/reporter.mjs');
const REQUIRE_ALL = process.env.CI === 'true' || process.env.TONEARM_REQUIRE_ALL === '1';

const STEP_DEADLINE_MS = 25 * 60_000;
/** All faults of the table take twelve minutes on a quiet machine. */
const SOAK_DEADLINE_MS = 24 * 60_000;
/** The scenarios of the booted node are one file: two minutes, five on a busy machine. */
const TEST_DEADLINE_MS = process.env.TONEARM_FAULTS ? SOAK_DEADLINE_MS : 10 * 60_000;
/** Test files mostly wait for other processes, so more of them than cores run at once; fixed, so that a run can be repeated. */
const CONCURRENCY = 4;
const OTHER_NODE = 22;
/** More files that fail in one step are no accident. */
const SECOND_CHANCES = 3;
const SOAK_MINUTES = 10;
/** How a compiled test file says that it is seeded. */
const IMPORTS_SEED = /^import \{[^}]*\bSEED\b[^}]*\} from ".*\/seeded-random\.js";$/m;
/** Below test/: what needs a system around it. The rest depends on nothing but Node. */
const SYSTEM_TESTS = /^(browser|contract|node|packaging|sound|tools)\b/;
/** Below test/: those that boot a node, which they do from outside of a Debian, over its root. */
const BOOTING_TESTS = /^(node\/node|node\/faults\/faults|packaging\/installed-(node|forms|page))\.test\.js$/;
/** Below test/: those that are larger in a soak. */
const LEAK_TESTS = /^leaks\b/;
/**
 * Not run on Debian 13: both Debians have the same Chromium, pavucontrol would bring all of GTK there, npm 9.2 is asked for by name on
 * one of them, and npm and ARM are what they are.
 */
const ONE_DEBIAN_TESTS =
  /^(browser\b|contract\/trace-pavucontrol|tools\/fresh-checkout|packaging\/(arm|client-package))/;

class StepFailed extends Error {
  /** All that the command printed. */
  output = '';
  /** The test files that have not passed, where nothing else is amiss with the run. */
  files = [];
}

/** What was run again. */
const failedOnce = [];

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

/** Runs a command; resolves with all it printed. Its output is shown as it comes when `live`, else only when it fails. */
async function command(file, args, { env = {}, live = false } = {}) {
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: STEP_DEADLINE_MS,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
      if (live) process.stdout.write(text);
    });
  }
  const closed = new Promise((resolve) => child.once('close', resolve));
  const { status, reason } = await ending(child);
  if (status !== 127) await closed;
  if (status !== 0) {
    const failed = new StepFailed(live ? reason : `${output.trimEnd()}\n${reason}`);
    throw Object.assign(failed, { output });
  }
  return output;
}

/** Compiled test files, as paths from the project's root. */
function testFiles() {
  return readdirSync(join(ROOT, 'build/test'), { recursive: true })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join('build/test', name))
    .sort();
}

/** What Node's pattern of names would not take for the letter. */
const literally = (name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

const isOf = (kind, file) => kind.test(relative('build/test', file));

function matching(files, patterns) {
  if (patterns.length === 0) return files;
  const wanted = patterns.map((pattern) => pattern.replace(/^\.?\/?(test\/)?/, '').replace(/\.ts$/, '.js'));
  return files.filter((file) => wanted.some((part) => relative('build/test', file).includes(part)));
}

/**
 * Runs test files and refuses what they leave behind, and in CI what they leave out.
 * @param {{ command: string[], place: string, env?: Record<string, string>, coverage?: boolean, deadlineMs?: number }} runner `command`
 *   runs Node with the arguments that follow; `place` is named with each failure; `coverage`: the branches taken are told; no file may take
 *   longer than `deadlineMs`.
 * @param {string} [scenario] only tests, and suites, whose name contains it
 */
async function runTests(runner, files, scenario) {
  const {
    command: [file, ...before],
    place,
    env = {},
    coverage = false,
    deadlineMs = TEST_DEADLINE_MS,
  } = runner;
  if (files.length === 0) throw new StepFailed('no test file matches');
  const run = openRunDirectory();
  const options = [
    '--test',
    `--test-concurrency=${CONCURRENCY}`,
    `--test-timeout=${deadlineMs}`,
    `--test-reporter=${REPORTER}`,
    '--enable-source-maps',
    `--import=${join(ROOT, 'packaging/passed-file.mjs')}`,
    ...(coverage ? ['--experimental-test-coverage'] : []),
    ...(scenario === undefined ? [] : [`--test-name-pattern=${literally(scenario)}`]),
  ];
  const passed = join(run.directory, 'passed');
  writeFileSync(passed, '');
  const marked = {
    TMPDIR: run.directory,
    TONEARM_PASSED_FILES: passed,
    TONEARM_REQUIRE_ALL: REQUIRE_ALL ? '1' : '',
    TONEARM_TESTED_ON: place,
  };
  let failure;
  let leftovers;
  let names;
  let output;
  try {
    output = await command(file, [...before, ...options, ...files], {
      env: { ...env, ...marked },
      live: true,
    });
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    failure = error;
    output = error.output;
  } finally {
    names = readFileSync(passed, 'utf8').split('\n');
    rmSync(passed);
    leftovers = await run.close();
    for (const line of leftovers) console.log(`left behind - ${line}`);
  }
  const skipped = Number(/^# skipped (\d+)$/m.exec(output)?.[1] ?? 0);
  const isIncomplete = REQUIRE_ALL && skipped > 0;
  if (failure !== undefined) {
    if (leftovers.length === 0 && !isIncomplete)
      failure.files = files.filter((name) => !names.includes(join(ROOT, name)));
    throw failure;
  }
  if (leftovers.length > 0) throw new StepFailed('the tests left something behind');
  if (scenario !== undefined) {
    if (/^# pass 0$/m.test(output)) throw new StepFailed(`nothing has run that is called '${scenario}'`);
    return;
  }
  if (isIncomplete) throw new StepFailed(`${skipped} skipped, and here nothing may be`);
}

/** All of these files, and once more those that run real programs and failed. */
async function runAll(runner, files) {
  try {
    await runTests(runner, files);
  } catch (error) {
    const again = error instanceof StepFailed ? error.files : [];
    const isAccident = again.length > 0 && again.length <= SECOND_CHANCES;
    if (!isAccident || !again.every((file) => isOf(SYSTEM_TESTS, file))) throw error;
    console.log(`# failed on ${runner.place}, and run again on their own: ${again.join(' ')}`);
    failedOnce.push(...again);
    await runTests(runner, again);
  }
}

/** What stands in the way of a step: a remark for its line, but in CI a failure. */
function unavailable(trouble) {
  if (REQUIRE_ALL) throw new StepFailed(trouble);
  return `skipped: ${trouble}`;
}

async function secondNode() {
  const current = Number(process.versions.node.split('.')[0]);
  if (current === OTHER_NODE) return `this is Node ${OTHER_NODE} already`;
  const found = node22(ROOT);
  if (found.trouble !== undefined) return unavailable(found.trouble);
  await runAll(
    { command: [found.node], place: `Node ${OTHER_NODE}` },
    testFiles().filter((file) => !isOf(SYSTEM_TESTS, file)),
  );
  return undefined;
}

/** With Debian 13's own Node and sound servers; then, over its root, what boots a node. */
async function secondDebian(patterns, scenario, run = runTests) {
  const made = debian13();
  if (made.trouble !== undefined) return unavailable(made.trouble);
  const files = matching(testFiles(), patterns).filter((file) => !isOf(ONE_DEBIAN_TESTS, file));
  if (files.length === 0) throw new StepFailed('no test file matches');
  const place = 'Debian 13';
  const inside = files.filter((file) => !isOf(BOOTING_TESTS, file));
  if (inside.length > 0)
    await run({ ...insideDebian13(made.kept, ROOT, ['/usr/bin/node']), place }, inside, scenario);
  const booting = files.filter((file) => isOf(BOOTING_TESTS, file));
  const env = { TONEARM_NODE_ROOT: made.root };
  if (booting.length > 0) await run({ command: [process.execPath], place, env }, booting, scenario);
  return undefined;
}

/**
 * Rounds on other seeds each, until one fails or another would not end within the minutes; the first is done in any case. All faults
 * where there is time for them.
 * @returns {Promise<string>} what was done
 */
async function soak(own, minutes, patterns) {
  if (!(minutes > 0)) throw new StepFailed('npm run soak -- MINUTES: a number above 0');
  const endMs = performance.now() + minutes * 60_000;
  const leaks = matching(
    testFiles().filter((file) => isOf(LEAK_TESTS, file)),
    patterns,
  );
  const runner = { ...own, deadlineMs: SOAK_DEADLINE_MS };
  if (leaks.length > 0) await runTests({ ...runner, env: { TONEARM_LEAKS: 'full' } }, leaks);
  const drawn = testFiles().filter((file) => IMPORTS_SEED.test(readFileSync(join(ROOT, file), 'utf8')));
  const files = matching(drawn, patterns);
  if (files.length === 0 && leaks.length > 0) return 'no leak';
  const seeds = [];
  for (let longestMs = 0; seeds.length === 0 || performance.now() + longestMs < endMs; ) {
    const begunMs = performance.now();
    const hasTime = endMs - begunMs > SOAK_DEADLINE_MS;
    const faults = process.env.TONEARM_FAULTS ?? (hasTime ? 'all' : '');
    const env = { TONEARM_FUZZ_SEED: String(randomInt(2 ** 32)), TONEARM_FAULTS: faults };
    const seeded = `TONEARM_FUZZ_SEED=${env.TONEARM_FUZZ_SEED} TONEARM_FAULTS='${faults}'`;
    seeds.push(env.TONEARM_FUZZ_SEED);
    console.log(`# round ${seeds.length}: ${seeded}`);
    try {
      await runTests({ ...runner, env }, files);
    } catch (error) {
      const failed = error.files?.length > 0 ? error.files : files;
      const again = failed.map((file) => relative('build/test', file)).join(' ');
      console.log(`# round ${seeds.length} has failed. Again: ${seeded} npm test -- ${again}`);
      throw error;
    }
    longestMs = Math.max(longestMs, performance.now() - begunMs);
  }
  const leakless = leaks.length > 0 ? 'no leak, and ' : '';
  return `${leakless}${files.length} files passed on ${seeds.length} seeds: ${seeds.join(' ')}`;
}

async function setUp() {
  const missing = await ensure('test');
  if (REQUIRE_ALL && missing.length > 0) throw new StepFailed(`missing: ${missing.join(', ')}`);
}

/** Name and work of each step, in order. A step may answer with a remark for its line. */
function steps(positionals, { debian13: onlyDebian13, soak: soaking, coverage, scenario }) {
  const tool = (name, ...args) => command(process.execPath, [join(BIN, name), ...args]).then(() => undefined);
  const node = (...args) => command(process.execPath, args).then(() => undefined);
  const ready = ['set-up', setUp];
  const built = ['build', () => node('packaging/build.mjs')];
  const own = { command: [process.execPath], place: `Node ${process.versions.node}`, coverage };
  if (soaking) {
    const [asked = SOAK_MINUTES, ...patterns] = positionals;
    const minutes = Number(asked);
    return [ready, built, [`${minutes} minutes on random seeds`, () => soak(own, minutes, patterns)]];
  }
  const checks = [
    ready,
    ['types', () => tool('tsc', '-p', '.')],
    ['types of the page', () => tool('tsc', '-p', 'src/page')],
    ['style', () => tool('biome', 'ci', '--error-on-warnings', 'src', 'test', 'bench', 'packaging')],
    ['dead code', () => tool('knip', '--no-progress')],
    built,
  ];
  const patterns = scenario !== undefined && positionals.length === 0 ? ['node/node'] : positionals;
  const name = `tests on ${own.place}`;
  if (onlyDebian13) return [...checks, ['tests on Debian 13', () => secondDebian(patterns, scenario)]];
  if (patterns.length > 0)
    return [...checks, [name, () => runTests(own, matching(testFiles(), patterns), scenario)]];
  return [
    ...checks,
    [name, () => runAll(own, testFiles())],
    [`unit tests on Node ${OTHER_NODE}`, secondNode],
    ['tests on Debian 13', () => secondDebian([], undefined, runAll)],
  ];
}

async function main(positionals, options) {
  const begun = Date.now();
  for (const [name, work] of steps(positionals, options)) {
    const since = Date.now();
    try {
      const remark = await work();
      console.log(`ok - ${name} (${seconds(since)})${remark === undefined ? '' : `: ${remark}`}`);
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      console.log(`${error.message}\nFAILED - ${name} (${seconds(since)})`);
      return 1;
    }
  }
  console.log(`all done in ${seconds(begun)}`);
  if (failedOnce.length > 0) console.log(`failed once, and passed on their own: ${failedOnce.join(' ')}`);
  return 0;
}

const { values, positionals } = parseArgs({
  options: {
    debian13: { type: 'boolean' },
    coverage: { type: 'boolean' },
    soak: { type: 'boolean' },
    scenario: { type: 'string' },
  },
  allowPositionals: true,
});
process.exitCode = await main(positionals, values);
