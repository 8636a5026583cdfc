// A child's life, row by row: what each signal does in each state, when a dead one is started again (contract, section 7), and what
// /health says of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendHealth } from '../../src/protocol/actor/backends.js';
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

/** What is done, as short words. */
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
  // What comes too late or twice changes nothing.
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
  test(`${from} hears ${word}: ${to}${deeds && `, ${deeds}`}`, () => {
    const { next, effects } = nextLife(lifeIn(from), signal, POLICY);
    assert.equal(next.phase, to);
    const done = effects.map((effect) =>
      effect.kind === 'set timer' ? `set timer ${effect.ms}` : effect.kind,
    );
    assert.equal(done.join(', '), deeds);
  });
}

test('a death counts as a restart and says why; the next word of the actor clears the reason', () => {
  const dead = nextLife(lifeIn('up', { detail: 'old', restarts: 3 }), ENDED, POLICY).next;
  assert.deepEqual(dead, {
    phase: 'restarting',
    restarts: 4,
    deaths: [1000],
    detail: 'thread ended: exit code 7',
  });
  const reborn = nextLife(dead, DUE, POLICY).next;
  assert.equal(reborn.detail, 'thread ended: exit code 7');
  assert.deepEqual(nextLife(reborn, UP, POLICY).next, { phase: 'up', restarts: 4, deaths: [1000] });
});

test('a lost peer keeps the detail that the actor gave', () => {
  assert.equal(nextLife(lifeIn('up'), CONNECTING, POLICY).next.detail, 'no peer');
});

test('the sixth death within the window fails, rests for 60 s and says how many there were', () => {
  const life = lifeIn('up', { restarts: 5, deaths: [500, 600, 700, 800, 900] });
  const { next, effects } = nextLife(life, ENDED, POLICY);
  assert.equal(next.phase, 'failed');
  assert.equal(next.restarts, 6);
  assert.equal(next.detail, 'thread ended: exit code 7; 6 deaths in 60 s');
  assert.deepEqual(effects, [{ kind: 'set timer', ms: 60_000 }]);
});

/** Times of all deaths, the last one being this death; what is done, and after which wait. */
const DEATHS: readonly (readonly [
  name: string,
  deaths: readonly number[],
  verdict: 'restarting' | 'failed',
  waitMs: number,
])[] = [
  ['the first death is mended at once', [5], 'restarting', 0],
  ['the second waits 250 ms', [0, 1], 'restarting', 250],
  ['the third waits 500 ms', [0, 1, 2], 'restarting', 500],
  ['the fourth waits 1 s', [0, 1, 2, 3], 'restarting', 1000],
  ['the fifth waits 2 s: 5 are not more than 5', [0, 1, 2, 3, 4], 'restarting', 2000],
  ['the sixth within 60 s rests for 60 s', [0, 1, 2, 3, 4, 59_999], 'failed', 60_000],
  ['the sixth at 60 s finds the first forgotten', [0, 1, 2, 3, 4, 60_000], 'restarting', 2000],
  ['a death a minute is always mended at once', [0, 60_000, 120_000, 180_000], 'restarting', 0],
  ['after the rest the count begins anew', [0, 1, 2, 3, 4, 5, 60_005], 'restarting', 0],
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

test('the history is bounded however fast the deaths come', () => {
  let deaths: readonly number[] = [];
  for (let at = 0; at < 1000; at += 1) deaths = afterDeath(deaths, at, RESTARTS).deaths;
  assert.deepEqual(deaths, [994, 995, 996, 997, 998, 999]);
});

const IS_UP: BackendHealth = { state: 'up', since: 100, restarts: 1 };

interface HealthRow {
  readonly name: string;
  readonly before: BackendHealth | undefined;
  readonly life: Omit<Lifecycle, 'deaths'>;
  /** Absent: the very object `before`. */
  readonly after?: BackendHealth;
}

const HEALTH: readonly HealthRow[] = [
  {
    name: 'a first start is connecting',
    before: undefined,
    life: { phase: 'starting', restarts: 0 },
    after: { state: 'connecting', since: 200, restarts: 0 },
  },
  {
    name: 'a start after a death is still restarting',
    before: { state: 'restarting', since: 100, restarts: 1, detail: 'thread ended: x' },
    life: { phase: 'starting', restarts: 1, detail: 'thread ended: x' },
  },
  {
    name: 'a new state begins now',
    before: IS_UP,
    life: { phase: 'restarting', restarts: 2, detail: 'thread ended: x' },
    after: { state: 'restarting', since: 200, restarts: 2, detail: 'thread ended: x' },
  },
  {
    name: 'a new detail keeps the time of the state',
    before: { state: 'connecting', since: 100, restarts: 0, detail: 'a' },
    life: { phase: 'connecting', restarts: 0, detail: 'b' },
    after: { state: 'connecting', since: 100, restarts: 0, detail: 'b' },
  },
  {
    name: 'a further death in the same state is a change',
    before: { state: 'restarting', since: 100, restarts: 1, detail: 'thread ended: x' },
    life: { phase: 'restarting', restarts: 2, detail: 'thread ended: x' },
    after: { state: 'restarting', since: 100, restarts: 2, detail: 'thread ended: x' },
  },
  {
    name: 'a try after the rest is restarting',
    before: { state: 'failed', since: 100, restarts: 6, detail: 'x' },
    life: { phase: 'starting', restarts: 6, detail: 'x' },
    after: { state: 'restarting', since: 200, restarts: 6, detail: 'x' },
  },
  { name: 'the same again is no change', before: IS_UP, life: { phase: 'up', restarts: 1 } },
  { name: 'stopping reports nothing', before: IS_UP, life: { phase: 'stopping', restarts: 1 } },
  { name: 'stopped reports nothing', before: IS_UP, life: { phase: 'stopped', restarts: 1 } },
];

for (const { name, before, life, after } of HEALTH) {
  test(name, () => {
    const health = healthAfter(before, { ...life, deaths: [] }, 200);
    if (after === undefined) assert.equal(health, before);
    else assert.deepEqual(health, after);
  });
}
