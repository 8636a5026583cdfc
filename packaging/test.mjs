// Decides which stages run. `npm test` runs those that end within minutes, and `-- --all` runs every one.
// `-- NAME...` runs the tests of files and titles that contain a NAME, and `-- --changed` runs the unit
// tests that import what differs from main. `--debian13` runs the chosen tests on Debian 13.
//
// A test that cannot run is left out, and the last lines name the command that installs what it needs. With
// --all and CI=true, or with TONEARM_REQUIRE_ALL=1, a test that is left out is a failure. A failed test is
// not tried again, because a test that fails once has failed.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { FOR, installCommand, installDebian, notInstalled, packageOf, rootCommand } from './debian.mjs';
import { debian13, insideDebian13 } from './debian13.mjs';
import { FETCHED_NODES, fetchedNode } from './fetched-node.mjs';
import { machine } from './machine.mjs';
import { hasNative, thisGlibc } from './natives.mjs';
import { print, seconds, showProgress } from './progress.mjs';
import { changed, compiled, kindOf, matching, testFiles, together } from './test-files.mjs';
import { runTests } from './test-run.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
process.chdir(ROOT);

/**
 * The longest files (all faults, and leaks in full) take twelve minutes on a quiet machine. On a busy
 * machine a file may take ten times as long. The deadline allows that only to files that take up to two
 * minutes on a quiet machine.
 */
const FILE_DEADLINE_MS = 24 * 60_000;
const COMMAND_DEADLINE_MS = 10 * 60_000;
const OUTPUT_MAX_BYTES = 1 << 24;
/** Test files mostly wait for other processes, so more of them than cores run at once. */
const AT_ONCE = 4;
const SLOWEST = 15;

const { values: chosenOptions, positionals: names } = parseArgs({
  options: { all: { type: 'boolean' }, changed: { type: 'boolean' }, debian13: { type: 'boolean' } },
  allowPositionals: true,
});
const isWhole =
  process.env.TONEARM_REQUIRE_ALL === '1' || (chosenOptions.all === true && process.env.CI === 'true');
const isChosen = chosenOptions.changed === true || chosenOptions.debian13 === true || names.length > 0;

/** The counts of each run of tests. */
const tallies = [];
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The Debian of the emulated machine. */
const MACHINE_DEBIAN = process.env.TONEARM_MACHINE_DEBIAN === '12' ? 12 : 13;

/** A stage that runs a tool on Node. The tool's output is shown when the tool fails. */
const tool =
  (...args) =>
  async () => {
    const limits = { timeout: COMMAND_DEADLINE_MS, maxBuffer: OUTPUT_MAX_BYTES };
    await promisify(execFile)(process.execPath, args, limits).catch(({ stdout, stderr, code, signal }) => {
      throw new Error(`${stdout}${stderr}${args[0]} ended with ${signal ?? `status ${code}`}`);
    });
  };
const bin = (name, ...args) => tool(join('node_modules/.bin', name), ...args);
/** The compiler keeps its build information, so that a second run checks only what has changed. */
const types = (project, name) =>
  bin('tsc', '-p', project, '--incremental', '--tsBuildInfoFile', `node_modules/.cache/types-${name}.json`);

/** Runs test files for the stage `place`. Answers with the counts, as the text of the stage's line. */
async function runFiles(place, files, { areTogether = false, ...run }) {
  if (files.length === 0) throw new Error('no test matches');
  const command = [process.execPath];
  const base = { place, command, atOnce: AT_ONCE, deadlineMs: FILE_DEADLINE_MS, isWhole };
  const tally = await runTests({
    ...base,
    ...run,
    files: areTogether ? together(files) : files.map(compiled),
  });
  tallies.push(tally);
  const { passed, failed, skipped } = tally;
  const text = `${passed} passed, ${failed} failed, ${sum([...skipped.values()])} left out, ${files.length} files`;
  if (!tally.isGreen) throw new Error(text);
  if (passed === 0 && run.titles?.length > 0) throw new Error('no test has such a title');
  return text;
}

