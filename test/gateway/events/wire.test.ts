// The request for a stream and its text: the query, a row per line of docs/events.md, "Query", and per
// question that it leaves open; the wire format, and every way in which a text could break out of its event.

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

test('love alone among the server.info events has an id, that of the newest event', () => {
  assert.equal(loveEvent('b', 7), 'id: b-7\nevent: server.info\ndata: "love"\n\n');
  assert.equal(BYE_EVENT, 'event: server.info\ndata: "bye"\n\n');
});

test('the first bytes are a random retry from 2 to 5 s and "connected"', () => {
  const first = [0, 0.5, 0.999999].map((chance) => firstLines(chance));
  const rest = 'event: server.info\ndata: "connected"\n\n';
  const expected = [2000, 3500, 5000].map((retryMs) => `retry: ${retryMs}\n${rest}`);
  assert.deepEqual(first, expected);
});

test('an unknown name in a query is named in a comment at the beginning, and cannot break it', () => {
  const [comment, ...rest] = firstLines(0, ['audio.update', 'a\nevent: b\r']).split(/\r|\n/);
  assert.equal(comment, String.raw`: ignored, as unknown here: ["audio.update","a\nevent: b\r"]`);
  assert.deepEqual(rest.slice(0, 2), ['retry: 2000', 'event: server.info']);
});

/** The data of an event, and the data that a consumer must receive. */
const TEXTS: readonly [name: string, data: string, received: string][] = [
  ['JSON', '{"a":[1,2]}', '{"a":[1,2]}'],
  ['NUL', '"a\0b"', '"a\0b"'],
  ['U+2028, U+2029, NEL, VT, FF', '"\u2028\u2029\u0085\v\f"', '"\u2028\u2029\u0085\v\f"'],
  ['a byte order mark', '\ufeff{}', '\ufeff{}'],
  ['beyond the BMP', '"🎵"', '"🎵"'],
  ['a lone high surrogate', '"\ud83c"', '"\ufffd"'],
  ['swapped surrogates', '"\udfb5\ud83c"', '"\ufffd\ufffd"'],
];
for (const [name, data, received] of TEXTS) {
  test(`${name} in the data cannot break the event`, () => {
    const next = frame('power.action', '"next"', 'b-2');
    const bytes = Buffer.from(frame('upgrade.progress', data, 'b-1') + next);
    assert.deepEqual(parsedByConsumer([bytes], '').events, [
      { type: 'upgrade.progress', data: received, lastEventId: 'b-1' },
      { type: 'power.action', data: '"next"', lastEventId: 'b-2' },
    ]);
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  });
}

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
  test(`the id ${JSON.stringify(id)} is ${sequence ?? 'unknown'} to boot ${bootId}`, () =>
    assert.equal(sequenceIn(id, bootId), sequence));
}

const only = (...types: readonly EventType[]): Filter => filterOf((type) => types.includes(type));

/** All types except those that must be requested by name. */
const ALL = without();
const NOTHING = filterOf(() => false);
const PLAIN = { filter: ALL, keepaliveMs: 30_000, snapshot: false, unknownNames: [] };

function of(...backends: readonly ChildName[]): Filter {
  return filterOf((type, backend) => backends.includes(backend) && type !== 'audio.level');
}

function without(...types: readonly EventType[]): Filter {
  return filterOf((type) => !types.includes(type) && type !== 'audio.level');
}

/** Queries and their filters; types that must be requested pass only where a query names them. */
const FILTERS: readonly [query: string, filter: Filter][] = [
  ['', ALL],
  ['unknown=1&_=2', ALL],
  ['types=audio.updated', only('audio.updated')],
  ['types=audio.updated,power.action', only('audio.updated', 'power.action')],
  ['types=audio.updated&types=power.action', only('audio.updated', 'power.action')],
  ['types=audio.updated%2Cpower.action', only('audio.updated', 'power.action')],
  ['types=audio.updated,+power.action', only('audio.updated', 'power.action')],
  ['types=audio.updated,future.updated', only('audio.updated')],
  ['types=future.updated', NOTHING],
  ['types=server.info', NOTHING],
  ['types=future.removed&exclude=future.updated&backend=future', NOTHING],
  ['types=', ALL],
  ['backend=audio', of('audio')],
  ['backend=future,audio', of('audio')],
  ['backend=future', NOTHING],
  ['backend=mpris,audio', of('audio', 'players')],
  ['types=player.position', only('player.position')],
  ['backend=', ALL],
  ['exclude=audio.updated', without('audio.updated')],
  ['exclude=audio.updated,future.updated', without('audio.updated')],
  ['exclude=', ALL],
  ['types=audio.updated,audio.removed&exclude=audio.removed', only('audio.updated')],
  [
    'types=audio.updated&backend=systemd',
    filterOf((type, backend) => type === 'audio.updated' || backend === 'systemd'),
  ],
  ['types=audio.updated&backend=audio', of('audio')],
  [
    'types=power.action&backend=audio&exclude=audio.removed,backend.updated',
    only(
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
  ['types=audio.level,audio.updated', only('audio.level', 'audio.updated')],
  ['types=audio.level&backend=audio', filterOf((_type, backend) => backend === 'audio')],
  ['types=audio.level&exclude=audio.level', NOTHING],
  ['snapshot=0', ALL],
];
const OPTIONS: readonly [query: string, options: object][] = [
  ['keepalive=120', { keepaliveMs: 120_000 }],
  ['keepalive=30s', { keepaliveMs: 30_000 }],
  ['keepalive=10s', { keepaliveMs: 10_000 }],
  ['snapshot=1', { snapshot: true }],
  ['types=audio', { filter: NOTHING, unknownNames: ['audio'] }],
  ['types=toString,server.info', { filter: NOTHING, unknownNames: ['toString'] }],
  ['backend=audio.updated,mpris', { filter: of('players'), unknownNames: ['audio.updated'] }],
  ['exclude=audio', { unknownNames: ['audio'] }],
  ['lastEventId=b-3', { lastEventId: 'b-3' }],
  ['lastEventId=b-3&lastEventId=b-5', { lastEventId: 'b-5' }],
  ['snapshot=1&lastEventId=b%2D3', { snapshot: true, lastEventId: 'b-3' }],
];
const unknownIn = (query: string): string[] => query.match(/future[.\w]*/g) ?? [];
const PASSING = FILTERS.map(
  ([query, filter]) => [query, { filter, unknownNames: unknownIn(query) }] as const,
);
for (const [query, expected] of [...PASSING, ...OPTIONS]) {
  test(`?${query} is understood`, () =>
    assert.deepEqual(parseEventQuery(query, undefined), success({ ...PLAIN, ...expected })));
}

const REFUSED: readonly [query: string, about: RegExp][] = [
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
for (const [query, about] of REFUSED) {
  test(`?${query} is refused`, () => {
    const parsed = parseEventQuery(query, undefined);
    assert.ok(!parsed.ok);
    assert.match(parsed.error, about);
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
  test(`?${query} with Last-Event-ID ${header ?? '(none)'} resumes after ${id ?? 'nothing'}`, () => {
    const parsed = parseEventQuery(query, header);
    assert.ok(parsed.ok);
    assert.equal(parsed.value.lastEventId, id);
  });
}
