// README's list of routes is the table of operations: a line each, with a command to try that the route takes.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Check } from 'typebox/schema';
import { ROUTES, type Route } from '../../src/gateway/routes.js';
import { type ParameterName, parametersOf } from '../../src/protocol/actor/parameters.js';
import { BODIES, type BodyName, type BodyOf } from '../../src/protocol/actor/schemas.js';

const README = new URL('../../../README.md', import.meta.url);
const [BEGIN, END] = ['<!-- routes: made of the table of operations -->\n\n', '\n<!-- end of routes -->\n'];

/** As they stand in a path. */
const NAMES: Readonly<Record<ParameterName, string>> = {
  output: 'living',
  sink: 'Morning%20show',
  player: 'mpv',
  scope: 'user',
  unit: 'mpd.service',
};

const EXAMPLES: { readonly [K in BodyName]: BodyOf<K> } = {
  mute: { muted: true },
  volume: { volume: 0.4 },
  port: { port: 'analog-output-headphones' },
  balance: { balance: -0.2 },
  move: { output: 'kitchen' },
  seek: { offset: -10_000_000 },
  position: { position: 60_000_000 },
  setVolume: { volume: 0.8 },
  loop: { loop: 'Playlist' },
  shuffle: { shuffle: true },
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

/** The page is for browsers, and has a section of its own. */
const LISTED = ROUTES.filter(({ kind }) => kind !== 'page');

/** The OpenAPI document calls itself "this". */
const summaryOf = ({ kind, summary }: Route): string =>
  kind === 'openapi' ? 'All of this, as an OpenAPI document' : summary;

function list(): string {
  const rows = LISTED.map(
    (route) => `| \`${route.method} ${route.path}\` | ${summaryOf(route)} | \`${commandOf(route)}\` |\n`,
  );
  return `| Route | What it does | Try it |\n|---|---|---|\n${rows.join('')}`;
}

test('README lists every route as the table has it; TONEARM_UPDATE_GOLDEN=1 writes it down anew', () => {
  const readme = readFileSync(README, 'utf8');
  const [before, rest = '', ...more] = readme.split(BEGIN);
  const [listed, after, ...others] = rest.split(END);
  assert.deepEqual([more, others], [[], []], 'one list');
  if (process.env['TONEARM_UPDATE_GOLDEN'] === '1')
    writeFileSync(README, `${before}${BEGIN}${list()}${END}${after}`);
  else assert.equal(listed, list());
});

test('what README sends fits the schemas, and names every parameter that there is', () => {
  for (const [name, example] of Object.entries(EXAMPLES))
    assert.ok(Check(BODIES[name as BodyName], example), name);
  const used = new Set(LISTED.flatMap(({ path }) => parametersOf(path)));
  assert.deepEqual([...used].sort(), Object.keys(NAMES).sort());
});
