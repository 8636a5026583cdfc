// Tests that every operation has a command of `tonearm ctl`, that a command line becomes the request that the
// table of operations describes, and that a wrong line is refused with the reason. Also tests the help, the
// choice of events, and the exit statuses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Check } from 'typebox/value';
import { parseCtl } from '../../../src/cli/ctl/arguments.js';
import { COMMANDS, type CommandField, type CtlCommand } from '../../../src/cli/ctl/commands.js';
import { commandHelp } from '../../../src/cli/ctl/help.js';
import { exitFor } from '../../../src/cli/ctl/statuses.js';
import { ProblemError } from '../../../src/client/problem.js';
import { PROBLEMS } from '../../../src/gateway/problem.js';
import { OPERATION_NAMES, OPERATIONS } from '../../../src/protocol/actor/operations.js';
import { BODIES } from '../../../src/protocol/actor/schemas.js';

/** The parsed request of a line that calls an operation. Blanks separate the words of the line. */
function requestOf(line: string) {
  const request = parseCtl(line.split(' '));
  if (request.do !== 'call') return assert.fail(`${line}: ${JSON.stringify(request)}`);
  return request;
}

/** A word that the schema of the field accepts. If the word is a number, it is not negative. */
function wordFor({ type, values, minimum = 0, name }: CommandField): string {
  if (values !== undefined) return values[0] ?? '';
  if (type === 'boolean') return 'on';
  if (name === 'address') return 'AA:BB:CC:DD:EE:FF';
  if (name === 'track_id') return '/track/1';
  if (type === 'string') return 'some-text';
  return String(Math.max(minimum, 0));
}

/**
 * A line with a word for each parameter and each required field. If `hasAllFields` is true, the line also has
 * a word for each optional field. If an inner list of `required` has several fields, such as volume and
 * delta, a request has only one of these fields. So the line has a word only for the first of them.
 */
function lineFor(name: string, { parameters, fields, required }: CtlCommand, hasAllFields: boolean): string {
  const parameterWords = parameters.map(({ values = ['thing'] }) => values[0] ?? '');
  const requiredFields = required.flatMap(([firstName]) => {
    const firstField = fields.find((field) => field.name === firstName);
    return firstField ?? [];
  });
  const optionalFields = fields.filter((field) => !required.flat().includes(field.name));
  const fieldWords = [...requiredFields, ...(hasAllFields ? optionalFields : [])].map(wordFor);
  return [name, ...parameterWords, ...fieldWords].join(' ');
}

test('every operation has one command, and no command is called watch or completion', () => {
  const operations = Object.values(COMMANDS).map(({ operation }) => operation);
  assert.deepEqual(operations, OPERATION_NAMES);
  // These two words of `tonearm ctl` stand for no operation.
  assert.deepEqual(
    ['watch', 'completion'].filter((name) => Object.hasOwn(COMMANDS, name)),
    [],
  );
});

for (const [name, command] of Object.entries(COMMANDS)) {
  // Bounds of ten or more digits exclude only numbers that JavaScript would round (`EXACT_INTEGERS` in
  // schemas.ts).
  test(`the help of ${name} names no bound of ten or more digits`, () =>
    assert.doesNotMatch(commandHelp(name, command), /\d{10}/));

  for (const hasAllFields of [false, true]) {
    const line = lineFor(name, command, hasAllFields);
    test(`tonearm ctl ${line}${hasAllFields ? ', with all fields,' : ''} makes the request that the table of operations describes`, () => {
      const { command: parsedCommand, call } = requestOf(line);
      const operation = OPERATIONS[parsedCommand.operation];
      assert.equal(parsedCommand, command);
      assert.deepEqual(
        Object.keys(call.params),
        [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter),
      );
      if (operation.method === 'GET' || operation.body === undefined) return;
      if (call.body === undefined)
        assert.equal(operation.isBodyRequired, false, 'only an optional body may be absent');
      else assert.ok(Check(BODIES[operation.body], call.body), JSON.stringify(call.body));
    });
  }
}

/**
 * Each line, and the body of its request. If a request for a mute has no body, the node toggles the mute. A
 * time without a unit is in the unit of its field, such as microseconds for a position.
 */
const BODIES_BY_LINE: readonly (readonly [line: string, body: unknown])[] = [
  ['output-volume kitchen 40%', { volume: 0.4 }],
  ['output-volume kitchen 0.4', { volume: 0.4 }],
  ['output-volume kitchen +5%', { delta: 0.05 }],
  ['output-volume kitchen -5%', { delta: -0.05 }],
  ['output-volume kitchen delta=0.1', { delta: 0.1 }],
  ['output-volume kitchen volume=+5%', { delta: 0.05 }],
  ['output-volume kitchen volume=-5%', { delta: -0.05 }],
  ['output-volume kitchen delta=+5%', { delta: 0.05 }],
  ['output-volume kitchen volume=40%', { volume: 0.4 }],
  ['output-balance kitchen balance=-0.2', { balance: -0.2 }],
  ['output-volume -- kitchen -5%', { delta: -0.05 }],
  ['output-balance kitchen -0.2', { balance: -0.2 }],
  ['mute-output kitchen', undefined],
  ['mute-output kitchen toggle', undefined],
  ['mute-output kitchen muted=toggle', undefined],
  ['mute-output kitchen muted=Toggle', undefined],
  ['mute-output kitchen muted=Off', { muted: false }],
  ['mute-output kitchen Off', { muted: false }],
  ['mute-output kitchen muted=true', { muted: true }],
  ['default-output kitchen on', { move: true }],
  ['start-sleep 30 fade=10', { minutes: 30, fade: 10 }],
  ['start-sleep fade=10 30', { minutes: 30, fade: 10 }],
  ['seek mpv -10s', { offset: -10_000_000 }],
  ['seek mpv offset=-10s', { offset: -10_000_000 }],
  ['seek mpv +1.5s', { offset: 1_500_000 }],
  ['seek mpv 250ms', { offset: 250_000 }],
  ['position mpv 2m', { position: 120_000_000 }],
  ['position mpv 5', { position: 5 }],
  ['loop mpv playlist', { loop: 'Playlist' }],
  [
    'add-track mpv http://a.example/?b=c set_as_current=on',
    { uri: 'http://a.example/?b=c', set_as_current: true },
  ],
  ['unit-log user mpd.service 5', { lines: 5 }],
];

