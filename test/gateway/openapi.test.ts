// The OpenAPI document itself. The other tests check with every request that answers conform to it.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import type { OpenApi } from './openapi-conformance.js';

const discovery = { ...SETTINGS.discovery, enabled: true };
const under = GatewayUnderTest.up({ ...SETTINGS, discovery }).within({ after });

async function document(): Promise<OpenApi> {
  return (await under.json('/openapi.json')) as OpenApi;
}

test('every reference leads somewhere, and every schema compiles', async () => {
  const whole = await document();
  const text = JSON.stringify(whole);
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    assert.ok(Object.hasOwn(whole.components.schemas, name ?? ''), name);
  }
  const ajv = new Ajv2020({ strict: true, formats: { 'date-time': true }, allowUnionTypes: true });
  ajv.addVocabulary(['components']);
  for (const name of Object.keys(whole.components.schemas)) {
    ajv.compile({ $ref: `#/components/schemas/${name}`, components: whole.components });
  }
});

/**
 * The whole document after the last change, with a line per path and per schema. A change of the interface also changes this
 * file, so that everybody sees it.
 */
const GOLDEN = new URL('../../../test/golden/openapi.json', import.meta.url);

const lines = (members: object): string =>
  Object.entries(members)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(',\n');

test('the document equals the golden file; TONEARM_UPDATE_GOLDEN=1 writes a new one', async () => {
  const whole = await document();
  const { paths, components, ...rest } = whole;
  const text = `{\n${lines(rest)},\n"paths": {\n${lines(paths)}\n},\n"components": { "schemas": {\n${lines(components.schemas)}\n} }\n}\n`;
  assert.deepEqual(JSON.parse(text), whole);
  if (process.env['TONEARM_UPDATE_GOLDEN'] === '1') writeFileSync(GOLDEN, text);
  assert.equal(text, readFileSync(GOLDEN, 'utf8'));
});
