// A node is really renamed under the built daemon, in a UTS namespace of its own (docs/http-api.md, "Host and Origin").

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { lacks } from '../tools/requirements.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

const run = promisify(execFile);
const skip = lacks({ programs: ['unshare', 'nsenter', 'hostname'], root: true });

test('a renamed node answers to its new hostname, to no former one, and publishes it', {
  skip,
}, async (t) => {
  const daemon = await Daemon.start({ config: NO_BACKENDS, launcher: ['unshare', '--uts'] }, t);
  const status = async (host: string): Promise<number> =>
    (await daemon.get('/health', { Host: host })).status;
  for (const [before, now] of [
    ['node-none', 'node-a'],
    ['node-a', 'node-b'],
  ] as const) {
    await run('nsenter', ['--target', String(daemon.pid), '--uts', 'hostname', now]);
    assert.equal(await status(now), 200);
    assert.equal(await status(`${now}.local:${daemon.port}`), 200);
    assert.equal(await status(before), 403);
    assert.equal((await daemon.read<{ readonly hostname: string }>('/server')).hostname, now);
  }
});
