// The D-Bus wrapper over the node's real buses. The tests themselves run inside (bus-inside.ts), as pi.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { NODE_PROGRAM, type Node } from '../node.js';

const INSIDE = fileURLToPath(new URL('bus-inside.js', import.meta.url));

/** In one file, because the node need not see the folder of the project: its /tmp, for one, is its own. */
async function installInside(node: Node): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-inside-'));
  try {
    await build({
      entryPoints: [INSIDE],
      outfile: join(folder, 'inside.cjs'),
      bundle: true,
      platform: 'node',
      external: ['usocket', 'x11'],
      logLevel: 'error',
    });
    await node.install(folder, '/opt/bus-inside');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return '/opt/bus-inside/inside.cjs';
}

export function busScenarios(node: () => Node): void {
  test('the wrapper over the real systemd and logind', async () => {
    await node().writeUnit('user', 'tpl@.service', '[Service]\nExecStart=sleep infinity\n');
    const program = await installInside(node());
    // The address of the bus is to be found as without a login's environment.
    const ran = await node().user('env', '-u', 'DBUS_SESSION_BUS_ADDRESS', NODE_PROGRAM, program, 'inside');
    assert.equal(ran.status, 0, ran.stdout + ran.stderr);
    assert.match(ran.stdout, /^# pass 4$/m);
  });
}
