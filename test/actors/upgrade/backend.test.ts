// The backend without a bus: its records from result file and socket, and its reports of a part in trouble.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { UpgradeBackend } from '../../../src/actors/upgrade/backend.js';
import { systemClock } from '../../../src/host/clock.js';
import type { UpgradeSettings } from '../../../src/protocol/actor/settings.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { faultOf, Recorder } from '../recorder.js';

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
  const recorder = new Recorder();
  const paths = () => ({ ok: true, value: [join(directory, 'no-bus')] }) as const;
  const bus = { paths, backoffMs: (attempt: number) => (attempt === 0 ? 0 : 60_000) };
  const clock = { ...systemClock, date: () => 5_000 };
  const backend = new UpgradeBackend(settings, recorder, { bus, bootId: 'boot', clock });
  t.after(() => backend.stop());
  const part = (key: 'status' | 'run'): unknown => recorder.newest('upgrade.info', key);
  await until('the status comes', () => recorder.state !== '');
  return { settings, recorder, backend, part };
}

test('a read-only backend publishes everything before it is up, and cannot be triggered', async (t) => {
  const { recorder, part, backend } = await stage(t);
  assert.match(recorder.state, /^up: result file .*it does not exist$/);
  assert.deepEqual(recorder.published, [
    'put upgrade.info status',
    'put upgrade.info run',
    'put upgrade',
    recorder.state,
  ]);
  assert.deepEqual(part('status'), { current: '', latest: '', upgrade_available: false });
  assert.deepEqual(recorder.newest('upgrade'), {
    current: '',
    latest: '',
    upgrade_available: false,
    run: { state: 'idle' },
    can_check: false,
    can_upgrade: false,
  });
  for (const what of ['check', 'start'] as const)
    assert.equal(faultOf(await backend.handle({ do: what })), 'unavailable');
});

test('a bad file keeps the last good status, with the reason until it is good again', async (t) => {
  const { settings, part, recorder } = await stage(t);
  const file = settings.resultFile ?? '';
  writeFileSync(file, GOOD);
  await until('the status comes', () => part('status') !== undefined && recorder.state === 'up');
  const status = part('status');
  assert.deepEqual(status, { current: '1', latest: '2', upgrade_available: true, extra: { n: 1.5 } });
  writeFileSync(file, '{"current":1}');
  await until('the reason is published', () => /current is not a string|has no latest/.test(recorder.state));
  assert.deepEqual(part('status'), status);
  writeFileSync(file, GOOD);
  await until('the reason is removed', () => recorder.state === 'up');
});

test('a corrupt state file is a warning, and counts as no run', async (t) => {
  const { recorder, part } = await stage(t, {}, '{"state":"runn');
  assert.ok(recorder.logs.includes('warn: problem with the state file'));
  assert.match(recorder.state, /state file .*: it is ignored: it does not hold a run/);
  assert.deepEqual(part('run'), { state: 'idle' });
});

test('a run of systemd that cannot be followed any more has failed', async (t) => {
  const saved =
    '{"state":"running","origin":"systemd","started_at":"1970-01-01T00:00:01Z","boot":"boot","manager":"1","unit":"up.service"}';
  const { part } = await stage(t, {}, saved);
  assert.equal((part('run') as { state: string }).state, 'failed');
});

test('a backend with units and no bus is connecting, and refuses to start', async (t) => {
  const { backend, recorder } = await stage(t, { upgradeUnit: 'up.service', checkUnit: 'check.service' });
  assert.match(recorder.state, /^connecting: ./);
  for (const what of ['check', 'start'] as const)
    assert.equal(faultOf(await backend.handle({ do: what })), 'unavailable');
  assert.ok(recorder.published.every((line) => !line.startsWith('put')));
});

test('parts that do not work are named, and the others work', async (t) => {
  const { recorder, settings, part } = await stage(t, { progressSocket: '/dev/null/upgrade.sock' });
  assert.match(recorder.state, /progress socket \/dev\/null\/upgrade\.sock: cannot listen there/);
  writeFileSync(settings.resultFile ?? '', GOOD);
  await until('the status comes', () => JSON.stringify(part('status')).includes('"latest":"2"'));
});
