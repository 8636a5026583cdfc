// Tests the query of a stream, and the text of its events. Each line of docs/events.md, "Query", has a row
// here, and so has each question that this section leaves open. The data of an event must not end the event.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BYE_EVENT,
  filterOf,
  firstLines,
  frame,
  loveEvent,
  sequenceIn,
} from '../../../src/gateway/events/frames.js';
import { parseEventQuery } from '../../../src/gateway/events/query.js';
import type { ChildName } from '../../../src/protocol/actor/backends.js';
import type { EventType } from '../../../src/protocol/actor/collections.js';
import { success } from '../../../src/protocol/actor/result.js';
import { parsedByConsumer } from '../../consumer/parser.js';

type Filter = ReturnType<typeof filterOf>;

test('an event is id, type, data and a blank line', () => {
  const event = frame('power.action', '{"action":"reboot"}', 'b-7');
  assert.equal(event, 'id: b-7\nevent: power.action\ndata: {"action":"reboot"}\n\n');
});

test('the event love has the id of the newest event, and bye has no id', () => {
  assert.equal(loveEvent('b', 7), 'id: b-7\nevent: server.info\ndata: "love"\n\n');
  assert.equal(BYE_EVENT, 'event: server.info\ndata: "bye"\n\n');
});

test('the first bytes of a stream are a random retry from 2 to 5 s and "connected"', () => {
  const first = [0, 0.5, 0.999999].map((chance) => firstLines(chance));
  const connected = 'event: server.info\ndata: "connected"\n\n';
  const expected = [2000, 3500, 5000].map((retryMs) => `retry: ${retryMs}\n${connected}`);
  assert.deepEqual(first, expected);
});

test('a stream begins with a comment that repeats the unknown names of its query, and no name ends the comment', () => {
  const [comment, ...otherLines] = firstLines(0, ['audio.update', 'a\nevent: b\r']).split(/\r|\n/);
  assert.equal(comment, String.raw`: ignored, as unknown here: ["audio.update","a\nevent: b\r"]`);
  assert.deepEqual(otherLines.slice(0, 2), ['retry: 2000', 'event: server.info']);
});

