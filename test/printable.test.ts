// Tests how errors, and texts of other programs, are written for people.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { clipped, errorText, printable } from '../src/printable.js';
import { freePort } from './tools/free-port.js';

const refusedBy = (address: string) => new Error(`connect ECONNREFUSED ${address}`);
const WORDINGS: readonly (readonly [what: string, error: unknown, wording: string])[] = [
  ['an error', new Error(' no\n'), 'no'],
  [
    'several errors',
    new AggregateError([refusedBy('::1:1'), refusedBy('127.0.0.1:1')]),
    'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
  ],
  ['the same error twice', new AggregateError([new Error('late'), new Error('late')]), 'late'],
  [
    'many errors',
    new AggregateError('abcdef'.split('').map((name) => new Error(name))),
    'a; b; c; d; 2 more',
  ],
  [
    'an AggregateError with a code and no errors',
    Object.assign(new AggregateError([]), { code: 'ETIMEDOUT' }),
    'ETIMEDOUT',
  ],
  ['an error with a cause', new Error('', { cause: new Error('why') }), 'why'],
  ['an error with a code', Object.assign(new Error(''), { code: 'EPIPE' }), 'EPIPE'],
  ['an error without message, cause and code', new TypeError(), 'TypeError'],
  ['a text', 'why', 'why'],
  ['an empty text', '', 'an error without a message'],
  ['undefined', undefined, 'undefined'],
  ['an object that cannot become a text', Object.create(null), 'an error without a message'],
];
for (const [what, error, wording] of WORDINGS) {
  test(`the wording of ${what} is ${JSON.stringify(wording)}`, () => assert.equal(errorText(error), wording));
}

test('the wording of an error that is its own cause is its name', () => {
  const error = new Error('');
  error.cause = error;
  assert.equal(errorText(error), 'Error');
});

test('the error of a connection to a name with several addresses has the error of each address', async () => {
  const port = await freePort();
  const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
  const lookup = (_host: string, _options: object, callback: (error: null, all: object[]) => void): void =>
    callback(null, addresses);
  const error = await new Promise((resolve) =>
    connect({
      host: 'broker.test',
      port,
      lookup: lookup as never,
      autoSelectFamily: true,
      // Node reports ETIMEDOUT for an address if the attempt takes longer than this. On a busy machine it
      // may take longer than the usual 250 ms.
      autoSelectFamilyAttemptTimeout: 60_000,
    }).on('error', resolve),
  );
  assert.match(
    errorText(error),
    /^connect ECONNREFUSED 127\.0\.0\.1:\d+; connect ECONNREFUSED 127\.0\.0\.2:\d+$/,
  );
});

test('characters that could break a line, colour it or reverse its direction are written as escapes', () => {
  assert.equal(printable('a\n\x1b[31mb\u009bc\u202ed'), 'a\\u{a}\\u{1b}[31mb\\u{9b}c\\u{202e}d');
  assert.equal(printable('Küche 🎵'), 'Küche 🎵');
});

test('a text is cut before a character of two units rather than within it', () => {
  assert.equal(clipped('abc🎵', 4), 'abc...');
  assert.equal(clipped('abc🎵', 5), 'abc🎵');
  assert.equal(clipped('abc🎵d', 5), 'abc🎵...');
});
