// Request bodies: content type, encoding, JSON, and error sentences that name the field and its fault.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkBody, contentTypeProblem, type ParsedBody, parseBody } from '../../src/gateway/body.js';
import type { BodyName } from '../../src/protocol/actor/schemas.js';

/** `checkBody` reads only these fields of a row in the table of operations. */
const operationWith = (body: BodyName | undefined, { isBodyRequired = true } = {}) => ({
  body,
  isBodyRequired,
  defaultBody: undefined,
});
const OPERATIONS = {
  reboot: operationWith(undefined, { isBodyRequired: false }),
  mute: operationWith('mute', { isBodyRequired: false }),
  volume: operationWith('volume'),
  port: operationWith('port'),
  balance: operationWith('balance'),
  move: operationWith('move'),
  position: operationWith('position'),
};

async function decodeBody(name: keyof typeof OPERATIONS, body: string | Buffer): Promise<ParsedBody> {
  const parsed = parseBody('application/json', Buffer.from(body));
  return parsed.ok ? checkBody(OPERATIONS[name], parsed.value) : parsed;
}

describe('content type', () => {
  const rows: [type: string, isAccepted: boolean][] = [
    ['application/json', true],
    ['Application/JSON', true],
    ['application/json; charset=utf-8', true],
    ['application/json;charset="UTF-8"', true],
    ['application/json; charset=utf8', true],
    ['application/json; profile=x; charset=utf-8', true],
    ['application/json;', true],
    ['application/json; charset=iso-8859-1', false],
    ['', false],
    ['text/plain', false],
    ['text/plain; x=application/json', false],
    ['application/json, text/plain', false],
  ];
  for (const [type, isAccepted] of rows) {
    test(`the content type ${JSON.stringify(type)} is ${isAccepted ? 'accepted' : 'refused'}`, () =>
      assert.equal(contentTypeProblem(type)?.fault, isAccepted ? undefined : 'unsupported-type'));
  }
});

describe('values', () => {
  const rows: [name: keyof typeof OPERATIONS, body: string, value: unknown][] = [
    ['reboot', '{}', undefined],
    ['reboot', ' null ', undefined],
    ['mute', 'null', undefined],
    ['mute', '\uFEFF{"muted":false}', { muted: false }],
    ['volume', '{"volume":1.0}', { volume: 1 }],
    ['volume', '{"volume":5e-1}', { volume: 0.5 }],
    ['volume', '{"volume":0.1,"volume":0.2}', { volume: 0.2 }],
  ];
  for (const [name, body, value] of rows) {
    test(`the body ${body} of ${name} is read as ${JSON.stringify(value)}`, async () => {
      const decoded = await decodeBody(name, body);
      assert.ok(decoded.ok, JSON.stringify(decoded));
      assert.deepEqual(decoded.value, value);
    });
  }
});

describe('faults', () => {
  const rows: [name: keyof typeof OPERATIONS, body: string | Buffer, detail: string | RegExp][] = [
    ['port', 'null', 'The body must be an object with port, got null'],
    ['volume', '{"volume":1.2}', 'Field volume must be a number between 0 and 1, got 1.2'],
    ['volume', '{"volume":"1"}', 'Field volume must be a number between 0 and 1, got "1"'],
    ['volume', '{"volume":null}', 'Field volume must be a number between 0 and 1, got null'],
    ['volume', '{"volume":1e999}', 'Field volume must be a number between 0 and 1, got Infinity'],
    ['volume', '{"volume":NaN}', /not valid JSON/],
    ['volume', '{"volume":1,"delta":1}', 'Only one of volume or delta can be given'],
    ['volume', '{}', 'Field volume or delta is missing'],
    ['volume', '', 'A body is needed: an object with volume or delta'],
    ['volume', '7', 'The body must be an object with volume or delta, got 7'],
    ['volume', '[]', 'The body must be an object with volume or delta, got a list'],
    ['volume', '{"loud":1}', 'Field "loud" does not exist, only volume or delta'],
    ['volume', '{"volume":1,"__proto__":1}', /Field "__proto__" does not exist/],
    ['mute', '{"muted":1}', 'Field muted must be true or false, got 1'],
    ['mute', '{"mute":true}', 'Field "mute" does not exist, only muted'],
    [
      'move',
      '{"output":""}',
      'Field output must be a non-empty string of at most 4096 characters or a non-negative integer, got ""',
    ],
    ['move', '{"output":-1}', /non-negative integer, got -1/],
    // A long value is repeated only in part, so the expression ends in the middle of the value.
    [
      'port',
      JSON.stringify({ port: 'x'.repeat(4097) }),
      /^Field port must be a non-empty string of at most 4096 characters, got "x+/,
    ],
    ['port', '{"port":""}', 'Field port must be a non-empty string of at most 4096 characters, got ""'],
    [
      'position',
      '{"position":0,"track_id":1}',
      'Field track_id must be a string of at most 4096 characters, got 1',
    ],
    ['reboot', '{"x":1}', /takes no fields/],
    ['reboot', 'nonsense', /not valid JSON/],
    ['mute', '{\n "muted": true,\n}', /JSON/],
    ['mute', '{"muted":true', /not valid JSON/],
    ['mute', ' ', /not valid JSON/],
    ['mute', Buffer.from('{"\xc3("}', 'latin1'), /UTF-8/],
    // The whole detail has fewer than 200 characters, although the value has 60 000.
    ['volume', JSON.stringify({ volume: 'x'.repeat(60_000) }), /^.{50,199}$/],
  ];
  for (const [name, body, detail] of rows) {
    test(`the body ${JSON.stringify(body).slice(0, 60)} of ${name} is refused`, async () => {
      const decoded = await decodeBody(name, body);
      assert.ok(!decoded.ok);
      assert.equal(decoded.error.fault, 'bad-body');
      if (typeof detail === 'string') assert.equal(decoded.error.detail, detail);
      else assert.match(decoded.error.detail, detail);
    });
  }

  test('a deeply nested body is refused, and overflows no stack', async () => {
    const unclosed = '['.repeat(30_000);
    const deep = `${unclosed}${']'.repeat(30_000)}`;
    const inKnownField = `{"volume":${deep}}`;
    const inUnknownField = `{"xxxxxxxxx":${deep}}`;
    for (const body of [unclosed, deep, inKnownField, inUnknownField]) {
      const decoded = await decodeBody('volume', body);
      assert.ok(!decoded.ok, body.slice(0, 20));
    }
  });
});
