// docs/http-api.md has a command for each route, made of the table of operations, and the route must accept it.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Check } from 'typebox/schema';
import { ROUTES, type Route } from '../../src/gateway/routes.js';
import { type ParameterName, parametersOf } from '../../src/protocol/actor/parameters.js';
import { BODIES, type BodyName } from '../../src/protocol/actor/schemas.js';
import { EXAMPLES } from './example-bodies.js';

const DOCUMENT = new URL('../../../docs/http-api.md', import.meta.url);
const [BEGIN, END] = [
  '<!-- commands: made of the table of operations -->\n\n',
  '\n<!-- end of commands -->\n',
];

/** Names in the spelling that a path needs. */
const NAMES: Readonly<Record<ParameterName, string>> = {
  output: 'living',
  card: 'alsa_card.platform-soc_sound',
  sink: 'Morning%20show',
  player: 'mpv',
  scope: 'user',
  unit: 'mpd.service',
  trackid: '4',
};

const OPTIONS: Partial<Record<Route['kind'], string>> = {
  cookie: '-OJ ',
  cover: '-Lo cover ',
  events: '-N ',
  command: '-X POST ',
};

function commandOf(route: Route): string {
  const names: Readonly<Record<string, string>> = NAMES;
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => names[name] ?? assert.fail(name));
  const body =
    route.kind === 'command' && route.body !== undefined
      ? `-H 'Content-Type: application/json' -d '${JSON.stringify(EXAMPLES[route.body])}' `
      : '';
  const address = `localhost:8018${path}`;
  const whole = route.kind === 'events' ? `'${address}?snapshot=1'` : address;
  return `curl ${OPTIONS[route.kind] ?? ''}${body}${whole}`;
}

/** All routes but the page, which is for browsers. */
const LISTED = ROUTES.filter(({ kind }) => kind !== 'page');

const list = (): string => LISTED.map((route) => `    ${commandOf(route)}\n`).join('');

test('docs has a command for each route; TONEARM_UPDATE_GOLDEN=1 writes them anew', () => {
  const document = readFileSync(DOCUMENT, 'utf8');
  const [before, rest = '', ...more] = document.split(BEGIN);
  const [listed, after, ...others] = rest.split(END);
  assert.deepEqual([more, others], [[], []], 'one list');
  if (process.env['TONEARM_UPDATE_GOLDEN'] === '1')
    writeFileSync(DOCUMENT, `${before}${BEGIN}${list()}${END}${after}`);
  else assert.equal(listed, list());
});

test('the bodies of these commands fit the schemas, and their paths name every parameter', () => {
  for (const [name, example] of Object.entries(EXAMPLES))
    assert.ok(Check(BODIES[name as BodyName], example), name);
  const used = new Set(LISTED.flatMap(({ path }) => parametersOf(path)));
  assert.deepEqual([...used].sort(), Object.keys(NAMES).sort());
});
