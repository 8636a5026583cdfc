// Tests which route a path has: slashes, percent-encoding and names with odd characters. For each route,
// docs/http-api.md has a command, which this file makes of the table of routes. The command's body must fit
// the route's schema. contract/access.test.ts tests the paths that a configuration disables.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Check } from 'typebox/schema';
import { allowedMethods, ROUTES, type Route, Router } from '../../src/gateway/routes.js';
import { type ParameterName, parametersOf } from '../../src/protocol/actor/parameters.js';
import { BODIES, type BodyName } from '../../src/protocol/actor/schemas.js';
import { without } from '../contract/access-rows.js';
import { EXAMPLE_BODIES } from './example-bodies.js';
import { SETTINGS } from './gateway-under-test.js';

const DOCUMENT = new URL('../../../docs/http-api.md', import.meta.url);
const BEGIN = '<!-- commands: made of the table of operations -->\n\n';
const END = '\n<!-- end of commands -->\n';

/** Names in the spelling that a path needs. */
const NAMES: Readonly<Record<ParameterName, string>> = {
  output: 'living',
  input: 'microphone',
  card: 'alsa_card.platform-soc_sound',
  client: 'Morning%20show',
  player: 'mpv',
  scope: 'user',
  unit: 'mpd.service',
  trackid: '4',
};

const CURL_OPTIONS: Partial<Record<Route['kind'], string>> = {
  cookie: '-fOJ ',
  cover: '-Lo cover ',
  events: '-N ',
  command: '-X POST ',
};

function commandOf(route: Route): string {
  const names: Readonly<Record<string, string>> = NAMES;
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => names[name] ?? assert.fail(name));
  const body =
    route.kind === 'command' && route.body !== undefined
      ? `-H 'Content-Type: application/json' -d '${JSON.stringify(EXAMPLE_BODIES[route.body])}' `
      : '';
  const address = `localhost:8018${path}`;
  const url = route.kind === 'events' ? `'${address}?snapshot=1'` : address;
  // Everybody who can read the file `cookie` may play on the node.
  const protection = route.kind === 'cookie' ? ' && chmod 600 cookie' : '';
  return `curl ${CURL_OPTIONS[route.kind] ?? ''}${body}${url}${protection}`;
}

/** All routes but the page, which is for browsers. */
const LISTED = ROUTES.filter(({ kind }) => kind !== 'page');

const commandList = (): string => LISTED.map((route) => `    ${commandOf(route)}\n`).join('');

test('docs/http-api.md has a command for each route; TONEARM_UPDATE_GOLDEN=1 writes them anew', () => {
  const document = readFileSync(DOCUMENT, 'utf8');
  const partsAroundBegin = document.split(BEGIN);
  assert.equal(partsAroundBegin.length, 2, 'the list begins once');
  const [textBefore, fromListOn = ''] = partsAroundBegin;
  const partsAroundEnd = fromListOn.split(END);
  assert.equal(partsAroundEnd.length, 2, 'the list ends once');
  const [listed, textAfter] = partsAroundEnd;
  if (process.env['TONEARM_UPDATE_GOLDEN'] === '1')
    writeFileSync(DOCUMENT, `${textBefore}${BEGIN}${commandList()}${END}${textAfter}`);
  else assert.equal(listed, commandList());
});

test('the bodies of the commands in docs/http-api.md fit the schemas, and their paths name every parameter', () => {
  for (const [name, example] of Object.entries(EXAMPLE_BODIES))
    assert.ok(Check(BODIES[name as BodyName], example), name);
  const used = new Set(LISTED.flatMap(({ path }) => parametersOf(path)));
  assert.deepEqual([...used].sort(), Object.keys(NAMES).sort());
});

const router = new Router(ROUTES, SETTINGS);

/** The path of the route with its parameters, as `PATH key=value`, or the fault. */
function outcomeOf(path: string): string {
  const match = router.match(path);
  if (!match.ok) return match.error.fault;
  const params = Object.entries(match.value.params).map(([name, value]) => ` ${name}=${value}`);
  return `${match.value.route.path}${params.join('')}`;
}

const rows: [path: string, expected: string][] = [
  ['/audio', '/audio'],
  // The path of this route ends with a slash. A path without the final slash leads there, too.
  ['/power', '/power/'],
  ['/%61udio', '/audio'],
  ['//audio', '/audio'],
  ['//power//', '/power/'],
  ['///audio///outputs//3/mute//', '/audio/outputs/{output}/mute output=3'],
  ['//audio//outputs//a%2F%2Fb//mute', '/audio/outputs/{output}/mute output=a//b'],
  ['//', '/'],
  ['/', '/'],
  ['', 'not-found'],
  ['/Audio', 'not-found'],
  ['/audio/../server', 'not-found'],
  ['/audio%2Fserver', 'not-found'],
  ['/audio/outputs/3/mute', '/audio/outputs/{output}/mute output=3'],
  ['/audio/outputs/a%2Fb/mute', '/audio/outputs/{output}/mute output=a/b'],
  ['/audio/outputs/a%20b%C3%A9/mute', '/audio/outputs/{output}/mute output=a bé'],
  ['/audio/outputs/a+b/mute', '/audio/outputs/{output}/mute output=a+b'],
  ['/audio/outputs/..%2F..%2Fetc/mute', '/audio/outputs/{output}/mute output=../../etc'],
  ['/audio/outputs//mute', 'not-found'],
  ['/audio/outputs/3', 'not-found'],
  ['/audio/outputs/3/mute/4', 'not-found'],
  ['/audio/outputs/{output}/mute', '/audio/outputs/{output}/mute output={output}'],
  ['/services/user/mpd.service/start', '/services/{scope}/{unit}/start scope=user unit=mpd.service'],
  ['/audio/outputs/%zz/mute', 'bad-path'],
  // These bytes would be half of a surrogate pair, which UTF-8 does not permit.
  ['/audio/outputs/%ED%A0%80/mute', 'bad-path'],
  ['/nowhere/%zz', 'bad-path'],
  ['/audio/outputs/a%00b/mute', 'bad-path'],
];

for (const [path, expected] of rows)
  test(`the path ${JSON.stringify(path)} leads to ${expected}`, () =>
    assert.equal(outcomeOf(path), expected));

test('a path has the methods of all its routes, also if the path has further slashes', () => {
  const methods = (path: string): string => {
    const match = router.match(path);
    return match.ok ? allowedMethods(match.value) : match.error.fault;
  };
  assert.equal(methods('/audio/sleep'), 'GET, HEAD, POST, OPTIONS');
  assert.equal(methods('//audio//sleep/'), 'GET, HEAD, POST, OPTIONS');
  assert.equal(methods('/audio'), 'GET, HEAD, OPTIONS');
  assert.equal(methods('/audio/sleep/stop'), 'POST, OPTIONS');
});

test('a path that exists in no configuration is refused, and the refusal names no key', () => {
  // Here `/audio` is refused, too, but that refusal names the key that enables it (`pulseaudio.enabled`).
  const match = new Router(ROUTES, without('audio')).match('/nowhere');
  assert.equal(match.ok ? '' : match.error.detail, 'There is no such path');
});
