// Answers to `GET` from backends' records: the joined texts are kept until one of the records changes, a
// `GET` at the start waits, and entity tags are compared.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Documents } from '../../src/gateway/documents.js';
import { Journal } from '../../src/gateway/journal.js';
import { type CachedResponse, isMatch, ResponseMaker } from '../../src/gateway/reply.js';
import type { BackendState, ChildName } from '../../src/protocol/actor/backends.js';
import type { Resource } from '../../src/protocol/actor/collections.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import { ManualClock } from '../manual-clock.js';
import { drop, put } from './scripted-backends.js';

class DocumentsUnderTest {
  readonly clock = new ManualClock();
  readonly journal = new Journal();
  readonly documents: Documents;

  constructor(enabled: readonly ChildName[] = ['audio', 'systemd', 'upgrade']) {
    this.documents = new Documents(enabled, this.journal, new ResponseMaker('boot'), this.clock);
  }

  apply(...changes: Change[]): void {
    this.journal.apply(changes, this.clock.date());
  }

  setHealth(backend: ChildName, state: BackendState, detail?: string): void {
    const since = this.clock.date();
    this.documents.setHealth(backend, { state, since, restarts: 0, ...(detail !== undefined && { detail }) });
  }

  response(resource: Resource): CachedResponse | undefined {
    const result = this.documents.responseTo(resource);
    return result.ok ? result.value : undefined;
  }

  text(resource: Resource): string | undefined {
    return this.response(resource)?.whole.body.toString();
  }

  /** The time has whole milliseconds, because the header has no smaller parts. */
  changedAt(resource: Resource): number {
    const header = this.response(resource)?.whole.headers.find(([name]) => name === 'X-Cache-Updated-At');
    return Date.parse(header?.[1] ?? '');
  }
}

const client = (key: string, value: unknown): Change => put('audio.clients', key, value);
const output = (key: string, value: unknown): Change => put('audio.outputs', key, value);
const unit = (key: string, value: string, rank: number) => put('systemd.services', key, value, rank);

test('records of a backend that is not up are not read, and the problem gives the reason', () => {
  const under = new DocumentsUnderTest();
  under.apply(client('1', 'a'));
  assert.match(
    JSON.stringify(under.documents.responseTo('audio.clients')),
    /Backend audio is connecting: it is starting, and has not reported yet"/,
  );
  under.setHealth('audio', 'up');
  assert.equal(under.text('audio.clients'), '["a"]');
  under.setHealth('audio', 'failed', 'no luck');
  assert.match(
    JSON.stringify(under.documents.responseTo('audio.clients')),
    /Backend audio is failed: no luck"/,
  );
});

test('/audio joins its parts, and has no answer while one of them is missing', () => {
  const under = new DocumentsUnderTest();
  under.apply(put('audio.kind', '', 'pipewire'), client('1', 'a'), client('2', 'b'), output('0', 'x'));
  under.setHealth('audio', 'up');
  assert.match(
    JSON.stringify(under.documents.responseTo('audio')),
    /Backend audio is up: it has not reported this yet"/,
  );
  under.apply(put('audio.server', '', {}));
  assert.equal(under.text('audio'), '{"kind":"pipewire","server":{},"outputs":["x"],"clients":["a","b"]}');
  assert.equal(under.text('audio.server'), '{}');
});

test('a body is kept until the next change of its records', () => {
  const under = new DocumentsUnderTest();
  under.apply(client('1', 'a'), output('0', 'x'));
  under.setHealth('audio', 'up');
  const clients = under.response('audio.clients');
  const outputs = under.response('audio.outputs');
  under.apply(client('1', 'a'));
  assert.equal(under.response('audio.clients'), clients);
  under.clock.advance(1000);
  under.apply(client('1', 'b'));
  assert.equal(under.response('audio.outputs'), outputs);
  assert.notEqual(under.response('audio.clients')?.etag, clients?.etag);
  assert.equal(under.changedAt('audio.clients'), Math.floor(under.clock.date()));
});