for (const [line, body] of BODIES_BY_LINE)
  test(`tonearm ctl ${line} sends ${body === undefined ? 'no body' : JSON.stringify(body)}`, () =>
    assert.deepEqual(requestOf(line).call.body, body));

const REFUSED_LINES: readonly (readonly [line: string, message: RegExp])[] = [
  ['', /an operation is missing; see tonearm ctl --help/],
  ['output-volum kitchen 1', /there is no operation "output-volum"; near it: output-volume/],
  ['volume 1', /near it: server-volume, output-volume, client-volume, input-volume/],
  ['toString', /there is no operation "toString"/],
  ['output-volume', /output-volume: OUTPUT is missing; see tonearm ctl output-volume --help/],
  ['output-volume kitchen', /output-volume: volume or delta is missing/],
  ['output-volume kitchen loud', /output-volume: volume: "loud" is no number/],
  ['output-volume kitchen 1 2', /"2" is too much/],
  ['output-volume kitchen loudness=1', /"loudness=1" is too much: it takes the fields volume, delta/],
  ['output-volume kitchen volume=1 volume=1', /volume is there twice/],
  ['output-volume kitchen volume=+5% volume=+5%', /delta is there twice/],
  ['output-volume kitchen volume=40% volume=+5%', /only one of volume and delta is possible/],
  ['output-volume kitchen volume=40% delta=5%', /only one of volume and delta is possible/],
  ['player-volume mpv volume=+5%', /player-volume: volume: "\+5%" must have no sign/],
  ['player-volume mpv +5%', /player-volume: volume: "\+5%" must have no sign/],
  ['output-volume kitchen +-5%', /output-volume: delta: "\+-5%" is no number/],
  ['mute-output kitchen perhaps', /muted: "perhaps" is neither on nor off/],
  ['mute-output kitchen constructor', /muted: "constructor" is neither on nor off/],
  ['loop mpv Album', /loop: "Album" is not one of None, Track, Playlist/],
  ['start-unit root mpd.service', /SCOPE: "root" is not one of user, system/],
  ['outputs kitchen', /"kitchen" is too much: it takes no fields/],
  ['outputs --loud', /unknown option "--loud"/],
  ['outputs --node', /--node needs a value/],
  ['outputs --node=', /--node needs a value/],
  ['outputs --node a --node b', /--node is there twice/],
  ['watch audio.volume', /watch: there is no event "audio.volume"/],
  ['watch ,', /watch: there is no event ","/],
  ['completion', /completion: it takes bash, zsh, fish/],
];

for (const [line, message] of REFUSED_LINES)
  test(`tonearm ctl ${line} is wrong usage`, () => {
    const request = parseCtl(line.split(' ').filter((word) => word !== ''));
    assert.ok(request.do === 'wrong', JSON.stringify(request));
    assert.match(request.message, message);
  });

test('the help for an unknown name is the general help, even if every object has a member of this name', () => {
  const help = parseCtl(['--help']);
  assert.equal(help.do, 'print');
  for (const name of ['loudness', 'constructor', 'toString'])
    assert.deepEqual(parseCtl([name, '--help']), help);
});

test('watch chooses an event by its name or the beginning of its name, but levels only by their whole name', () => {
  const typesOf = (line: string): unknown => {
    const request = parseCtl(line.split(' '));
    return request.do === 'watch' ? request.types : request;
  };
  assert.deepEqual(typesOf('watch'), []);
  assert.deepEqual(typesOf('watch audio.sleep,power.action player.added'), [
    'audio.sleep',
    'power.action',
    'player.added',
  ]);
  assert.deepEqual(typesOf('watch audio.output'), ['audio.output.updated', 'audio.output.removed']);
  assert.ok(!(typesOf('watch audio') as readonly string[]).includes('audio.level'));
  assert.deepEqual(typesOf('watch audio.level'), ['audio.level']);
});

test('the exit status follows from the code and the HTTP status of the problem', () => {
  const exitEntries = Object.entries(PROBLEMS).map(([code, { status, title }]) => {
    const type = `urn:tonearm:problem:${code}`;
    return [code, exitFor(new ProblemError({ type, title, status, detail: '' }))];
  });
  const exits = Object.fromEntries(exitEntries) as Readonly<Record<string, string>>;
  const expectedExits: readonly (readonly [code: string, exit: string])[] = [
    ['no-such-output', 'notFound'],
    ['bad-body', 'badValue'],
    ['read-only', 'forbidden'],
    ['not-able', 'forbidden'],
    ['no-volume', 'conflict'],
    ['unavailable', 'unavailable'],
    ['timeout', 'unavailable'],
    ['refused', 'failed'],
    ['gateway-failed', 'failed'],
  ];
  for (const [code, exit] of expectedExits) assert.equal(exits[code], exit, code);
});
