// Tests the address that `tonearm ctl` makes of the text behind `--node`.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressOf } from '../../../src/cli/ctl/node-address.js';

describe('the address of a node', () => {
  for (const [text, expected] of [
    ['kitchen.local', 'http://kitchen.local:8018/'],
    ['kitchen.local/', 'http://kitchen.local:8018/'],
    ['kitchen.local:9000', 'http://kitchen.local:9000/'],
    ['kitchen.local:9000/', 'http://kitchen.local:9000/'],
    // A URL leaves out port 80, because it is the default of HTTP.
    ['kitchen.local:80', 'http://kitchen.local/'],
    ['fd00::1', 'http://[fd00::1]:8018/'],
    ['[fd00::1]:9000', 'http://[fd00::1]:9000/'],
    ['https://kitchen.local/node', 'https://kitchen.local/node'],
    ['https://kitchen.local:8443?', 'https://kitchen.local:8443/'],
    ['https://kitchen.local/node?#', 'https://kitchen.local/node'],
    ['kitchen.local:9000?', 'http://kitchen.local:9000/'],
    ['kitchen.local#', 'http://kitchen.local:8018/'],
  ] as const)
    test(`${text} means ${expected}`, () => {
      const address = addressOf(text);
      assert.ok(address.ok);
      assert.equal(address.value.base, expected);
    });

  for (const [userAndPassword, expected] of [
    ['me:secret', 'me:secret'],
    ['me', 'me:'],
    [':secret', ':secret'],
  ] as const)
    test(`the request to ${userAndPassword}@kitchen.local has these in its header Authorization`, () => {
      const address = addressOf(`${userAndPassword}@kitchen.local`);
      assert.ok(address.ok);
      const encoded = Buffer.from(expected).toString('base64');
      assert.deepEqual(address.value.headers, { Authorization: `Basic ${encoded}` });
    });

  for (const text of [
    '',
    'kitchen.local/node',
    '?',
    'kitchen.local?a=b',
    'https://kitchen.local/?a=b',
    'https://kitchen.local/#a',
    'two words',
  ])
    test(`${JSON.stringify(text)} is no address`, () => {
      assert.ok(!addressOf(text).ok);
    });

  for (const text of [
    'https://me:s3#cret@kitchen.local',
    'https://me:s3?cret@kitchen.local/node',
    'me:s3cret@kitchen.local/node',
    'me:my s3/cret@kitchen.local',
  ])
    test(`the error for ${text} does not repeat the password`, () => {
      const address = addressOf(text);
      // The error has three dots in place of the user's name and password.
      assert.match(
        address.ok ? '' : address.error,
        /^"(?:https:\/\/)?\.\.\.@kitchen\.local[/\w]*" is no address/,
      );
    });
});