test('an empty list counts as changed when its backend came up, not when the list is requested', () => {
  const under = new DocumentsUnderTest();
  under.clock.advance(1000);
  const upAt = Math.floor(under.clock.date());
  under.setHealth('audio', 'up');
  under.clock.advance(1000);
  assert.equal(under.changedAt('audio.outputs'), upAt);
  under.setHealth('audio', 'up', 'and well');
  assert.equal(under.changedAt('audio.outputs'), upAt);
  under.setHealth('audio', 'connecting');
  under.setHealth('audio', 'up');
  assert.equal(under.changedAt('audio.outputs'), Math.floor(under.clock.date()));
});

test('records with ranks are listed by rank, in whatever order they came', () => {
  const under = new DocumentsUnderTest();
  under.apply(unit('user/a', 'a', 1));
  under.apply(unit('system/z', 'z', 0));
  under.setHealth('systemd', 'up');
  assert.equal(under.text('services'), '["z","a"]');
  under.apply(drop('systemd.services', 'system/z'));
  under.apply(unit('system/z', 'back', 0));
  assert.equal(under.text('services'), '["back","a"]');
});

/** All orders in which three units may be published. Systemd chooses one at each start. */
const ARRIVALS: readonly (readonly number[])[] = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];
for (const arrival of ARRIVALS) {
  test(`units that come in the order ${arrival.join()} are listed as in the configuration, also after changes`, () => {
    const under = new DocumentsUnderTest();
    for (const rank of arrival) under.apply(unit(`user/${rank}`, `unit ${rank}`, rank));
    under.setHealth('systemd', 'up');
    assert.equal(under.text('services'), '["unit 0","unit 1","unit 2"]');
    for (const rank of arrival) under.apply(unit(`user/${rank}`, `changed ${rank}`, rank));
    assert.equal(under.text('services'), '["changed 0","changed 1","changed 2"]');
  });
}

interface FirstHealth {
  readonly title: string;
  readonly state: BackendState;
  readonly detail?: string;
  /**
   * True if this health counts as a report. Then a GET waits no longer. `connecting` without a reason does
   * not count: the backend has only started.
   */
  readonly isReport: boolean;
}
const FIRST_HEALTH: readonly FirstHealth[] = [
  { title: 'up is a first health report', state: 'up', isReport: true },
  { title: 'connecting is not a first health report', state: 'connecting', isReport: false },
  {
    title: 'connecting with a reason is a first health report',
    state: 'connecting',
    detail: 'no socket',
    isReport: true,
  },
  {
    title: 'restarting with a reason is a first health report',
    state: 'restarting',
    detail: 'thread ended',
    isReport: true,
  },
  {
    title: 'failed with a reason is a first health report',
    state: 'failed',
    detail: 'thread ended',
    isReport: true,
  },
];
for (const { title, state, detail, isReport } of FIRST_HEALTH) {
  test(title, async () => {
    const under = new DocumentsUnderTest();
    let isSettled = false;
    const firstHealth = under.documents.waitForFirstHealth('audio')?.then(() => {
      isSettled = true;
    });
    assert.ok(firstHealth);
    under.setHealth('audio', state, detail);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isSettled, isReport);
    const isWaitOver = under.documents.waitForFirstHealth('audio') === undefined;
    assert.equal(isWaitOver, isReport);
    assert.ok(under.documents.waitForFirstHealth('systemd'), 'another backend is waited for');
  });
}

test('a GET waits at most 2 s for the first health report of a backend, and does not wait after this report', async () => {
  const under = new DocumentsUnderTest();
  const firstHealth = under.documents.waitForFirstHealth('audio');
  under.clock.advance(2000);
  await firstHealth;
  under.setHealth('audio', 'up');
  under.setHealth('audio', 'connecting');
  assert.equal(under.documents.waitForFirstHealth('audio'), undefined);
  assert.equal(under.clock.timers, 0);
});

const rows: [ifNoneMatch: string, isNamed: boolean][] = [
  ['"a-1"', true],
  ['W/"a-1"', true],
  ['*', true],
  [' * ', true],
  ['"x", "a-1"', true],
  ['"x",W/"a-1","y"', true],
  ['"a-1', false],
  ['a-1', false],
  ['"A-1"', false],
];
for (const [ifNoneMatch, isNamed] of rows) {
  test(`If-None-Match: ${ifNoneMatch} ${isNamed ? 'names' : 'does not name'} "a-1"`, () =>
    assert.equal(isMatch(ifNoneMatch, '"a-1"'), isNamed));
}
