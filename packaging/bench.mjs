// `npm run bench [-- [--quick] [NAMES]]`: builds, runs the measurements of bench/ one after another, so that
// none disturbs another, and prints a table of each. NAMES are parts of file names. Without NAMES all are
// run, for some forty minutes, and bench/RESULTS.md is written. --quick takes a few rounds of each, to see
// that they run, and writes nothing.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { FOR_BENCH, installDebian } from './debian.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const RESULTS = join(ROOT, 'bench/RESULTS.md');

/**
 * Runs one measurement, which prints its table. Returns its report; undefined when it failed, in which case
 * it has printed why.
 */
function measure(name, quick) {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-bench-'));
  try {
    const file = join(folder, 'report.json');
    const args = [join('build/bench', `${name}.js`), '--report', file, ...(quick ? ['--quick'] : [])];
    const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
    return status === 0 ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main() {
  const { values, positionals: names } = parseArgs({
    options: { quick: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const measurements = readdirSync(join(ROOT, 'bench'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
    .sort();
  if (measurements.length === 0) {
    console.error('bench: no measurement matches');
    return 1;
  }
  installDebian([...new Set(measurements.flatMap((name) => FOR_BENCH[name]))]);
  const built = spawnSync(process.execPath, ['packaging/build.mjs'], { cwd: ROOT, stdio: 'inherit' });
  if (built.status !== 0) return 1;
  // The module is loaded here, because the build has made it only now.
  const { resultsDocument } = await import('../build/bench/support/results.js');
  const reports = [];
  const failed = [];
  for (const name of measurements) {
    console.log(`\n== ${name}`);
    const report = measure(name, values.quick);
    if (report === undefined) failed.push(name);
    else reports.push(report);
    // The file is written after each measurement, so that an interrupted run leaves the results so far.
    if (names.length === 0 && !values.quick) writeFileSync(RESULTS, resultsDocument(reports, failed));
  }
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = await main();
