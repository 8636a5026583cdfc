// When the start counts as done, and wait-listening itself, which waits for that.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { BackendHealth } from '../src/protocol/actor/backends.js';
import type { ChildListener } from '../src/protocol/actor/messages.js';
import { readyWith } from '../src/readiness.js';
import { ManualClock } from './manual-clock.js';
import { temporaryFolder } from './temporary-folder.js';

const WAIT_LISTENING = fileURLToPath(new URL('../../packaging/deb/wait-listening', import.meta.url));
const PID = 7;
const CONNECTING: BackendHealth = { state: 'connecting', since: 0, restarts: 0 };

function folder(t: TestContext): string {
  const directory = temporaryFolder(t);
  return directory;
}

function begin(t: TestContext, upgrades: boolean) {
  const directory = folder(t);
  const heard: string[] = [];
  const failures: string[] = [];
  const clock = new ManualClock();
  const behind: ChildListener = {
    changes: (changes) => heard.push(`${changes.length} changes`),
    level: () => undefined,
    health: (backend, { state }) => heard.push(`${backend} ${state}`),
    pulled: (bridge) => heard.push(`${bridge} pulls`),
    asked: async () => ({ status: 204, body: '' }),
  };
  const listener = readyWith(behind, {
    directory,
    pid: PID,
    upgrades,
    clock,
    failed: (reason) => failures.push(reason),
  });
  const isReady = () => existsSync(join(directory, `ready.${PID}`));
  return { directory, heard, failures, listener, isReady, clock };
}

describe('the start is reported to systemd', () => {
  test('at once, where no progress socket is wanted', (t) => {
    assert.ok(begin(t, false).isReady());
  });

  const words: readonly BackendHealth[] = [
    { ...CONNECTING, state: 'up' },
    { ...CONNECTING, detail: 'no bus' },
    { ...CONNECTING, state: 'restarting', restarts: 1 },
    { ...CONNECTING, state: 'failed' },
  ];
  for (const word of words) {
    test(`with the upgrade backend's first state: ${word.state} ${word.detail ?? ''}`, (t) => {
      const { listener, isReady, heard, clock } = begin(t, true);
      listener.health('upgrade', CONNECTING);
      listener.health('audio', { ...CONNECTING, state: 'up' });
      listener.changes([]);
      assert.ok(!isReady());
      listener.health('upgrade', word);
      assert.ok(isReady());
      assert.equal(clock.timers, 0);
      listener.health('upgrade', word);
      const told = ['upgrade connecting', 'audio up', '0 changes', `upgrade ${word.state}`];
      assert.deepEqual(heard, [...told, `upgrade ${word.state}`]);
    });
  }

  test('in the end also if the upgrade backend has no state', (t) => {
    const { isReady, clock } = begin(t, true);
    clock.advance(20_000);
    assert.ok(isReady());
  });

  test('and a report that fails is logged, and not repeated', (t) => {
    const { directory, listener, failures } = begin(t, true);
    rmSync(directory, { recursive: true });
    listener.health('upgrade', { ...CONNECTING, state: 'up' });
    assert.match(failures.join(), /^Error: ENOENT/);
  });
});

describe('wait-listening', { timeout: 60_000 }, () => {
  /** `meanwhile`: a script that stands in for its `sleep`. Resolves with the status, and the output of that script. */
  const waiting = async (directory: string, pid: number, meanwhile: string) => {
    writeFileSync(join(directory, 'sleep'), `#!/bin/sh\n${meanwhile}\n`, { mode: 0o755 });
    const env = {
      PATH: `${directory}:${process.env['PATH']}`,
      RUNTIME_DIRECTORY: directory,
      MAINPID: String(pid),
    };
    const child = spawn(WAIT_LISTENING, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [status] = await once(child, 'close');
    return [status, said];
  };
  const SAY = ': > "$RUNTIME_DIRECTORY/ready.$MAINPID"; echo waits';

  test('waits for the port file of that very process', async (t) => {
    const directory = folder(t);
    writeFileSync(join(directory, 'ready.1'), '');
    assert.deepEqual(await waiting(directory, process.pid, SAY), [0, 'waits\n']);
    assert.deepEqual(await waiting(directory, process.pid, SAY), [0, '']);
  });

  test('does not wait for a process that has ended', async (t) => {
    const ended = spawn('true');
    await once(ended, 'close');
    assert.deepEqual(await waiting(folder(t), ended.pid ?? 0, SAY), [0, '']);
  });
});
