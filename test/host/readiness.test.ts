// Tests when the start counts as done. Also tests packaging/deb/wait-listening, by which the unit waits for
// this moment.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { reportReady } from '../../src/host/readiness.js';
import { Deferred } from '../deferred.js';
import { temporaryFolder } from '../temporary-folder.js';
import { SpawnedText } from '../tools/spawned.js';

const WAIT_LISTENING = fileURLToPath(new URL('../../../packaging/deb/wait-listening', import.meta.url));
const PID = 7;

/**
 * Begins to report. `reportHealth` stands for the first report of the upgrade backend. `waits` has the
 * arguments of each call of `waitForFirstHealth`.
 */
function beginReporting(t: TestContext) {
  const directory = temporaryFolder(t);
  const failures: string[] = [];
  const waits: unknown[] = [];
  const health = new Deferred<void>();
  const waitForFirstHealth = (...args: unknown[]) => {
    waits.push(args);
    return health.promise;
  };
  const reported = reportReady({ waitForFirstHealth }, directory, PID, (reason) => failures.push(reason));
  const isReady = () => existsSync(join(directory, `ready.${PID}`));
  return { directory, failures, waits, isReady, reported, reportHealth: () => health.resolve() };
}

test('the start is reported when the wait for the upgrade backend, of at most 20 s, has ended', async (t) => {
  const { waits, isReady, reported, reportHealth } = beginReporting(t);
  assert.deepEqual(waits, [['upgrade', 20_000]]);
  assert.equal(isReady(), false, 'the start is not reported too early');
  reportHealth();
  await reported;
  assert.ok(isReady());
});

test('a report that fails is logged', async (t) => {
  const { directory, failures, reported, reportHealth } = beginReporting(t);
  rmSync(directory, { recursive: true });
  reportHealth();
  await reported;
  assert.match(failures.join(), /^Error: ENOENT/);
});

describe('wait-listening', { timeout: 60_000 }, () => {
  /**
   * Runs wait-listening with `sleepScript` in the place of `sleep`. Resolves with the status and the output.
   * Only `sleepScript` writes output, so the output shows how often wait-listening has waited.
   */
  const runWaitListening = async (directory: string, pid: number, sleepScript: string) => {
    writeFileSync(join(directory, 'sleep'), `#!/bin/sh\n${sleepScript}\n`, { mode: 0o755 });
    const PATH = `${directory}:${process.env['PATH']}`;
    const env = { PATH, RUNTIME_DIRECTORY: directory, MAINPID: String(pid) };
    const child = spawn(WAIT_LISTENING, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const output = new SpawnedText(child.stdout);
    const [status] = await once(child, 'close');
    return [status, output.text];
  };
  /** This script in the place of `sleep` reports the start, and prints a word at each call. */
  const REPORT_READY = ': > "$RUNTIME_DIRECTORY/ready.$MAINPID"; echo waits';

  test('wait-listening waits for the file with the process id of the service, and removes this file', async (t) => {
    const directory = temporaryFolder(t);
    writeFileSync(join(directory, 'ready.1'), '');
    assert.deepEqual(await runWaitListening(directory, process.pid, REPORT_READY), [0, 'waits\n']);
    // The file of this process is gone, because a later process with the same id must not find it.
    const left = readdirSync(directory).filter((name) => name.startsWith('ready'));
    assert.deepEqual(left, ['ready.1']);
  });

  test('wait-listening does not wait for a process that has ended', async (t) => {
    const ended = spawn('true');
    await once(ended, 'close');
    assert.deepEqual(await runWaitListening(temporaryFolder(t), ended.pid ?? 0, REPORT_READY), [0, '']);
  });
});
