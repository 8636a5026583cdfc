// Tests which outputs and inputs have a level, and what the level is.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  currentLevels,
  levelText,
  louderPeaks,
  peaksOf,
  playingSinks,
  sourcesCapturedBy,
} from '../../../src/actors/audio/levels.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { SinkInfo, SinkInputInfo } from '../../../src/protocol/pulse/records.js';
import { sinkInfo, sinkInputInfo, sourceInfo } from './sound-records.js';

function stateWith(sinks: readonly SinkInfo[], inputs: readonly SinkInputInfo[]): SoundState {
  const state = new SoundState();
  for (const sink of sinks) state.putSink(sink);
  for (const input of inputs) state.putSinkInput(input);
  return state;
}

const SUSPENDED = 2;
const LIVING = sinkInfo(3, 'living');
const KITCHEN = sinkInfo(1, 'kitchen');
const NEWS = sinkInputInfo(7, 'News', { sink: LIVING.index });

describe('the playing outputs are listed', () => {
  const BOTH = [LIVING, KITCHEN];
  const rows: readonly (readonly [
    what: string,
    sinks: readonly SinkInfo[],
    inputs: readonly SinkInputInfo[],
    expected: number[],
  ])[] = [
    ['in the order of the indices', BOTH, [NEWS, sinkInputInfo(8, 'Song', { sink: KITCHEN.index })], [1, 3]],
    ['without unknown outputs', [], [NEWS], []],
    ['without suspended outputs', [{ ...LIVING, state: SUSPENDED }, KITCHEN], [NEWS], []],
  ];
  for (const [what, sinks, inputs, expected] of rows) {
    test(what, () => {
      const indices = playingSinks(stateWith(sinks, inputs)).map(({ index }) => index);
      assert.deepEqual(indices, expected);
    });
  }
});

test('only a known output that plays has its measured level, and a known output that does not play has 0', () => {
  const textOf = (...measured: (readonly [sink: number, peak: readonly number[]])[]) => {
    const levels = { outputs: new Map(measured), inputs: new Map() };
    return levelText(currentLevels(stateWith([LIVING, KITCHEN], [NEWS]), new Set(), levels));
  };
  const UNKNOWN = 9;
  const levelsOfBoth = '{"outputs":[{"id":1,"peak":[0,0]},{"id":3,"peak":[0.5,0.25]}]}';
  // `kitchen` does not play, and no output has the index 9, so their measurements do not count.
  assert.equal(textOf([KITCHEN.index, [0.7]], [LIVING.index, [0.5, 0.25]], [UNKNOWN, [1]]), levelsOfBoth);
  // `living` plays, but nothing has measured it.
  assert.equal(textOf(), '{"outputs":[{"id":1,"peak":[0,0]}]}');
});

test('an input has its measured level while it is not suspended and others capture it, else none', () => {
  const state = stateWith([], []);
  const TURNTABLE = 5;
  const TELEVISION = 6;
  const UNKNOWN = 7;
  state.sources.put(sourceInfo(TURNTABLE, 'turntable'));
  state.sources.put({ ...sourceInfo(TELEVISION, 'television'), state: SUSPENDED });
  const peaks = new Map([TURNTABLE, TELEVISION, UNKNOWN].map((index) => [index, [0.5, 0.25]]));
  /** The levels while an application captures one input. */
  const textOf = (source: number, app: string, { corked } = { corked: false }) => {
    const captured = sourcesCapturedBy([{ source, corked, props: { 'application.name': app } }]);
    return levelText(currentLevels(state, captured, { outputs: new Map(), inputs: peaks }));
  };
  assert.equal(textOf(TURNTABLE, 'Recorder'), '{"outputs":[],"inputs":[{"id":5,"peak":[0.5,0.25]}]}');
  const noLevel = '{"outputs":[]}';
  assert.equal(textOf(TURNTABLE, 'Recorder', { corked: true }), noLevel);
  assert.equal(textOf(TURNTABLE, 'tonearm'), noLevel);
  assert.equal(textOf(TELEVISION, 'Recorder'), noLevel);
  assert.equal(textOf(UNKNOWN, 'Recorder'), noLevel);
});

describe('peaks', () => {
  /** `values` are samples of two channels in turn. `peaks` has one peak for each channel. */
  const rows: readonly (readonly [what: string, values: readonly number[], peaks: readonly number[]])[] = [
    ['of several frames has the highest peak of each channel', [0.1, 0.4, 0.3, 0.2, 0, 0], [0.3, 0.4]],
    ['is rounded to thousandths', [0.499_97, 0.000_49], [0.5, 0]],
    ['beyond full scale is full scale', [1.5, Number.POSITIVE_INFINITY], [1, 1]],
    ['of values that are not a number, or negative, is silence', [Number.NaN, -0.5], [0, 0]],
    ['that is cut short is silent in the channels that it lacks', [0.5], [0.5, 0]],
  ];
  for (const [what, values, peaks] of rows) {
    test(`a fragment ${what}`, () => {
      // The values begin at an odd offset, as they may in a chunk of the socket. One byte of an incomplete
      // value follows them.
      const bytes = Buffer.alloc(1 + 4 * values.length + 1);
      for (const [index, value] of values.entries()) bytes.writeFloatLE(value, 1 + 4 * index);
      const channels = 2;
      assert.deepEqual(peaksOf(bytes.subarray(1), channels), peaks);
    });
  }

  test('two fragments in a row become the louder level of each channel, or silence if the second is silent', () => {
    assert.deepEqual(louderPeaks([0.5, 0.1], [0.2, 0.3]), [0.5, 0.3]);
    assert.deepEqual(louderPeaks([0.5, 0.1], [0, 0.1]), [0.5, 0.1]);
    assert.deepEqual(louderPeaks([0.5, 0.1], [0, 0]), [0, 0]);
  });
});
