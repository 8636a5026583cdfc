// Makes the text of RESULTS.md from the reports of one run of all measurements. Pure.

import { machineLine } from './machine.js';
import type { Report } from './measurement.js';
import { columns } from './rows.js';

const COLUMNS = ['what', 'against', 'result', 'ratio', 'spread', 'goal'];

/** `failed`: the names of measurements that gave no report. */
export function resultsDocument(reports: readonly Report[], failed: readonly string[]): string {
  const rows = reports.flatMap((report) => report.rows);
  const judged = rows.filter(({ reached }) => reached !== undefined);
  const reached = judged.filter((row) => row.reached).length;
  const [first] = reports;
  const seconds = reports.reduce((sum, report) => sum + report.seconds, 0);
  return [
    '# Results',
    'Written by `npm run bench`, which measures one thing after another, each beside what anyone can check, in turns. All figures are medians. The spread is the middle half of the rounds: of the comparison where there is one, else of the result.',
    first === undefined ? '' : `${machineLine(first.machine)}.`,
    `${rows.length} figures in ${Math.round(seconds / 60)} min; ${reached} of ${judged.length} goals reached.`,
    ...failed.map((name) => `**Not measured: ${name} failed.**`),
    ...reports.map(section),
  ].join('\n\n');
}

function section({ name, seconds, machine, notes, rows }: Report): string {
  const lines = [COLUMNS, COLUMNS.map(() => '---')];
  for (const row of rows) {
    const cells = columns(row);
    lines.push(COLUMNS.map((column) => cells[column] ?? ''));
  }
  const table = lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
  const leftOut = notes.map((note) => `Left out: ${note}.\n\n`).join('');
  return `## ${name}\n\n${seconds} s, load ${machine.load} when it began\n\n${leftOut}${rows.length === 0 ? '' : table}`;
}
