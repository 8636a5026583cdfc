// Entity tags and their comparison.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMatch, PageMaker, pageReply, RememberedPage } from '../../src/gateway/page.js';

const rows: [ifNoneMatch: string, matches: boolean][] = [
  ['"a-1"', true],
  ['W/"a-1"', true],
  ['*', true],
  [' * ', true],
  ['"x", "a-1"', true],
  ['"x",W/"a-1","y"', true],
  ['"a-2"', false],
  ['"a-1', false],
  ['a-1', false],
  ['"x"', false],
  ['"A-1"', false],
  ['""', false],
  ['rubbish', false],
];
for (const [ifNoneMatch, matches] of rows) {
  test(`If-None-Match: ${ifNoneMatch} ${matches ? 'names' : 'does not name'} "a-1"`, () => {
    assert.equal(isMatch(ifNoneMatch, '"a-1"'), matches);
  });
}

test('no two pages share a tag, and a page without condition is whole', () => {
  const maker = new PageMaker('b');
  const [one, two] = [maker.make('[]', 0), maker.make('[]', 0)];
  assert.notEqual(one.etag, two.etag);
  assert.equal(pageReply(one, '').status, 200);
  assert.equal(pageReply(one, one.etag).status, 304);
  assert.equal(pageReply(one, one.etag).body, undefined);
});

test('a remembered page changes tag and time with its text only', () => {
  const remembered = new RememberedPage(new PageMaker('b'));
  const first = remembered.of('1', 1000);
  assert.equal(remembered.of('1', 2000), first);
  assert.notEqual(remembered.of('2', 3000).etag, first.etag);
});
