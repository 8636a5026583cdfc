// A child's state machine, row by row: state, signal, next state, what is to be done.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Lifecycle, type Phase, RESTARTS, type Signal, step } from '../../src/supervisor/lifecycle.js';

const POLICY = { restarts: RESTARTS, stopWithinMs: 700 };
const START: Signal = { kind: 'start' };
const UP: Signal = { kind: 'status', state: 'up' };
const CONNECTING: Signal = { kind: 'status', state: 'connecting', detail: 'no peer' };
const ENDED: Signal = { kind: 'ended', how: 'exit code 7', at: 1000 };
const DUE: Signal = { kind: 'due' };
const STOP: Signal = { kind: 'stop' };

/** What is done, as short words. */
type Row = readonly [from: Phase, signal: Signal, to: Phase, deeds: string];

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
    const { next, effects } = step(lifeIn(from), signal, POLICY);
    assert.equal(next.phase, to);
    const done = effects.map((effect) =>
      effect.kind === 'set timer' ? `set timer ${effect.ms}` : effect.kind,
    );
    assert.equal(done.join(', '), deeds);
  });
}

test('a death counts as a restart and says why; the next word of the actor clears the reason', () => {
  const dead = step(lifeIn('up', { detail: 'old', restarts: 3 }), ENDED, POLICY).next;
  assert.deepEqual(dead, {
    phase: 'restarting',
    restarts: 4,
    deaths: [1000],
    detail: 'thread ended: exit code 7',
  });
  const reborn = step(dead, DUE, POLICY).next;
  assert.equal(reborn.detail, 'thread ended: exit code 7');
  assert.deepEqual(step(reborn, UP, POLICY).next, { phase: 'up', restarts: 4, deaths: [1000] });
});

test('a lost peer keeps the detail that the actor gave', () => {
  assert.equal(step(lifeIn('up'), CONNECTING, POLICY).next.detail, 'no peer');
});

test('the sixth death within the window fails, rests for 60 s and says how many there were', () => {
  const life = lifeIn('up', { restarts: 5, deaths: [500, 600, 700, 800, 900] });
  const { next, effects } = step(life, ENDED, POLICY);
  assert.equal(next.phase, 'failed');
  assert.equal(next.restarts, 6);
  assert.equal(next.detail, 'thread ended: exit code 7; 6 deaths in 60 s');
  assert.deepEqual(effects, [{ kind: 'set timer', ms: 60_000 }]);
});
