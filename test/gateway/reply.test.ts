// Entity tags and their comparison.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMatch, ResponseMaker, replyOf } from '../../src/gateway/reply.js';

const rows: [ifNoneMatch: string, matches: boolean][] = [
  ['"a-1"', true],
  ['W/"a-1"', true],
  ['*', true],
  [' * ', true],
  ['"x", "a-1"', true],
  ['"x",W/"a-1","y"', true],
  ['"a-1', false],
  ['a-1', false],
  ['"A-1"', false],
];
for (const [ifNoneMatch, matches] of rows) {
  test(`If-None-Match: ${ifNoneMatch} ${matches ? 'names' : 'does not name'} "a-1"`, () => {
    assert.equal(isMatch(ifNoneMatch, '"a-1"'), matches);
  });
}

test('no two responses share a tag, and one that no client has is sent whole', () => {
  const maker = new ResponseMaker('b');
  const [one, two] = [maker.make('[]', 0), maker.make('[]', 0)];
  assert.notEqual(one.etag, two.etag);
  assert.equal(replyOf(one, '').status, 200);
  assert.equal(replyOf(one, one.etag).status, 304);
  assert.equal(replyOf(one, one.etag).body, undefined);
});

test('a body that is made again changes its tag and time only with its text', () => {
  const maker = new ResponseMaker('b');
  const first = maker.remake(undefined, '1', 1000);
  assert.equal(maker.remake(first, '1', 2000), first);
  assert.notEqual(maker.remake(first, '2', 3000).etag, first.etag);
});
