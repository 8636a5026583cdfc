// Tests which errors of the sound server mean that a module of the daemon is gone. No server runs: each test
// makes the server's answer itself.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ask, unloadModule } from '../../../src/actors/audio/sound-modules.js';
import type { RequestName } from '../../../src/protocol/pulse/commands.js';
import type { RequestError } from '../../../src/protocol/pulse/outcome.js';
import type { ModuleInfo } from '../../../src/protocol/pulse/records.js';

const MODULE: ModuleInfo = { index: 7, name: 'module-loopback', argument: 'x', used: undefined, props: {} };

/**
 * `unloadModule` first sends GET_MODULE_INFO. Each row has an error of this request, and the result of
 * `unloadModule`: the reason of the failure, or undefined if the module counts as unloaded.
 */
const ERRORS: readonly (readonly [error: RequestError, reason: string | undefined])[] = [
  [{ kind: 'server', code: 5, name: 'NOENTITY', meaning: 'no such entity' }, undefined],
  [{ kind: 'server', code: 1, name: 'ACCESS', meaning: 'access denied' }, 'access denied (ACCESS)'],
  [{ kind: 'timeout' }, 'timeout'],
];

for (const [error, reason] of ERRORS) {
  const outcome = reason === undefined ? 'counts as unloaded' : 'does not count as unloaded';
  test(`a module ${outcome} if GET_MODULE_INFO fails with ${JSON.stringify(error)}`, async () => {
    const requests: RequestName[] = [];
    const ask = (async (command: RequestName) => {
      requests.push(command);
      return { ok: false, error };
    }) as unknown as Ask;

    assert.equal(await unloadModule(ask, MODULE), reason);
    assert.deepEqual(requests, ['GET_MODULE_INFO']);
  });
}
