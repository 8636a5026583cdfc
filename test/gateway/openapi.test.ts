// Tests the OpenAPI document, and the types that a generator makes of it. In all other tests,
// `GatewayUnderTest.fetch` checks that each answer conforms to the document.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import openapiTypes, { type OpenAPI3 } from 'openapi-typescript';
import { temporaryFolder } from '../temporary-folder.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import type { OpenApi } from './openapi-conformance.js';

// The document has the paths of enabled backends only, and `SETTINGS` disables discovery.
const discovery = { ...SETTINGS.discovery, enabled: true };
const under = GatewayUnderTest.up({ ...SETTINGS, discovery }).closeAtEndOf({ after });

const document = async () => (await under.json('/openapi.json')) as OpenApi;

test('every schema compiles', async () => {
  const whole = await document();
  const ajv = new Ajv2020({ strict: true, formats: { 'date-time': true }, allowUnionTypes: true });
  // Otherwise the strict mode refuses this key, which is not one of JSON Schema.
  ajv.addVocabulary(['components']);
  for (const name of Object.keys(whole.components.schemas))
    ajv.compile({ $ref: `#/components/schemas/${name}`, components: whole.components });
});

test('each alternative that is an object has a name, because generators lose objects without a name', async () => {
  const { components } = await document();
  for (const [name, schema] of Object.entries(components.schemas)) {
    const { anyOf = [] } = schema as { readonly anyOf?: readonly { readonly type?: string }[] };
    // An alternative with a name is a `$ref`, which has no `type`.
    const objectsWithoutName = anyOf.filter(({ type }) => type === 'object');
    assert.equal(objectsWithoutName.length, 0, name);
  }
});

test('the content types have no wildcard, and a cover has exactly the types that the daemon recognizes', async () => {
  const { paths } = await document();
  assert.doesNotMatch(JSON.stringify(paths), /"\w+\/\*"/);
  const contentOfCovers = paths['/players/{player}/cover']?.['get']?.responses['200']?.content ?? {};
  const source = readFileSync(new URL('../../../src/actors/players/cover.ts', import.meta.url), 'utf8');
  const typesOfCovers = [...source.matchAll(/'(image\/\w+)'/g)].map(([, type]) => type);
  assert.ok(typesOfCovers.length > 3);
  assert.deepEqual(Object.keys(contentOfCovers).sort(), [...new Set(typesOfCovers)].sort());
});

test('the server of the document is the folder of the document, also below a path of a proxy', async () => {
  const { servers } = await document();
  const addresses = servers.map(({ url }) => new URL(url, 'https://h/kitchen/openapi.json').href);
  assert.deepEqual(addresses, ['https://h/kitchen/']);
});

/** The whole document, with a line per path and per schema, so that a diff shows each change of it. */
const GOLDEN = new URL('../../../test/golden/openapi.json', import.meta.url);

const membersText = (members: object): string =>
  Object.entries(members)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(',\n');

test('the document equals the golden file; TONEARM_UPDATE_GOLDEN=1 writes a new one', async () => {
  const whole = await document();
  const { paths, components, ...header } = whole;
  const text = `{\n${membersText(header)},\n"paths": {\n${membersText(paths)}\n},\n"components": { "schemas": {\n${membersText(components.schemas)}\n} }\n}\n`;
  assert.deepEqual(JSON.parse(text), whole);
  if (process.env['TONEARM_UPDATE_GOLDEN'] === '1') writeFileSync(GOLDEN, text);
  assert.equal(text, readFileSync(GOLDEN, 'utf8'));
});

/**
 * Code of a user: it compiles only if the generated types are exact. `Answer<'/services'>` is a union such
 * as `{ status: 200; body: Unit[] } | { status: 503; body: Problem }`.
 */
const CLIENT = `
import type { components, paths } from './api.js';

type Schemas = components['schemas'];
type Answer<P extends keyof paths> = paths[P] extends { get: { responses: infer R } }
  ? { [S in keyof R]: { status: S; body: R[S] extends { content: infer C } ? C[keyof C] : undefined } }[keyof R]
  : never;

export function use(audio: Answer<'/audio'>, services: Answer<'/services'>, { backends }: Schemas['Health']): void {
  if (services.status === 503) services.body.detail satisfies string;
  if (services.status === 200) services.body[0]?.scope satisfies 'user' | 'system' | undefined;
  if (audio.status !== 200) return;
  audio.body.outputs[0]?.state satisfies 'running' | 'idle' | 'suspended' | 'unknown' | undefined;
  audio.body.outputs[0]?.props['device.description'] satisfies string | undefined;
  // @ts-expect-error A sound server is of two kinds.
  audio.body.kind satisfies 'alsa';
  backends['audio']?.state satisfies 'connecting' | 'up' | 'restarting' | 'failed' | undefined;
}
`;

test('a client of generated types type-checks', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(join(folder, 'api.ts'), await openapiTypes((await document()) as object as OpenAPI3));
  writeFileSync(join(folder, 'client.ts'), CLIENT);
  const flags = '--strict --noUncheckedIndexedAccess --noEmit --module nodenext --types'.split(' ');
  const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));
  // The empty text is the value of `--types`: the compiler loads no packages of types.
  execFileSync(process.execPath, [compiler, ...flags, '', 'client.ts'], { cwd: folder, stdio: 'inherit' });
});
