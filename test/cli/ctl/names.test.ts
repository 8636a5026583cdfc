// Tests which thing a word of a command line names. A word of digits is an id only where there are ids.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveNames } from '../../../src/cli/ctl/names.js';
import { tonearm } from '../../../src/client/routes.js';

const OUTPUTS = [{ id: 3, name: 'kitchen', label: '2048' }];
const LISTS: Readonly<Record<string, object>> = {
  '/audio/outputs': OUTPUTS,
  '/services': [{ scope: 'user', name: '2048.service' }],
  '/bluetooth/devices': [{ address: 'AA:BB:CC:00:00:01', name: '500' }],
};

const node = tonearm('http://node', {
  fetch: async (input) => Response.json(LISTS[new URL(String(input)).pathname]),
});

const ROWS: readonly (readonly [what: string, params: Readonly<Record<string, string>>, expected: string])[] =
  [
    ['unit with this name', { scope: 'user', unit: '2048' }, '2048.service'],
    ['Bluetooth device with this name', { address: '500' }, 'AA:BB:CC:00:00:01'],
    ['output with this id, even if another output has this label', { output: '2048' }, '2048'],
  ];
for (const [what, params, expected] of ROWS) {
  test(`a word of digits names the ${what}`, async () => {
    const resolved = await resolveNames(node, { params, body: undefined });
    assert.ok(resolved.ok);
    assert.equal(Object.values(resolved.value.call.params).at(-1), expected);
  });
}
