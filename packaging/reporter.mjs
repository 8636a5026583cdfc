// A reporter for node --test. It writes one line of JSON for each test or file that has ended, and for each
// remark (test/remark.ts). packaging/test-run.mjs prints these lines for people. Node's own reporters show
// neither why a test was left out nor how long a file took.

import { resolve } from 'node:path';
import { inspect } from 'node:util';

/** Only the end of a file's output is kept. */
const OUTPUT_MAX_CHARACTERS = 8000;
/** A line printed by test/remark.ts. */
const REMARK = /^# (.*)$/gm;
/**
 * The reason of a test that was left out by a pattern of names. Node 20 reports it as skipped, later versions
 * do not report it.
 */
const NOT_REQUESTED = 'test name does not match pattern';

/** A file that fails without a failed test has ended by a status or a signal, and nothing else is known. */
const howItEnded = ({ exitCode, signal }) =>
  exitCode === undefined && signal === undefined ? '' : `: ended with ${signal ?? `status ${exitCode}`}`;

function errorText(error) {
  // The runner wraps what a test threw; the wrapper itself has no information.
  const thrown = error?.code === 'ERR_TEST_FAILURE' && error.cause !== undefined ? error.cause : error;
  if (typeof thrown === 'string') return `${thrown}${howItEnded(error)}`;
  return thrown?.stack === undefined ? inspect(thrown) : inspect(thrown, { depth: 5 });
}

/** True if the event is that of a whole file, which Node reports as a test at the file's first line. */
const isFile = ({ file, name, nesting, line }) => nesting === 0 && line === 1 && file?.endsWith(name);

function kindOf(event) {
  if (isFile(event)) return 'file';
  return event.details?.type === 'suite' ? 'suite' : 'test';
}

const line = (record) => `${JSON.stringify(record)}\n`;

/** @param {AsyncIterable<{ type: string, data: Record<string, unknown> }>} events */
export default async function* report(events) {
  const printed = new Map();
  for await (const { type, data } of events) {
    const { name, skip, details } = data;
    // If a file prints something, Node 22 names the file by its path from the command line, which may be
    // relative.
    const file = data.file && resolve(data.file);
    if (type === 'test:stdout' || type === 'test:stderr') {
      const text = (printed.get(file) ?? '') + data.message;
      printed.set(file, text.slice(-OUTPUT_MAX_CHARACTERS));
      for (const [, name] of data.message.matchAll(REMARK)) yield line({ of: 'remark', file, name });
    }
    const of = kindOf(data);
    // Node reports at once that a file has ended. The file's output and failure come much later, because
    // these are reported in the order of files.
    const isFileEnd = of === 'file' && type === 'test:complete';
    const isFileFailure = of === 'file' && type === 'test:fail';
    const isReported = type === 'test:complete' || isFileFailure;
    if (!isReported || skip === NOT_REQUESTED) continue;
    const { error, duration_ms: ms } = details;
    const isFailure = error !== undefined && !isFileEnd;
    const failed = isFailure
      ? { kind: error.failureType, text: errorText(error), printed: printed.get(file) }
      : undefined;
    yield line({ of: isFileEnd ? 'end' : of, file, line: data.line, name, ms, skip, failed });
  }
}
