// Reporter for node --test: says what failed and why, what was skipped and why, and closes with the runner's own summary.
// Silent about what passed, but for the branches that were taken, where they were counted. Given to the test runner by packaging/test.mjs, which also says where it runs (TONEARM_TESTED_ON).

import { dirname, relative } from 'node:path';
import { inspect } from 'node:util';

/** What a test file printed is shown only when something in it failed, and only its end. */
const KEPT_OUTPUT_CHARS = 8000;

const PLACE = process.env.TONEARM_TESTED_ON ? `, ${process.env.TONEARM_TESTED_ON}` : '';

function where({ file, line }) {
  if (file === undefined) return '';
  return `${relative(process.cwd(), file)}${line === undefined ? '' : `:${line}`}${PLACE}`;
}

function errorText(error) {
  // The runner wraps what a test threw; the wrapper says nothing of its own.
  const thrown = error?.code === 'ERR_TEST_FAILURE' && error.cause !== undefined ? error.cause : error;
  if (typeof thrown === 'string') return thrown;
  return thrown?.stack === undefined ? inspect(thrown) : inspect(thrown, { depth: 5 });
}

/** One that a pattern of names leaves out was not asked for. Node 20 tells of it as skipped, later ones do not. */
const LEFT_OUT = 'test name does not match pattern';

/** A suite fails because a test in it failed, which has been told already. */
function isEcho(error) {
  return error?.failureType === 'subtestsFailed';
}

/** Of each folder of src: how many of its branches were taken. */
function branchesByFolder({ files }) {
  const folders = new Map();
  for (const { path, totalBranchCount, coveredBranchCount } of files) {
    const folder = dirname(relative(process.cwd(), path));
    if (!folder.startsWith('src')) continue;
    const [taken, all] = folders.get(folder) ?? [0, 0];
    folders.set(folder, [taken + coveredBranchCount, all + totalBranchCount]);
  }
  const rows = [...folders].sort().map(([folder, [taken, all]]) => {
    const percent = ((100 * taken) / all).toFixed(1).padStart(6);
    return `${percent} %  ${taken} of ${all} branches  ${folder}`;
  });
  return rows.join('\n');
}

const indent = (text) => text.replace(/^/gm, '    ');

/** @param {AsyncIterable<{ type: string, data: Record<string, unknown> }>} events */
export default async function* report(events) {
  const printed = new Map();
  const told = new Set();
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') {
      const text = (printed.get(data.file) ?? '') + data.message;
      printed.set(data.file, text.slice(-KEPT_OUTPUT_CHARS));
    } else if (type === 'test:fail' && !isEcho(data.details.error) && data.todo === undefined) {
      yield `not ok - ${data.name} (${where(data)})\n${indent(errorText(data.details.error))}\n`;
      const output = printed.get(data.file);
      if (output !== undefined && !told.has(data.file))
        yield `  printed by that file:\n${indent(output.trimEnd())}\n`;
      told.add(data.file);
    } else if (type === 'test:pass' && data.skip !== undefined && data.skip !== LEFT_OUT) {
      yield `skipped - ${data.name} (${where(data)}): ${data.skip === true ? 'no reason given' : data.skip}\n`;
    } else if (type === 'test:coverage') {
      yield `${branchesByFolder(data.summary)}\n`;
    } else if (type === 'test:diagnostic') {
      yield `# ${data.message}\n`;
    }
  }
}
