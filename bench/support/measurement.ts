// Runs the measurement of a file of bench/: reads the arguments, bounds the time, and prints the machine and
// the rows, as a table for people or as one JSON object.
//   node build/bench/NAME.js [--quick] [--json] [--report FILE] [PARTS OF ROWS' NAMES]
// `--json` prints the object instead of the table, `--report` writes it as well.

import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { type Machine, machineLine, thisMachine } from './machine.js';
import { columns, type Result, type Row, resultOf } from './rows.js';

/** No measurement takes this long. One that hangs is ended then, with its daemons and sound servers. */
const LIMIT_MS = 10 * 60_000;
const QUICK_ROUNDS = 2;
const QUICK_PART = 0.1;

export interface Context {
  /** The number of rounds to take: `usual`, but with `--quick` two at most. */
  rounds(usual: number): number;
  /** The milliseconds to watch: `usual`, but with `--quick` a tenth of it. */
  ms(usual: number): number;
  /** True when the row was requested: its name contains one of the given parts, or no part was given. */
  selects(row: string): boolean;
  /** Reports what was left out, and why. */
  note(text: string): void;
}

/** The result of a measurement, as JSON. */
export interface Report {
  readonly name: string;
  readonly machine: Machine;
  readonly quick: boolean;
  readonly seconds: number;
  readonly notes: readonly string[];
  readonly rows: readonly Result[];
}

/**
 * Removes the caller's NODE_ variables. The daemon has an environment of its own, but every other Node would
 * inherit them, and their cost would be measured: certificates to trust beyond Node's own
 * (NODE_EXTRA_CA_CERTS) are 40 ms of its start.
 */
function forgetNodeVariables(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('NODE_')) delete process.env[name];
}

/** Takes one measurement, and prints it. It rejects as `take` does. */
export async function measurement(take: (context: Context) => Promise<readonly Row[]>): Promise<void> {
  forgetNodeVariables();
  const { values, positionals } = parseArgs({
    options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, report: { type: 'string' } },
    allowPositionals: true,
  });
  const quick = values.quick === true;
  const machine = thisMachine();
  const notes: string[] = [];
  const begun = performance.now();
  const name = basename(process.argv[1] ?? '', '.js');
  setTimeout(() => {
    console.error(`${name}: not done within ${LIMIT_MS / 60_000} min`);
    process.exit(1);
  }, LIMIT_MS).unref();
  const rows = await take({
    rounds: (usual) => (quick ? Math.min(usual, QUICK_ROUNDS) : usual),
    ms: (usual) => (quick ? usual * QUICK_PART : usual),
    selects: (row) => positionals.length === 0 || positionals.some((part) => row.includes(part)),
    note: (text) => void notes.push(text),
  });
  const seconds = Math.round((performance.now() - begun) / 1000);
  const report: Report = { name, machine, quick, seconds, notes, rows: rows.map(resultOf) };
  if (values.report !== undefined) writeFileSync(values.report, JSON.stringify(report));
  if (values.json) console.log(JSON.stringify(report));
  else print(report);
}

function print({ machine, notes, rows, seconds }: Report): void {
  console.log(machineLine(machine));
  for (const note of notes) console.log(`left out: ${note}`);
  console.table(rows.map(columns));
  console.log(`${seconds} s`);
}
