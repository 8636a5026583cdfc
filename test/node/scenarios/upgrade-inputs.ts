// A progress socket beside others of the runtime directory, and the result file in a read-only set-up.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
import { READ_ONLY, RESULT, type UpgradeDaemon } from './upgrade-daemon.js';

export function inputScenarios(daemon: UpgradeDaemon): void {
  test('the socket may be in the runtime directory itself, beside which the user can make nothing', async () => {
    const socket = `/run/user/${daemon.node.uid}/upgrade.sock`;
    await daemon.begin(READ_ONLY.replace('}', `, progressSocket: ${socket}}`));
    await daemon.shell(`tonearm progress begin --total 1 --socket ${socket}`);
    await daemon.runs('running', 'socket');
    assert.doesNotMatch((await daemon.ask('GET', '/health')).text, /cannot listen/);
  });

  test('a result file alone needs no bus', async () => {
    await daemon.begin(READ_ONLY);
    assert.equal(await daemon.post('/upgrade/start'), 404);
    assert.equal(await daemon.post('/upgrade/check'), 404);
    const nothing = await daemon.answers();
    assert.deepEqual([nothing.current, nothing.latest, nothing.upgrade_available], ['', '', false]);
    assert.match((await daemon.ask('GET', '/health')).text, /it does not exist/);
    await daemon.shell(
      `mkdir -p $(dirname ${RESULT}); echo '{"current":"1","latest":"2","upgrade_available":true,"n":1.50}' > ${RESULT}`,
    );
    await daemon.sees('the file', ({ latest }) => latest === '2');
    assert.match((await daemon.ask('GET', '/upgrade')).text, /"extra":\{"n":1\.50\}/);
    assert.doesNotMatch((await daemon.ask('GET', '/health')).text, /detail/);
    await daemon.shell(`echo '{"current":' > ${RESULT}`);
    await until('the reason is in /health', async () =>
      /not a JSON object/.test((await daemon.ask('GET', '/health')).text),
    );
    assert.equal((await daemon.answers()).latest, '2');
  });
}
