// Tests when a module of ours counts as unloaded. The test chooses the answers of the sound server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ask, unloadModule } from '../../../src/actors/audio/sound-modules.js';
import type { RequestName } from '../../../src/protocol/pulse/commands.js';
import type { RequestError } from '../../../src/protocol/pulse/outcome.js';
import type { ModuleInfo } from '../../../src/protocol/pulse/records.js';

const MODULE: ModuleInfo = { index: 7, name: 'module-loopback', argument: 'x', used: undefined, props: {} };

/**
 * `unloadModule` first reads the module. Each row has an error of this reading, and the reason that
 * `unloadModule` then returns. If the reason is undefined, the module counts as unloaded.
 */
const ERRORS: readonly (readonly [error: RequestError, reason: string | undefined])[] = [
  [{ kind: 'server', code: 5, name: 'NOENTITY', meaning: 'no such entity' }, undefined],
  [{ kind: 'server', code: 1, name: 'ACCESS', meaning: 'access denied' }, 'access denied (ACCESS)'],
  [{ kind: 'timeout' }, 'timeout'],
];

for (const [error, reason] of ERRORS) {
  const outcome = reason === undefined ? 'counts as unloaded' : 'does not count as unloaded';
  test(`a module ${outcome} if its reading fails with ${JSON.stringify(error)}`, async () => {
    const requests: RequestName[] = [];
    const ask = (async (command: RequestName) => {
      requests.push(command);
      return { ok: false, error };
    }) as unknown as Ask;

    assert.equal(await unloadModule(ask, MODULE), reason);
    assert.deepEqual(requests, ['GET_MODULE_INFO']);
  });
}
