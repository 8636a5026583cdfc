// Runs the tests of a file inside a network namespace of its own. The tests can add and remove interfaces and
// addresses there without an effect on other programs. The file starts a second run of itself inside the
// namespace. This second run is called the inner run. The interfaces end with the namespace.

import { execFile, execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { skipReason } from './requirements.js';

/** The environment variable that is set in the inner run of the file. */
const INSIDE_VARIABLE = 'TONEARM_TEST_OWN_NETWORK';
/**
 * The inner run must end before the test runner's deadline for a file, so that the test can report the output
 * of the inner run. The slowest file, access.test.ts, requests every route at every address. It takes half a
 * minute, or two minutes if thirty processes share two cores.
 */
const DEADLINE_MS = 8 * 60_000;

/**
 * Mounts /sys anew, and runs the command in the arguments. The old /sys still shows the interfaces of the
 * network in which it was mounted.
 */
const WITH_OWN_SYSFS = 'mount -t sysfs sysfs /sys; exec "$@"';

/** `ip` of iproute2, in the namespace of this process. */
export function ip(...args: readonly string[]): void {
  execFileSync('ip', args);
}

/**
 * `url` is the `import.meta.url` of the test file. `declare` declares the tests of the file, and is called
 * only in the inner run, where `lo` is up.
 */
export function inOwnNetwork(url: string, declare: () => void): void {
  if (process.env[INSIDE_VARIABLE] === '1') {
    ip('link', 'set', 'lo', 'up');
    declare();
    return;
  }
  test('the tests of this file pass in a network of their own', {
    skip: skipReason({ programs: ['unshare', 'ip'], root: true }),
  }, async () => {
    // With this variable the inner run would report in the binary form that a parent test runner reads.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const inner = [process.execPath, '--test-reporter=tap', fileURLToPath(url)];
    const args = ['--net', '--mount', '--propagation=private', 'sh', '-euc', WITH_OWN_SYSFS, 'sh', ...inner];
    try {
      await promisify(execFile)('unshare', args, {
        env: { ...env, [INSIDE_VARIABLE]: '1' },
        timeout: DEADLINE_MS,
      });
    } catch (error) {
      throw new Error(`failed inside:\n${(error as { stdout?: string }).stdout}`, { cause: error });
    }
  });
}
