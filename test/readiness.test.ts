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
import { textOf } from './tools/spawned.js';

const WAIT_LISTENING = fileURLToPath(new URL('../../packaging/deb/wait-listening', import.meta.url));
const PID = 7;
const CONNECTING: BackendHealth = { state: 'connecting', since: 0, restarts: 0 };

function begin(t: TestContext, upgrades: boolean) {
  const directory = temporaryFolder(t);
  const heard: string[] = [];
  const failures: string[] = [];
  const clock = new ManualClock();
  const behind: ChildListener = {
    changes: () => undefined,
    level: () => undefined,
    health: (backend, { state }) => heard.push(`${backend} ${state}`),
    pulled: () => undefined,
    asked: async () => ({ status: 204, body: '' }),
  };
  const failed = (reason: string) => failures.push(reason);
  const listener = readyWith(behind, { directory, pid: PID, upgrades, clock, failed });
  const isReady = () => existsSync(join(directory, `ready.${PID}`));
  return { directory, heard, failures, listener, isReady, clock };
}

test('without upgrades the start is reported to systemd at once', (t) => {
  assert.ok(begin(t, false).isReady());
});

for (const word of [
  { ...CONNECTING, state: 'up' },
  { ...CONNECTING, detail: 'no bus' },
  { ...CONNECTING, state: 'failed' },
] satisfies readonly BackendHealth[]) {
  test(`the start is reported with the upgrade backend's first state: ${word.state}`, (t) => {
    const { listener, isReady, heard, clock } = begin(t, true);
    listener.health('upgrade', CONNECTING);
    listener.health('audio', { ...CONNECTING, state: 'up' });
    assert.ok(!isReady());
    listener.health('upgrade', word);
    assert.ok(isReady());
    assert.equal(clock.timers, 0);
    assert.deepEqual(heard, ['upgrade connecting', 'audio up', `upgrade ${word.state}`]);
  });
}

test('the start is reported in the end also if the upgrade backend has no state', (t) => {
  const { isReady, clock } = begin(t, true);
  clock.advance(20_000);
  assert.ok(isReady());
});

test('a report that fails is logged', (t) => {
  const { directory, listener, failures } = begin(t, true);
  rmSync(directory, { recursive: true });
  listener.health('upgrade', { ...CONNECTING, state: 'up' });
  assert.match(failures.join(), /^Error: ENOENT/);
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
    const said = textOf(child.stdout);
    const [status] = await once(child, 'close');
    return [status, said()];
  };
  const SAY = ': > "$RUNTIME_DIRECTORY/ready.$MAINPID"; echo waits';

  test('waits for the port file of that very process', async (t) => {
    const directory = temporaryFolder(t);
    writeFileSync(join(directory, 'ready.1'), '');
    assert.deepEqual(await waiting(directory, process.pid, SAY), [0, 'waits\n']);
    assert.deepEqual(await waiting(directory, process.pid, SAY), [0, '']);
  });

  test('does not wait for a process that has ended', async (t) => {
    const ended = spawn('true');
    await once(ended, 'close');
    assert.deepEqual(await waiting(temporaryFolder(t), ended.pid ?? 0, SAY), [0, '']);
  });
});