const tests = (atOnce, kind) => (place) => runFiles(place, testFiles(kind), { atOnce });
const units = (place) => runFiles(place, testFiles('unit'), { atOnce: 3, areTogether: true });

/** A stage that cannot run is left out. Where no stage may be left out, it fails. */
function leftOut(problem) {
  if (isWhole) throw new Error(problem);
  return `left out: ${problem}`;
}

/** These tests check answers of other programs, which are the same for every Node. */
const OTHER_PROGRAMS = /^actors\/mqtt\/home-assistant-templates$/;
const unitsOfNode = () => testFiles('unit').filter((file) => !OTHER_PROGRAMS.test(file));

/** These tests run on Node 24, too, because it keeps memory and ends threads in another way. */
const NODE_LOAD = /^(leaks\/|crash\/)/;

/**
 * How a fetched Node runs. Where its binary of uWebSockets.js needs a newer C library than this machine has,
 * it runs on Debian 13.
 */
async function fetchedRun(major) {
  const { node, problem } = fetchedNode(ROOT, major);
  if (problem !== undefined) return { problem };
  if (hasNative(major, process.arch, thisGlibc())) return { run: { command: [node] } };
  const debian = await debian13();
  if (debian.problem !== undefined) return { problem: debian.problem };
  return { run: insideDebian13(debian.home, ROOT, [node]) };
}

const onNode = (major, files) => async (place) => {
  if (process.versions.node === FETCHED_NODES.get(major)[process.arch]) return 'all stages ran on it';
  const { run, problem } = await fetchedRun(major);
  if (problem !== undefined) return leftOut(problem);
  return runFiles(place, files(), { ...run, atOnce: 2, areTogether: true });
};
const onNode22 = onNode(22, unitsOfNode);
const onNode24 = onNode(24, () => [
  ...unitsOfNode(),
  ...testFiles('load').filter((file) => NODE_LOAD.test(file)),
]);

/**
 * These tests do not run on Debian 13. Its root does not have their programs (PACKAGES in debian13.mjs):
 * browsers, VLC, Mopidy, MPD, aiohttp, Prometheus, proxies. Or it changes nothing for them: packages,
 * tarballs, RPM packages, images and an apt repository are made on one Debian only, the fresh checkout
 * fetches npm 9.2 itself, ARM programs and the compiler are the same on both, and the emulated machine boots
 * a Debian of its own.
 */
const ONE_DEBIAN = [
  /^(browser|hardware)\//,
  /^contract\/(example-backend|idle-connections|metrics|proxies|real-silent-players|real-tracklists)$/,
  /^(node\/house|tools\/fresh-checkout)$/,
  /^packaging\/(arm|client-package|image|package|tarball)$/,
  /^packaging\/installed-(bare|repository|rpm)$/,
];

/**
 * These unit tests, and the load test crash/deaths, depend on the Debian: on its sound servers, its bus, its
 * sudo, or its Node. The other unit tests do not run on Debian 13. All unit tests except OTHER_PROGRAMS run
 * on three versions of Node.
 */
const DEBIAN_UNITS = /^(actors\/(audio|bus|players|units)\/|cli\/invoking-user|crash\/|supervisor\/)/;
const onBothDebians = () => [
  ...testFiles('unit', 'load').filter((file) => DEBIAN_UNITS.test(file)),
  ...testFiles('daemon', 'long', 'brokers', 'packages', 'nodes'),
];

/**
 * Makes the disk of the emulated machine if there are tests for it among `files`. Without the programs, or
 * without root, no disk is made, and the tests themselves say what is missing.
 */
function machineFor(files) {
  const canMake = process.getuid() === 0 && notInstalled(FOR.machine).length === 0;
  return canMake && files.some((file) => kindOf(file) === 'hardware') ? machine(MACHINE_DEBIAN) : {};
}

