// Runs test files with node --test: prints each failure as it comes, and answers with the counts. A run also
// fails if the tests leave something behind, or if a test was left out where none may be left out.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openRunDirectory } from './leftovers.mjs';
import { print, showProgress } from './progress.mjs';

const REPORTER = fileURLToPath(new URL('reporter.mjs', import.meta.url));
const ERRORS_MAX_CHARACTERS = 8000;

const displayPath = (file) => relative(process.cwd(), file);
const TEST_FILE = /\.test\.[a-z]+$/;
const indent = (text) => text.trimEnd().replace(/^/gm, '    ');

/** Escapes characters that have a meaning in Node's pattern of names. */
const literally = (title) => title.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** Results of one run so far. */
class Tally {
  passed = 0;
  failed = 0;
  /** Tests that did not run because the suite or the file around them failed. */
  cancelled = [];
  /** The number of tests and groups that were left out, by their reason. */
  skipped = new Map();
  /** Path and duration of each file. */
  files = [];
  /** Where the tests run, for people. */
  place;
  /** Files of which a failure has been printed. */
  #failing = new Set();

  constructor(place) {
    this.place = place;
  }

  add({ of, file, line, name, ms, skip, failed }) {
    if (of === 'remark') print(`remark - ${name} (${displayPath(file)}, ${this.place})`);
    if (of === 'end') this.files.push({ file: relative('build/test', file), ms });
    // A suite or a file fails because a test in it did, which has been printed already.
    if (failed?.kind === 'subtestsFailed') return;
    if (failed?.kind === 'cancelledByParent') this.cancelled.push({ file, line, name, failed });
    else if (failed !== undefined) this.#report({ file, line, name, failed });
    else if (skip !== undefined) this.skipped.set(skip, (this.skipped.get(skip) ?? 0) + 1);
    else if (of === 'test') this.passed += 1;
  }

  /**
   * Prints one cancelled test of each test file that has no other failure. A cancelled test may also stand
   * in a helper file. Its test file is not known then, because several may import the helper. So such a test
   * is printed only if the run has no other failure.
   */
  reportCancelled() {
    const unreported = [];
    for (const cancelled of this.cancelled) {
      const isInTestFile = TEST_FILE.test(cancelled.file);
      const hasPrintedFailure = isInTestFile ? this.#failing.has(cancelled.file) : this.failed > 0;
      if (hasPrintedFailure) unreported.push(cancelled.name);
      else this.#report(cancelled);
    }
    if (unreported.length > 0)
      print(`${unreported.length} more did not run because of the failures above, such as: ${unreported[0]}`);
  }

  #report({ file, line, name, failed }) {
    this.failed += 1;
    print(`not ok - ${name} (${displayPath(file)}:${line}, ${this.place})\n${indent(failed.text)}`);
    if (failed.printed !== undefined && !this.#failing.has(file))
      print(`  printed by that file:\n${indent(failed.printed)}`);
    this.#failing.add(file);
  }
}

/**
 * @param {object} run
 * @param {string} run.place where it runs, for people
 * @param {readonly string[]} run.files compiled test files, as paths from the project's root
 * @param {readonly string[]} run.command a command that takes Node's arguments at its end
 * @param {number} run.atOnce how many files
 * @param {readonly string[]} [run.titles] parts of names; a test or suite runs if its name contains one
 * @param {Record<string, string>} [run.env]
 * @param {number} run.deadlineMs the longest time of each file
 * @param {boolean} [run.isWhole] true if a test that is left out fails the run
 * @returns {Promise<Tally & { isGreen: boolean }>}
 */
export async function runTests({
  place,
  files,
  command,
  atOnce,
  titles = [],
  env = {},
  deadlineMs,
  isWhole,
}) {
  const runDirectory = openRunDirectory();
  const tally = new Tally(place);
  const [program, ...before] = command;
  const options = [
    '--test',
    `--test-concurrency=${atOnce}`,
    `--test-timeout=${deadlineMs}`,
    `--test-reporter=${REPORTER}`,
    '--enable-source-maps',
    ...titles.map((title) => `--test-name-pattern=${literally(title)}`),
  ];
  const child = spawn(program, [...before, ...options, ...files], {
    env: { ...process.env, ...env, TMPDIR: runDirectory.directory, TONEARM_REQUIRE_ALL: isWhole ? '1' : '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors = (errors + text).slice(-ERRORS_MAX_CHARACTERS);
  });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{')) tally.add(JSON.parse(line));
    else errors += `${line}\n`;
    showProgress(place, `${tally.files.length} of ${files.length} files`);
  }
  showProgress(place);
  tally.reportCancelled();
  const [status, signal] = await ended;
  if (status !== 0 && tally.failed === 0)
    print(`${place}: node --test ended with ${signal ?? `status ${status}`}\n${indent(errors)}`);
  const leftovers = await runDirectory.close();
  for (const line of leftovers) print(`left behind by ${place} - ${line}`);
  const isComplete = !isWhole || tally.skipped.size === 0;
  if (!isComplete)
    for (const [reason] of tally.skipped) print(`left out of ${place}, where nothing may be: ${reason}`);
  tally.isGreen = status === 0 && leftovers.length === 0 && isComplete;
  return tally;
}
