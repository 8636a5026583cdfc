// The backend without a bus: its records from result file and socket, and its reports of a part in trouble.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { UpgradeBackend } from '../../../src/actors/upgrade/backend.js';
import { systemClock } from '../../../src/clock.js';
import type { ActorItem } from '../../../src/protocol/actor/messages.js';
import type { UpgradeSettings } from '../../../src/protocol/actor/settings.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';

const GOOD = '{"current":"1","latest":"2","upgrade_available":true,"n":1.50}';

async function stage(t: TestContext, more: Partial<UpgradeSettings> = {}, saved?: string) {
  const directory = temporaryFolder(t);
  const settings: UpgradeSettings = {
    enabled: true,
    resultFile: join(directory, 'result.json'),
    progressSocket: join(directory, 'upgrade.sock'),
    stateFile: join(directory, 'run.json'),
    ...more,
  };
  if (saved !== undefined) writeFileSync(settings.stateFile, saved);
  const said: ActorItem[] = [];
  const say = (item: ActorItem) => said.push(item);
  const backend = new UpgradeBackend(
    settings,
    {
      put: (collection, key, json) => say({ kind: 'put', collection, key, json }),
      drop: (collection, key) => say({ kind: 'drop', collection, key }),
      level: (json) => say({ kind: 'level', json }),
      status: (state, detail) => say({ kind: 'status', state, ...(detail !== undefined && { detail }) }),
      log: (level, message) => say({ kind: 'log', level, message }),
    },
    {
      bus: {
        backoffMs: (attempt) => (attempt === 0 ? 0 : 60_000),
        paths: () => ({ ok: true, paths: [join(directory, 'no-bus')] }),
      },
      bootId: 'boot',
      clock: { ...systemClock, date: () => 5_000 },
    },
  );
  t.after(() => backend.stop());
  const last = (collection: string, key = ''): unknown => {
    const puts = said.filter((item) => item.kind === 'put').filter((item) => item.collection === collection);
    return JSON.parse(puts.findLast((item) => item.key === key)?.json ?? 'null');
  };
  const part = (key: 'status' | 'run'): unknown => last('upgrade.info', key);
  const statuses = () =>
    said.flatMap((item) => (item.kind === 'status' ? [`${item.state}: ${item.detail ?? ''}`] : []));
  await until('the status comes', () => statuses().length > 0);
  return { settings, said, backend, last, part, statuses };
}

test('a read-only backend publishes everything before it is up, and cannot be triggered', async (t) => {
  const { said, last, part, statuses, backend } = await stage(t);
  assert.match(statuses()[0] ?? '', /^up: result file .*it does not exist$/);
  const up = said.findIndex(({ kind }) => kind === 'status');
  const before = said.slice(0, up).flatMap((item) => (item.kind === 'put' ? [item.collection] : []));
  assert.deepEqual(before, ['upgrade.info', 'upgrade.info', 'upgrade']);
  assert.deepEqual(part('status'), { current: '', latest: '', upgrade_available: false });
  assert.deepEqual(last('upgrade'), {
    ...{ current: '', latest: '', upgrade_available: false },
    ...{ run: { state: 'idle' }, can_check: false, can_upgrade: false },
  });
  for (const what of ['check', 'start'] as const) {
    const answer = await backend.handle({ do: what });
    assert.equal(!answer.ok && answer.fault, 'unavailable');
  }
});

test('a bad file keeps the last good status, with the reason until it is good again', async (t) => {
  const { settings, part, statuses } = await stage(t);
  const file = settings.resultFile ?? '';
  writeFileSync(file, GOOD);
  await until('the status comes', () => part('status') !== undefined && statuses().at(-1) === 'up: ');
  const status = part('status');
  assert.deepEqual(status, { current: '1', latest: '2', upgrade_available: true, extra: { n: 1.5 } });
  writeFileSync(file, '{"current":1}');
  await until('the reason is published', () =>
    /current is not a string|has no latest/.test(statuses().at(-1) ?? ''),
  );
  assert.deepEqual(part('status'), status);
  writeFileSync(file, GOOD);
  await until('the reason is removed', () => statuses().at(-1) === 'up: ');
});

test('a corrupt state file is a warning, and counts as no run', async (t) => {
  const { said, part, statuses } = await stage(t, {}, '{"state":"runn');
  assert.ok(said.some((item) => item.kind === 'log' && item.message === 'problem with the state file'));
  assert.match(statuses()[0] ?? '', /state file .*: it is ignored: it does not hold a run/);
  assert.deepEqual(part('run'), { state: 'idle' });
});

test('a run of systemd that cannot be followed any more has failed', async (t) => {
  const saved =
    '{"state":"running","origin":"systemd","started_at":"1970-01-01T00:00:01Z","boot":"boot","manager":"1","unit":"up.service"}';
  const { part } = await stage(t, {}, saved);
  assert.equal((part('run') as { state: string }).state, 'failed');
});

test('a backend with units and no bus is connecting, and refuses to start', async (t) => {
  const { statuses, backend, said } = await stage(t, {
    upgradeUnit: 'up.service',
    checkUnit: 'check.service',
  });
  assert.match(statuses()[0] ?? '', /^connecting: ./);
  for (const what of ['check', 'start'] as const) {
    const answer = await backend.handle({ do: what });
    assert.equal(!answer.ok && answer.fault, 'unavailable');
  }
  assert.ok(said.every(({ kind }) => kind !== 'put'));
});

test('parts that do not work are named, and the others work', async (t) => {
  const { statuses, settings, part } = await stage(t, {
    progressSocket: '/dev/null/upgrade.sock',
  });
  assert.match(statuses()[0] ?? '', /progress socket \/dev\/null\/upgrade\.sock: cannot listen there/);
  writeFileSync(settings.resultFile ?? '', GOOD);
  await until('the status comes', () => JSON.stringify(part('status')).includes('"latest":"2"'));
});