async function runWithDisk(place, files, titles = []) {
  const { problem, home } = await machineFor(files);
  if (problem !== undefined) return leftOut(problem);
  return runFiles(place, files, { titles, env: home === undefined ? {} : { TONEARM_MACHINE: home } });
}

/** Makes the disk while other stages run. The stage of the emulated machine finds it made. */
async function machineDisk() {
  const { problem, home } = await machineFor(testFiles('hardware'));
  return problem === undefined ? home : leftOut(problem);
}

/** This test puts a fetched Node into a package. Debian 13 has no npm here, so Node is fetched before. */
const PACKS_NODE = 'packaging/form-with-node';
const PACKED_NODE = 24;

/**
 * Runs tests with the Node and the servers of Debian 13. Tests that boot a node run outside of that Debian.
 * Only their node needs it: the node boots from the root of that Debian.
 */
async function onDebian13(place, files, titles = []) {
  const { problem, home, root } = await debian13();
  if (problem !== undefined) return leftOut(problem);
  const suitable = files.filter((file) => !ONE_DEBIAN.some((pattern) => pattern.test(file)));
  const booting = suitable.filter((file) => kindOf(file) === 'nodes');
  const inside = suitable.filter((file) => kindOf(file) !== 'nodes');
  if (inside.some((file) => file.startsWith(PACKS_NODE))) {
    const fetched = fetchedNode(ROOT, PACKED_NODE);
    if (fetched.problem !== undefined) return leftOut(fetched.problem);
  }
  const texts = [];
  // Without any file, `runFiles` throws that no test matches.
  if (inside.length > 0 || booting.length === 0)
    texts.push(await runFiles(place, inside, { titles, ...insideDebian13(home, ROOT, ['/usr/bin/node']) }));
  if (booting.length > 0)
    texts.push(await runFiles(place, booting, { titles, env: { TONEARM_NODE_ROOT: root } }));
  return texts.join('; booted: ');
}

/** Lane, name and work of each stage: those of one lane run one after the other, lanes at the same time. */
const CHECKS = [
  ['checks', 'types', types('.', 'daemon')],
  ['checks', 'types of the page', types('src/page', 'page')],
  [
    'checks',
    'style',
    bin('biome', 'ci', '--colors=off', '--error-on-warnings', 'src', 'test', 'bench', 'packaging'),
  ],
  ['checks', 'dead code', bin('knip', '--no-progress', '--cache')],
];
/** These stages need the build. */
const QUICK = [
  ['units', 'unit tests', units],
  ['daemon', 'daemon', tests(3, 'daemon')],
  ['page', 'page', tests(3, 'page')],
  ['page', 'fuzz', tests(2, 'fuzz')],
];
const ALL = [
  ...QUICK,
  ['units', 'load', tests(2, 'load')],
  ['units', 'booted nodes', tests(2, 'nodes')],
  ['daemon', 'daemon at length', tests(3, 'long')],
  ['daemon', 'brokers', tests(3, 'brokers')],
  ['daemon', 'Debian 13', (place) => onDebian13(place, onBothDebians())],
  ['daemon', 'unit tests on Node 22', onNode22],
  ['page', 'seldom states of the page', tests(2, 'seldom')],
  ['page', 'the page in Firefox and WebKit', tests(2, 'engines')],
  ['page', 'packages', tests(2, 'packages')],
  ['page', 'unit tests on Node 24', onNode24],
  ['machine', 'disk of the emulated machine', machineDisk],
];
/**
 * The emulated machine runs when everything else has ended, because it needs both cores, and Bluetooth's
 * deadlines are too short for a slow machine.
 */
