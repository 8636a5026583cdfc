// Answers to `GET` from backends' records: the joined texts are kept until they change, a `GET` at the start
// waits, and entity tags are compared.

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

class Scene {
  readonly clock = new ManualClock();
  readonly journal = new Journal();
  readonly documents: Documents;

  constructor(enabled: readonly ChildName[] = ['audio', 'systemd', 'upgrade']) {
    this.documents = new Documents(enabled, this.journal, new ResponseMaker('boot'), this.clock);
  }

  apply(...changes: Change[]): void {
    this.journal.apply(changes, this.clock.date());
  }

  health(backend: ChildName, state: BackendState, detail?: string): void {
    const since = this.clock.date();
    this.documents.health(backend, { state, since, restarts: 0, ...(detail !== undefined && { detail }) });
  }

  cached(resource: Resource): CachedResponse | undefined {
    const found = this.documents.read(resource);
    return 'fault' in found ? undefined : found;
  }

  text(resource: Resource): string | undefined {
    return this.cached(resource)?.whole.body.toString();
  }

  changedAt(resource: Resource): number {
    const header = this.cached(resource)?.whole.headers.find(([name]) => name === 'X-Cache-Updated-At');
    return Date.parse(header?.[1] ?? '');
  }
}

const client = (key: string, value: unknown): Change => put('audio.clients', key, value);
const output = (key: string, value: unknown): Change => put('audio.outputs', key, value);
const unit = (key: string, value: string, rank: number) => put('systemd.services', key, value, rank);

test('no record is read while a backend is not up, and the problem has the reason', () => {
  const scene = new Scene();
  scene.apply(client('1', 'a'));
  assert.match(JSON.stringify(scene.documents.read('audio.clients')), /Backend audio is connecting"/);
  scene.health('audio', 'up');
  assert.equal(scene.text('audio.clients'), '["a"]');
  scene.health('audio', 'failed', 'no luck');
  assert.match(JSON.stringify(scene.documents.read('audio.clients')), /Backend audio is failed: no luck"/);
});

test('/audio joins its parts, and is missing while one part is', () => {
  const scene = new Scene();
  scene.apply(put('audio.kind', '', 'pipewire'), client('1', 'a'), client('2', 'b'), output('0', 'x'));
  scene.health('audio', 'up');
  assert.equal(scene.text('audio'), undefined);
  scene.apply(put('audio.server', '', {}));
  assert.equal(scene.text('audio'), '{"kind":"pipewire","server":{},"outputs":["x"],"clients":["a","b"]}');
  assert.equal(scene.text('audio.server'), '{}');
});

test('a body is kept until the next change of its records', () => {
  const scene = new Scene();
  scene.apply(client('1', 'a'), output('0', 'x'));
  scene.health('audio', 'up');
  const clients = scene.cached('audio.clients');
  const outputs = scene.cached('audio.outputs');
  scene.apply(client('1', 'a'));
  assert.equal(scene.cached('audio.clients'), clients);
  scene.clock.advance(1000);
  scene.apply(client('1', 'b'));
  assert.equal(scene.cached('audio.outputs'), outputs);
  assert.notEqual(scene.cached('audio.clients')?.etag, clients?.etag);
  assert.equal(scene.changedAt('audio.clients'), Math.floor(scene.clock.date()));
});

test('a list without records is as old as its backend, whenever it is requested', () => {
  const scene = new Scene();
  scene.clock.advance(1000);
  const upAt = Math.floor(scene.clock.date());
  scene.health('audio', 'up');
  scene.clock.advance(1000);
  assert.equal(scene.changedAt('audio.outputs'), upAt);
  scene.health('audio', 'up', 'and well');
  assert.equal(scene.changedAt('audio.outputs'), upAt);
  scene.health('audio', 'connecting');
  scene.health('audio', 'up');
  assert.equal(scene.changedAt('audio.outputs'), Math.floor(scene.clock.date()));
});

test('records with ranks are listed by rank, in whatever order they came', () => {
  const scene = new Scene();
  scene.apply(unit('user/a', 'a', 1));
  scene.apply(unit('system/z', 'z', 0));
  scene.health('systemd', 'up');
  assert.equal(scene.text('services'), '["z","a"]');
  scene.apply(drop('systemd.services', 'system/z'));
  scene.apply(unit('system/z', 'back', 0));
  assert.equal(scene.text('services'), '["back","a"]');
});

/** States of a backend that starts; `isOne` shows which of them are a verdict. */
const VERDICTS: readonly (readonly [state: BackendState, detail: string | undefined, isOne: boolean])[] = [
  ['up', undefined, true],
  ['connecting', undefined, false],
  ['connecting', 'no socket', true],
  ['restarting', 'thread ended', true],
  ['failed', 'thread ended', true],
];
for (const [state, detail, isOne] of VERDICTS) {
  test(`${state}${detail === undefined ? '' : ` with a reason`} is ${isOne ? '' : 'not '}a first verdict`, async () => {
    const scene = new Scene();
    let isSettled = false;
    const verdict = scene.documents.firstVerdict('audio')?.then(() => {
      isSettled = true;
    });
    assert.ok(verdict);
    scene.health('audio', state, detail);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isSettled, isOne);
    assert.equal(scene.documents.firstVerdict('audio') === undefined, isOne);
    assert.ok(scene.documents.firstVerdict('systemd'), 'another backend is waited for');
  });
}

test('the first state of a backend is waited for 2 s, and later nobody waits', async () => {
  const scene = new Scene();
  const verdict = scene.documents.firstVerdict('audio');
  scene.clock.advance(2000);
  await verdict;
  scene.health('audio', 'up');
  scene.health('audio', 'connecting');
  assert.equal(scene.documents.firstVerdict('audio'), undefined);
  assert.equal(scene.clock.timers, 0);
});

const rows: [ifNoneMatch: string, matches: boolean][] = [
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
for (const [ifNoneMatch, matches] of rows) {
  test(`If-None-Match: ${ifNoneMatch} ${matches ? 'names' : 'does not name'} "a-1"`, () =>
    assert.equal(isMatch(ifNoneMatch, '"a-1"'), matches));
}
