// Tests the upgrade backend without a bus: its records from the result file, the state file and progress
// lines, its reports of parts that fail, and the commands that it refuses.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { UpgradeBackend } from '../../../src/actors/upgrade/backend.js';
import { systemClock } from '../../../src/host/clock.js';
import type { UpgradeSettings } from '../../../src/protocol/actor/settings.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { faultOf, Recorder } from '../recorder.js';

const GOOD_RESULT = '{"current":"1","latest":"2","upgrade_available":true,"n":1.50}';

async function startBackend(
  t: TestContext,
  changedSettings: Partial<UpgradeSettings> = {},
  stateFileText?: string,
) {
  const directory = temporaryFolder(t);
  const settings: UpgradeSettings = {
    enabled: true,
    resultFile: join(directory, 'result.json'),
    progressSocket: join(directory, 'upgrade.sock'),
    stateFile: join(directory, 'run.json'),
    ...changedSettings,
  };
  if (stateFileText !== undefined) writeFileSync(settings.stateFile, stateFileText);
  const recorder = new Recorder();
  const paths = () => ({ ok: true, value: [join(directory, 'no-bus')] }) as const;
  // The bus is missing. The second attempt to connect would come only after the end of a test.
  const bus = { paths, backoffMs: (attempt: number) => (attempt === 0 ? 0 : 60_000) };
  const clock = { ...systemClock, date: () => 5_000 };
  const backend = new UpgradeBackend(settings, recorder, { bus, bootId: 'boot', clock });
  t.after(() => backend.stop());
  const infoRecord = (key: 'status' | 'run'): unknown => recorder.newest('upgrade.info', key);
  await until('the backend has a state', () => recorder.state !== '');
  return { settings, recorder, backend, infoRecord };
}

test('a backend without units publishes everything before it is up, and refuses to check and to upgrade', async (t) => {
  const { recorder, infoRecord, backend } = await startBackend(t);
  assert.match(recorder.state, /^up: result file .*it does not exist$/);
  // The recorder also lists the state, so the last line shows that `up` comes after all records.
  assert.deepEqual(recorder.published, [
    'put upgrade.info status',
    'put upgrade.info run',
    'put upgrade.run run',
    'put upgrade',
    recorder.state,
  ]);
  assert.deepEqual(infoRecord('status'), { current: '', latest: '', upgrade_available: false });
  assert.deepEqual(recorder.newest('upgrade'), {
    current: '',
    latest: '',
    upgrade_available: false,
    run: { state: 'idle' },
    can_check: false,
    can_upgrade: false,
  });
  for (const verb of ['check', 'start'] as const)
    assert.equal(faultOf(await backend.handle({ do: verb })), 'unavailable');
});

test('while the result file is bad, the last good status stays, and the backend reports the problem', async (t) => {
  const { settings, infoRecord, recorder } = await startBackend(t);
  const file = settings.resultFile ?? '';
  writeFileSync(file, GOOD_RESULT);
  await until('the status of the good file is published', () => recorder.state === 'up');
  const status = infoRecord('status');
  // `extra` has the members of the file that have no meaning for the daemon.
  assert.deepEqual(status, { current: '1', latest: '2', upgrade_available: true, extra: { n: 1.5 } });

  writeFileSync(file, '{"current":1}');
  await until('the problem is published', () => /current is not a string/.test(recorder.state));
  assert.deepEqual(infoRecord('status'), status);

  writeFileSync(file, GOOD_RESULT);
  await until('the problem is removed', () => recorder.state === 'up');
});

test('a corrupt state file causes a warning and is ignored, so there is no run', async (t) => {
  const { recorder, infoRecord } = await startBackend(t, {}, '{"state":"runn');
  assert.ok(recorder.logs.includes('warn: problem with the state file'));
  assert.match(recorder.state, /state file .*: it is ignored: it does not hold a run/);
  assert.deepEqual(infoRecord('run'), { state: 'idle' });
});

test('a saved run that systemd had started becomes failed if no upgrade unit is configured any more', async (t) => {
  const savedRun =
    '{"state":"running","origin":"systemd","started_at":"1970-01-01T00:00:01Z","boot":"boot","manager":"1","unit":"up.service"}';
  const { infoRecord } = await startBackend(t, {}, savedRun);
  assert.equal((infoRecord('run') as { state: string }).state, 'failed');
});

test('a backend with units but without a bus is connecting, publishes no record, and refuses to check and to upgrade', async (t) => {
  const { backend, recorder } = await startBackend(t, {
    upgradeUnit: 'up.service',
    checkUnit: 'check.service',
  });
  assert.match(recorder.state, /^connecting: ./);
  for (const verb of ['check', 'start'] as const)
    assert.equal(faultOf(await backend.handle({ do: verb })), 'unavailable');
  assert.ok(recorder.published.every((line) => !line.startsWith('put')));
});

test('the backend names a part that does not work, and the other parts work', async (t) => {
  const { recorder, settings, infoRecord } = await startBackend(t, {
    progressSocket: '/dev/null/upgrade.sock',
  });
  assert.match(recorder.state, /progress socket \/dev\/null\/upgrade\.sock: cannot listen there/);
  writeFileSync(settings.resultFile ?? '', GOOD_RESULT);
  await until('the status is published', () => JSON.stringify(infoRecord('status')).includes('"latest":"2"'));
});

test('the beginning of a run is published before its progress lines, and its end is published after them', async (t) => {
  const { recorder, settings } = await startBackend(t);
  const countBefore = recorder.published.length;
  const script = connect(settings.progressSocket);
  script.end('{"event":"progress","percent":5,"current":1,"step":"a"}\n{"event":"end","success":true}\n');
  script.resume();
  await once(script, 'close');
  // The run's record is put when the run begins and when it ends. Both lines are put as progress.
  assert.deepEqual(
    recorder.published
      .slice(countBefore)
      .filter((line) => line.startsWith('put upgrade.info') || line.startsWith('put upgrade.progress')),
    ['put upgrade.info run', 'put upgrade.progress', 'put upgrade.progress', 'put upgrade.info run'],
  );
});