/** The data of an event, and the data that a consumer must receive. */
const TEXTS: readonly [name: string, data: string, received: string][] = [
  ['JSON', '{"a":[1,2]}', '{"a":[1,2]}'],
  ['NUL', '"a\0b"', '"a\0b"'],
  ['U+2028, U+2029, NEL, VT, FF', '"\u2028\u2029\u0085\v\f"', '"\u2028\u2029\u0085\v\f"'],
  ['a byte order mark', '\ufeff{}', '\ufeff{}'],
  ['a character beyond the BMP', '"🎵"', '"🎵"'],
  ['a lone high surrogate', '"\ud83c"', '"\ufffd"'],
  ['swapped surrogates', '"\udfb5\ud83c"', '"\ufffd\ufffd"'],
];
for (const [name, data, received] of TEXTS) {
  test(`${name} in the data cannot break the event`, () => {
    const nextEvent = frame('power.action', '"next"', 'b-2');
    const bytes = Buffer.from(frame('upgrade.progress', data, 'b-1') + nextEvent);
    assert.deepEqual(parsedByConsumer([bytes], '').events, [
      { type: 'upgrade.progress', data: received, lastEventId: 'b-1' },
      { type: 'power.action', data: '"next"', lastEventId: 'b-2' },
    ]);
    // The decoder throws if the bytes are not UTF-8.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  });
}

/**
 * A stream cannot resume after an id without a `sequence`. Sequence numbers begin at 1 and have no leading
 * zero. A number with 16 digits may be inexact.
 */
const IDS: readonly [id: string, bootId: string, sequence?: number][] = [
  ['b-12', 'b', 12],
  ['a-b_c-3', 'a-b_c', 3],
  ['b-0', 'b'],
  ['other-1', 'b'],
  ['b-', 'b'],
  ['', 'b'],
  ['b-01', 'b'],
  ['b-1\n', 'b'],
  ['b-٣', 'b'],
  [`b-${'9'.repeat(15)}`, 'b', 999_999_999_999_999],
  [`b-${'9'.repeat(16)}`, 'b'],
];
for (const [id, bootId, sequence] of IDS) {
  test(`the id ${JSON.stringify(id)} has the sequence number ${sequence ?? '(none)'} if the boot id is ${bootId}`, () =>
    assert.equal(sequenceIn(id, bootId), sequence));
}

const onlyTypes = (...types: readonly EventType[]): Filter => filterOf((type) => types.includes(type));

/** All types but audio.level, which must be requested by name. */
const DEFAULT_TYPES = defaultTypesBut();
const NO_TYPES = filterOf(() => false);
const DEFAULTS = { filter: DEFAULT_TYPES, keepaliveMs: 30_000, snapshot: false, unknownNames: [] };

function defaultTypesOf(...backends: readonly ChildName[]): Filter {
  return filterOf((type, backend) => backends.includes(backend) && type !== 'audio.level');
}

function defaultTypesBut(...types: readonly EventType[]): Filter {
  return filterOf((type) => !types.includes(type) && type !== 'audio.level');
}

/** Queries and their filters. Names that begin with "future" are unknown. */
const FILTERS: readonly [query: string, filter: Filter][] = [
  ['', DEFAULT_TYPES],
  ['unknown=1&_=2', DEFAULT_TYPES],
  ['types=audio.updated', onlyTypes('audio.updated')],
  ['types=audio.updated,power.action', onlyTypes('audio.updated', 'power.action')],
  ['types=audio.updated&types=power.action', onlyTypes('audio.updated', 'power.action')],
  ['types=audio.updated%2Cpower.action', onlyTypes('audio.updated', 'power.action')],
  ['types=audio.updated,+power.action', onlyTypes('audio.updated', 'power.action')],
  ['types=audio.updated,future.updated', onlyTypes('audio.updated')],
  ['types=future.updated', NO_TYPES],
  // `server.info` is sent to every stream, so no filter has it.
  ['types=server.info', NO_TYPES],
  ['types=future.removed&exclude=future.updated&backend=future', NO_TYPES],
  ['types=', DEFAULT_TYPES],
  ['backend=audio', defaultTypesOf('audio')],
  ['backend=future,audio', defaultTypesOf('audio')],
  ['backend=future', NO_TYPES],
  // In queries `mpris` is another name of the backend `players`.
  ['backend=mpris,audio', defaultTypesOf('audio', 'players')],
  ['types=player.position', onlyTypes('player.position')],
  ['backend=', DEFAULT_TYPES],
  ['exclude=audio.updated', defaultTypesBut('audio.updated')],
  ['exclude=audio.updated,future.updated', defaultTypesBut('audio.updated')],
  ['exclude=', DEFAULT_TYPES],
  ['types=audio.updated,audio.removed&exclude=audio.removed', onlyTypes('audio.updated')],
  // With `types` and `backend`, a stream gets the events that either of them selects.
  [
    'types=audio.updated&backend=systemd',
    filterOf((type, backend) => type === 'audio.updated' || backend === 'systemd'),
  ],
  ['types=audio.updated&backend=audio', defaultTypesOf('audio')],
  [
    'types=power.action&backend=audio&exclude=audio.removed,backend.updated',
    // The types after `power.action` are all types of audio except `audio.level` and the excluded ones.
    onlyTypes(
      'power.action',
      'audio.updated',
      'audio.output.updated',
      'audio.output.removed',
      'audio.input.updated',
      'audio.input.removed',
      'audio.card.updated',
      'audio.card.removed',
      'audio.sleep',
    ),
  ],
  ['types=audio.level,audio.updated', onlyTypes('audio.level', 'audio.updated')],
  ['types=audio.level&backend=audio', filterOf((_type, backend) => backend === 'audio')],
  ['types=audio.level&exclude=audio.level', NO_TYPES],
  ['snapshot=0', DEFAULT_TYPES],
];
const OPTIONS: readonly [query: string, options: object][] = [
  ['keepalive=120', { keepaliveMs: 120_000 }],
  ['keepalive=30s', { keepaliveMs: 30_000 }],
  ['keepalive=10s', { keepaliveMs: 10_000 }],
  ['snapshot=1', { snapshot: true }],
  ['types=audio', { filter: NO_TYPES, unknownNames: ['audio'] }],
  // Each object has a member `toString`, but no event has this type.
  ['types=toString,server.info', { filter: NO_TYPES, unknownNames: ['toString'] }],
  ['backend=audio.updated,mpris', { filter: defaultTypesOf('players'), unknownNames: ['audio.updated'] }],
  ['exclude=audio', { unknownNames: ['audio'] }],
  ['lastEventId=b-3', { lastEventId: 'b-3' }],
  ['lastEventId=b-3&lastEventId=b-5', { lastEventId: 'b-5' }],
  ['snapshot=1&lastEventId=b%2D3', { snapshot: true, lastEventId: 'b-3' }],
];
const futureNamesIn = (query: string): string[] => query.match(/future[.\w]*/g) ?? [];
const FILTER_ROWS = FILTERS.map(
  ([query, filter]) => [query, { filter, unknownNames: futureNamesIn(query) }] as const,
);
for (const [query, expected] of [...FILTER_ROWS, ...OPTIONS]) {
  test(`the query ?${query} is understood`, () =>
    assert.deepEqual(parseEventQuery(query, undefined), success({ ...DEFAULTS, ...expected })));
}

const REFUSED: readonly [query: string, problem: RegExp][] = [
  ['exclude=server.info', /server\.info/],
  ['exclude=audio.updated,server.info', /server\.info/],
  ['exclude=audio.updated&exclude=%20server.info', /server\.info/],
  ['keepalive=9', /keepalive/],
  ['keepalive=121', /keepalive/],
  ['keepalive=30.5', /keepalive/],
  ['keepalive=30ss', /keepalive/],
  ['keepalive=', /keepalive/],
  ['keepalive=10&keepalive=20', /keepalive/],
  ['snapshot=2', /snapshot/],
  ['snapshot=1&snapshot=1', /snapshot/],
  ['types=%', /percent/],
  ['types=%ff', /percent/],
  ['%=1', /percent/],
];
for (const [query, problem] of REFUSED) {
  test(`the query ?${query} is refused`, () => {
    const parsed = parseEventQuery(query, undefined);
    assert.ok(!parsed.ok);
    assert.match(parsed.error, problem);
  });
}

const RESUMING: readonly [query: string, header: string | undefined, id: string | undefined][] = [
  ['', 'b-9', 'b-9'],
  ['lastEventId=b-3', 'b-9', 'b-9'],
  ['lastEventId=b-3', '', 'b-3'],
  ['lastEventId=b-3', undefined, 'b-3'],
  ['', '', undefined],
];
for (const [query, header, id] of RESUMING) {
  test(`the query ?${query} with Last-Event-ID ${header ?? '(none)'} resumes after ${id ?? 'nothing'}`, () => {
    const parsed = parseEventQuery(query, header);
    assert.ok(parsed.ok);
    assert.equal(parsed.value.lastEventId, id);
  });
}