const LAST = [['machine', 'emulated machine', (place) => runWithDisk(place, testFiles('hardware'))]];
/** The stages that the options and names choose. */
async function chosen() {
  if (!isChosen) return chosenOptions.all ? ALL : QUICK;
  const { files, titles } = chosenOptions.changed
    ? { files: await changed(), titles: [] }
    : await matching(names);
  const run = (place) => {
    if (chosenOptions.debian13) return onDebian13(place, files, titles);
    if (chosenOptions.changed && files.length === 0) return 'no unit test imports what differs from main';
    return runWithDisk(place, files, titles);
  };
  return [['tests', 'tests', run]];
}

/** Resolves with true when the stage went well. */
async function stage(name, work) {
  const begunMs = Date.now();
  showProgress(name, '');
  try {
    const remark = await work(name);
    showProgress(name);
    print(`ok - ${name} (${seconds(begunMs)})${remark === undefined ? '' : `: ${remark}`}`);
    return true;
  } catch (error) {
    showProgress(name);
    print(`${error.message}\nFAILED - ${name} (${seconds(begunMs)})`);
    return false;
  }
}

/** Runs all stages, also after a failure. Resolves with the names of those that failed. */
async function inLanes(stages) {
  const failed = [];
  const runLane = async (lane) => {
    for (const [, name, work] of stages.filter(([stageLane]) => stageLane === lane))
      if (!(await stage(name, work))) failed.push(name);
  };
  await Promise.all([...new Set(stages.map(([lane]) => lane))].map(runLane));
  return failed;
}

const PROGRAMS = /^not installed: /;

/** Prints how many tests and groups of tests did not run, and the command after which they run. */
function printLeftOut() {
  const all = tallies.flatMap(({ skipped }) => [...skipped]);
  const printReasons = (reasons, what) => {
    const count = sum(reasons.map(([, each]) => each));
    if (count > 0) print(`left out: ${count} ${count === 1 ? 'test or group' : 'tests and groups'} ${what}`);
  };
  const lacking = all.filter(([reason]) => PROGRAMS.test(reason));
  const programs = lacking.flatMap(([reason]) => reason.replace(PROGRAMS, '').split(', '));
  const packages = [...new Set(programs.map(packageOf))].sort();
  printReasons(lacking, `that need more programs: ${installCommand(packages)}`);
  const root = all.filter(([reason]) => reason === 'needs root');
  printReasons(root, `that need root: ${rootCommand('npm test')}`);
  const others = all.filter((entry) => !lacking.includes(entry) && !root.includes(entry));
  for (const [reason, count] of others) printReasons([[reason, count]], `(${reason})`);
  if (!isChosen && !chosenOptions.all)
    print(
      'left out: long tests, load, booted nodes, brokers, packages, other Nodes, a second Debian, an emulated machine: npm test -- --all',
    );
}

function printSlowest() {
  const files = tallies.flatMap((tally) => tally.files.map((file) => ({ ...file, place: tally.place })));
  const slowest = files.sort((one, other) => other.ms - one.ms).slice(0, SLOWEST);
  print('slowest files:');
  for (const { file, ms, place } of slowest)
    print(`${(ms / 1000).toFixed(1).padStart(8)} s  ${file} (${place})`);
}

async function main() {
  const begunMs = Date.now();
  const missing = installDebian(FOR[chosenOptions.all ? 'all' : 'test']);
  if (isWhole && missing.length > 0) {
    print(`FAILED - set-up: ${installCommand(missing)}`);
    return 1;
  }
  const checked = inLanes(CHECKS);
  const built = await inLanes([['build', 'build', tool('packaging/build.mjs')]]);
  const tested = built.length === 0 ? await inLanes(await chosen()) : [];
  if (built.length === 0 && chosenOptions.all && !isChosen) tested.push(...(await inLanes(LAST)));
  const failed = [...(await checked), ...built, ...tested];
  if (chosenOptions.all) printSlowest();
  printLeftOut();
  print(`${failed.length === 0 ? 'all green' : `FAILED: ${failed.join(', ')}`}, ${seconds(begunMs)}`);
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = await main();
