// A child's life, row by row: what each signal does in each state, when a dead one is started again (docs/http-api.md, "Backends that are
// away"), its state in /health, and how long it may take to stop.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendHealth, BackendState } from '../../src/protocol/actor/backends.js';
import { CHILDREN } from '../../src/supervisor/children.js';
import {
  afterDeath,
  healthAfter,
  type Lifecycle,
  type LifeSignal,
  nextLife,
  type Phase,
  RESTARTS,
} from '../../src/supervisor/lifecycle.js';

const POLICY = { restarts: RESTARTS, stopWithinMs: 700 };
const START: LifeSignal = { kind: 'start' };
const UP: LifeSignal = { kind: 'status', state: 'up' };
const CONNECTING: LifeSignal = { kind: 'status', state: 'connecting', detail: 'no peer' };
const ENDED: LifeSignal = { kind: 'ended', how: 'exit code 7', at: 1000 };
const DUE: LifeSignal = { kind: 'due' };
const STOP: LifeSignal = { kind: 'stop' };

/** `deeds`: the actions, as short words. */
type Row = readonly [from: Phase, signal: LifeSignal, to: Phase, deeds: string];

const ROWS: readonly Row[] = [
  ['stopped', START, 'starting', 'spawn'],
  ['starting', CONNECTING, 'connecting', ''],
  ['starting', UP, 'up', ''],
  ['connecting', UP, 'up', ''],
  ['up', CONNECTING, 'connecting', ''],
  ['up', UP, 'up', ''],
  ['starting', ENDED, 'restarting', 'set timer 0'],
  ['connecting', ENDED, 'restarting', 'set timer 0'],
  ['up', ENDED, 'restarting', 'set timer 0'],
  ['restarting', DUE, 'starting', 'spawn'],
  ['failed', DUE, 'starting', 'spawn'],
  ['starting', STOP, 'stopping', 'ask to stop, set timer 700'],
  ['connecting', STOP, 'stopping', 'ask to stop, set timer 700'],
  ['up', STOP, 'stopping', 'ask to stop, set timer 700'],
  ['restarting', STOP, 'stopped', ''],
  ['failed', STOP, 'stopped', ''],
  ['stopping', ENDED, 'stopped', ''],
  ['stopping', DUE, 'stopping', 'kill'],
  // A signal that comes too late or twice changes nothing.
  ['stopping', UP, 'stopping', ''],
  ['stopping', STOP, 'stopping', ''],
  ['stopping', START, 'stopping', ''],
  ['stopped', STOP, 'stopped', ''],
  ['stopped', UP, 'stopped', ''],
  ['stopped', DUE, 'stopped', ''],
  ['stopped', ENDED, 'stopped', ''],
  ['up', START, 'up', ''],
  ['up', DUE, 'up', ''],
  ['restarting', UP, 'restarting', ''],
  ['restarting', ENDED, 'restarting', ''],
  ['failed', UP, 'failed', ''],
];

function lifeIn(phase: Phase, more: Partial<Lifecycle> = {}): Lifecycle {
  return { phase, restarts: 0, deaths: [], ...more };
}

for (const [from, signal, to, deeds] of ROWS) {
  const word = signal.kind === 'status' ? signal.state : signal.kind;
  test(`${from} gets ${word}: ${to}${deeds && `, ${deeds}`}`, () => {
    const { next, effects } = nextLife(lifeIn(from), signal, POLICY);
    assert.equal(next.phase, to);
    const done = effects.map((effect) =>
      effect.kind === 'set timer' ? `set timer ${effect.ms}` : effect.kind,
    );
    assert.equal(done.join(', '), deeds);
  });
}

/** Times of all deaths, the last one being this death; what is done, and after which wait. */
const DEATHS: readonly (readonly [string, deaths: readonly number[], verdict: string, waitMs: number])[] = [
  ['the sixth at 60 s finds the first forgotten', [0, 1, 2, 3, 4, 60_000], 'restarting', 2000],
  ['a death a minute is always mended at once', [0, 60_000, 120_000, 180_000], 'restarting', 0],
];

for (const [name, deaths, verdict, waitMs] of DEATHS) {
  test(name, () => {
    let history: readonly number[] = [];
    let last: unknown;
    for (const at of deaths) {
      const { deaths: kept, ...decision } = afterDeath(history, at, RESTARTS);
      history = kept;
      last = decision;
    }
    assert.deepEqual(last, { verdict, waitMs });
  });
}

test('the history of deaths is bounded however fast they come', () => {
  let deaths: readonly number[] = [];
  for (let at = 0; at < 1000; at += 1) deaths = afterDeath(deaths, at, RESTARTS).deaths;
  assert.deepEqual(deaths, [994, 995, 996, 997, 998, 999]);
});

const health = (state: BackendState, since: number, restarts: number, detail?: string): BackendHealth => ({
  ...{ state, since, restarts, ...(detail !== undefined && { detail }) },
});
const life = (phase: Phase, restarts: number, detail?: string): Lifecycle =>
  lifeIn(phase, { restarts, ...(detail !== undefined && { detail }) });

const IS_UP = health('up', 100, 1);
const IS_BACK = health('restarting', 100, 1, 'x');

/** Without a last one it stays as it is, the very object. */
const HEALTH: readonly (readonly [string, BackendHealth | undefined, Lifecycle, BackendHealth?])[] = [
  ['a first start is connecting', undefined, life('starting', 0), health('connecting', 200, 0)],
  ['a start after a death is still restarting', IS_BACK, life('starting', 1, 'x')],
  ['a new state begins now', IS_UP, life('restarting', 2, 'x'), health('restarting', 200, 2, 'x')],
  [
    'a new detail keeps the time of the state',
    health('connecting', 100, 0, 'a'),
    life('connecting', 0, 'b'),
    health('connecting', 100, 0, 'b'),
  ],
  [
    'a further death in the same state is a change',
    IS_BACK,
    life('restarting', 2, 'x'),
    health('restarting', 100, 2, 'x'),
  ],
  [
    'a try after the rest is restarting',
    health('failed', 100, 6, 'x'),
    life('starting', 6, 'x'),
    health('restarting', 200, 6, 'x'),
  ],
  ['the same again is no change', IS_UP, life('up', 1)],
  ['stopping reports nothing', IS_UP, life('stopping', 1)],
  ['stopped reports nothing', IS_UP, life('stopped', 1)],
];

for (const [name, before, now, after] of HEALTH) {
  test(name, () => {
    const told = healthAfter(before, now, 200);
    if (after === undefined) assert.equal(told, before);
    else assert.deepEqual(told, after);
  });
}

test('all deadlines together leave the gateway its share of the 5 s', () => {
  const total = CHILDREN.reduce((sum, { stopWithinMs }) => sum + stopWithinMs, 0);
  assert.ok(total < 4000, `${total} ms`);
});
