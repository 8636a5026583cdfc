// The backend without a bus: its records from result file and socket, and its reports of a part in trouble.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openUpgrade } from '../../../src/actors/upgrade/backend.js';
import { systemClock } from '../../../src/clock.js';
import type { ActorItem } from '../../../src/protocol/actor/messages.js';
import type { UpgradeSettings } from '../../../src/protocol/actor/settings.js';
import { until } from '../../until.js';

const GOOD = '{"current":"1","latest":"2","upgrade_available":true,"n":1.50}';

async function stage(t: TestContext, more: Partial<UpgradeSettings> = {}, saved?: string) {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-upgrade-'));
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
  const backend = openUpgrade(
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
  t.after(async () => {
    await backend.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const puts = (collection: string): unknown[] =>
    said.flatMap((item) =>
      item.kind === 'put' && item.collection === collection ? [JSON.parse(item.json)] : [],
    );
  const last = (collection: string): unknown => puts(collection).at(-1);
  const parts = (part: 'status' | 'run'): unknown[] =>
    said.flatMap((item) =>
      item.kind === 'put' && item.collection === 'upgrade.info' && item.key === part
        ? [JSON.parse(item.json)]
        : [],
    );
  /** Percent and step, as `GET /upgrade` has them. */
  const step = (): string => {
    const { run } = last('upgrade') as {
      readonly run: { readonly percent?: number; readonly step?: string };
    };
    return JSON.stringify({ percent: run.percent, step: run.step });
  };
  const statuses = () =>
    said.flatMap((item) => (item.kind === 'status' ? [`${item.state}: ${item.detail ?? ''}`] : []));
  await until('the status comes', () => statuses().length > 0);
  return { directory, settings, said, backend, puts, last, parts, step, statuses };
}

test('a read-only backend publishes everything before it is up, and cannot be triggered', async (t) => {
  const { said, last, parts, statuses, backend } = await stage(t);
  assert.match(statuses()[0] ?? '', /^up: result file .*it does not exist$/);
  const up = said.findIndex(({ kind }) => kind === 'status');
  const before = said.slice(0, up).flatMap((item) => (item.kind === 'put' ? [item.collection] : []));
  assert.deepEqual(before, ['upgrade.info', 'upgrade.info', 'upgrade']);
  assert.deepEqual(parts('status').at(-1), { current: '', latest: '', upgrade_available: false });
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
  const { settings, parts, statuses } = await stage(t);
  const file = settings.resultFile ?? '';
  writeFileSync(file, GOOD);
  await until('the status comes', () => parts('status').at(-1) !== undefined && statuses().at(-1) === 'up: ');
  const status = parts('status').at(-1);
  assert.deepEqual(status, { current: '1', latest: '2', upgrade_available: true, extra: { n: 1.5 } });
  writeFileSync(file, '{"current":1}');
  await until('the reason is published', () =>
    /current is not a string|has no latest/.test(statuses().at(-1) ?? ''),
  );
  assert.deepEqual(parts('status').at(-1), status);
  writeFileSync(file, GOOD);
  await until('the reason is removed', () => statuses().at(-1) === 'up: ');
});

test('a corrupt state file is a warning, and counts as no run', async (t) => {
  const { said, parts, statuses } = await stage(t, {}, '{"state":"runn');
  assert.ok(said.some((item) => item.kind === 'log' && item.message === 'problem with the state file'));
  assert.match(statuses()[0] ?? '', /state file .*: it is ignored: it does not hold a run/);
  assert.deepEqual(parts('run').at(-1), { state: 'idle' });
});

test('a run of systemd that cannot be followed any more has failed', async (t) => {
  const saved =
    '{"state":"running","origin":"systemd","started_at":"1970-01-01T00:00:01Z","boot":"boot","manager":"1","unit":"up.service"}';
  const { parts } = await stage(t, {}, saved);
  assert.equal((parts('run').at(-1) as { state: string }).state, 'failed');
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
  const { statuses, directory, settings, parts } = await stage(t, {
    progressSocket: '/proc/nowhere/upgrade.sock',
  });
  assert.match(statuses()[0] ?? '', /progress socket \/proc\/nowhere\/upgrade\.sock: cannot listen there/);
  mkdirSync(join(directory, 'unused'));
  writeFileSync(settings.resultFile ?? '', GOOD);
  await until('the status comes', () => JSON.stringify(parts('status').at(-1)).includes('"latest":"2"'));
});
