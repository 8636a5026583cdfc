// Decides what the scripts of this folder have in common: how they run programs that must succeed, and how
// they read options and report errors.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** xz takes minutes to compress a package with Node in it. */
const DEADLINE_MS = 60 * 60_000;
const OUTPUT_MAX_BYTES = 1 << 24;
const EXIT_USAGE = 64;

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs a program, in the checkout unless `cwd` says otherwise, and answers with its output.
 * @throws {Error} with the output of a program that fails
 */
export function run(command, args, { cwd = ROOT, env = {}, stdio = 'pipe' } = {}) {
  const limits = { encoding: 'utf8', timeout: DEADLINE_MS, maxBuffer: OUTPUT_MAX_BYTES };
  const done = spawnSync(command, args, { ...limits, cwd, stdio, env: { ...process.env, ...env } });
  if (done.status === 0) return done.stdout;
  const output = `${done.stdout ?? ''}${done.stderr ?? ''}`;
  const how = done.error?.message ?? done.signal ?? `status ${done.status}`;
  throw new Error(`${command} ${args.join(' ')} ended with ${how}\n${output}`.trimEnd());
}

/** Thrown by a script whose arguments are wrong. */
export class WrongUsage extends Error {}

/**
 * Runs a script: `main` gets the options and, where it takes any, the other arguments. An error of `main` is
 * printed behind the script's name, and the exit status is 1. After a `WrongUsage` the usage is printed,
 * too, and the status is 64.
 */
export async function script(name, { usage = '', options, allowPositionals = false, main }) {
  const report = (text) => console.error(`${name}: ${text}`);
  try {
    const { values, positionals } = parse({ options, allowPositionals });
    if (values.help) console.log(usage.trimEnd());
    else await main(values, positionals, report);
  } catch (error) {
    const isUsage = error instanceof WrongUsage;
    report(isUsage ? `${error.message.replace(/\s+/g, ' ')}\n\n${usage}`.trimEnd() : error.message);
    process.exitCode = isUsage ? EXIT_USAGE : 1;
  }
}

function parse(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new WrongUsage(error.message);
  }
}
