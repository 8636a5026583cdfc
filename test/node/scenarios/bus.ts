// The D-Bus wrapper over the node's real buses. The tests themselves run inside (bus-inside.ts), as pi.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Node } from '../node.js';

const INSIDE = fileURLToPath(new URL('bus-inside.js', import.meta.url));

export function busScenarios(node: () => Node): void {
  test('the wrapper over the real systemd and logind', async () => {
    await node().writeUnit('user', 'tpl@.service', '[Service]\nExecStart=sleep infinity\n');
    // Without the variable that tells a test file it is a child of another's test run.
    const ran = await node().root(
      'env',
      '-u',
      'NODE_TEST_CONTEXT',
      process.execPath,
      INSIDE,
      String(node().uid),
    );
    assert.equal(ran.status, 0, ran.stdout + ran.stderr);
    assert.match(ran.stdout, /^# pass 4$/m);
  });
}
