// Taking JSON text apart: spelling and order survive.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compact, membersOf } from '../../../src/actors/upgrade/json-source.js';

function check(json: string, expected: readonly string[] | undefined): void {
  test(`members of ${JSON.stringify(json).slice(0, 60)}`, () => {
    assert.deepEqual(
      membersOf(json)?.map(({ keySource, source }) => `${keySource}:${source}`),
      expected,
    );
  });
}

check('{}', []);
check(' { } ', []);
check('{"a":1.50}', ['"a":1.50']);
check('{"a" : 12345678901234567890 , "b":1E+2}', ['"a":12345678901234567890', '"b":1E+2']);
check('{"10":1,"2":2,"1":3}', ['"10":1', '"2":2', '"1":3']);
check('{"a":{"b":[1, 2, {"c": "}],{"}]},"d":"x, \\"y\\" }"}', [
  '"a":{"b":[1,2,{"c":"}],{"}]}',
  '"d":"x, \\"y\\" }"',
]);
check('{"__proto__":1,"constructor":[]}', ['"__proto__":1', '"constructor":[]']);
check('{"\\u0061":1,"a":2}', ['"a":2']);
check('{"a":"\\\\","b":"\\\\\\""}', ['"a":"\\\\"', '"b":"\\\\\\""']);
check('{"a":"\u2028\u00e9\ud83d\ude00"}', ['"a":"\u2028\u00e9\ud83d\ude00"']);
check('[1]', undefined);
check('"{}"', undefined);
check('null', undefined);
check('{"a":1', undefined);
check('{"a":1}x', undefined);
check('', undefined);

test('white space goes between tokens and stays in strings', () => {
  assert.equal(compact('{\n "a b" :\t[ 1 ,\r\n"  \\" \\\\" ] }'), '{"a b":[1,"  \\" \\\\"]}');
});

test('a megabyte of nesting, of escapes or of plain text is taken like anything else', () => {
  const half = 500_000;
  for (const value of [
    `${'['.repeat(half)}${']'.repeat(half)}`,
    `"${'\\n'.repeat(half)}"`,
    `"${'x'.repeat(2 * half)}"`,
    `[${'1, '.repeat(half / 2)}1]`,
  ]) {
    assert.equal(membersOf(`{"a":${value}}`)?.[0]?.source, value.replaceAll(' ', ''));
  }
});
