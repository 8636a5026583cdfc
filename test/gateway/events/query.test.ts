// The query of a stream: a row per line of docs/events.md, "Query", and per question that it leaves open.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Filter, filterOf } from '../../../src/gateway/events/frames.js';
import { parseEventQuery } from '../../../src/gateway/events/query.js';
import type { ChildName } from '../../../src/protocol/actor/backends.js';
import type { EventType } from '../../../src/protocol/actor/collections.js';

/** All types except those that must be requested by name. */
const ALL = without();
const NOTHING = filterOf(() => false);
const PLAIN = { filter: ALL, keepaliveMs: 30_000, snapshot: false, unknown: [] };

function only(...types: readonly EventType[]): Filter {
  return filterOf((type) => types.includes(type));
}

function of(...backends: readonly ChildName[]): Filter {
  return filterOf((type, backend) => backends.includes(backend) && type !== 'audio.level');
}

function without(...types: readonly EventType[]): Filter {
  return filterOf((type) => !types.includes(type) && type !== 'audio.level');
}

test('the kinds of events fit into the bits of a filter', () => {
  let kinds = 0;
  filterOf(() => {
    kinds += 1;
    return false;
  });
  assert.ok(kinds < 31, `${kinds} kinds`);
});

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
      ...(['power.action', 'audio.updated', 'audio.output.updated', 'audio.output.removed'] as const),
      ...(['audio.card.updated', 'audio.card.removed'] as const),
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
  ['types=audio', { filter: NOTHING, unknown: ['audio'] }],
  ['types=toString,server.info', { filter: NOTHING, unknown: ['toString'] }],
  ['backend=audio.updated,mpris', { filter: of('players'), unknown: ['audio.updated'] }],
  ['exclude=audio', { unknown: ['audio'] }],
  ['lastEventId=b-3', { lastEventId: 'b-3' }],
  ['lastEventId=b-3&lastEventId=b-5', { lastEventId: 'b-5' }],
  ['snapshot=1&lastEventId=b%2D3', { snapshot: true, lastEventId: 'b-3' }],
];
const unknownIn = (query: string): string[] => query.match(/future[.\w]*/g) ?? [];
const ACCEPTED = [
  ...FILTERS.map(([query, filter]) => [query, { filter, unknown: unknownIn(query) }] as const),
  ...OPTIONS,
];
for (const [query, expected] of ACCEPTED) {
  test(`?${query} is understood`, () => {
    assert.deepEqual(parseEventQuery(query, undefined), { ok: true, query: { ...PLAIN, ...expected } });
  });
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
    assert.match(parsed.detail, about);
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
    assert.equal(parsed.query.lastEventId, id);
  });
}
