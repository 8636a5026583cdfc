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

function stateWith(sinks: readonly SinkInfo[], sinkInputs: readonly SinkInputInfo[]): SoundState {
  const state = new SoundState();
  for (const sink of sinks) state.putSink(sink);
  for (const sinkInput of sinkInputs) state.putSinkInput(sinkInput);
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
    sinkInputs: readonly SinkInputInfo[],
    expected: number[],
  ])[] = [
    ['in the order of the indices', BOTH, [NEWS, sinkInputInfo(8, 'Song', { sink: KITCHEN.index })], [1, 3]],
    ['without unknown outputs', [], [NEWS], []],
    ['without suspended outputs', [{ ...LIVING, state: SUSPENDED }, KITCHEN], [NEWS], []],
  ];
  for (const [what, sinks, sinkInputs, expected] of rows) {
    test(what, () => {
      const indices = playingSinks(stateWith(sinks, sinkInputs)).map(({ index }) => index);
      assert.deepEqual(indices, expected);
    });
  }
});

test('a known output has its measured level while it plays, else 0, and an unknown output has no level', () => {
  const textOf = (...measured: (readonly [sink: number, peak: readonly number[]])[]) => {
    const levels = { outputs: new Map(measured), inputs: new Map() };
    return levelText(currentLevels(stateWith([LIVING, KITCHEN], [NEWS]), new Set(), levels));
  };
  const UNKNOWN = 9;
  const levelsOfBoth = '{"outputs":[{"id":1,"peak":[0,0]},{"id":3,"peak":[0.5,0.25]}]}';
  // `kitchen` does not play, and no output has the index 9, so their measurements do not count.
  assert.equal(textOf([KITCHEN.index, [0.7]], [LIVING.index, [0.5, 0.25]], [UNKNOWN, [1]]), levelsOfBoth);
  // `living` plays, but nothing has measured it, so it has no level.
  assert.equal(textOf(), '{"outputs":[{"id":1,"peak":[0,0]}]}');
});

test('an input has its measured level while it is not suspended and another program captures it, else it has no level', () => {
  const state = stateWith([], []);
  const TURNTABLE = 5;
  const TELEVISION = 6;
  const UNKNOWN = 7;
  state.sources.put(sourceInfo(TURNTABLE, 'turntable'));
  state.sources.put({ ...sourceInfo(TELEVISION, 'television'), state: SUSPENDED });
  const peaks = new Map([TURNTABLE, TELEVISION, UNKNOWN].map((index) => [index, [0.5, 0.25]]));
  /** Returns the levels while the program `app` captures the input `source`. */
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
  /** `samples` belong to the first and the second channel in turn. `peaks` has one peak for each channel. */
  const rows: readonly (readonly [what: string, samples: readonly number[], peaks: readonly number[]])[] = [
    ['of several frames are the highest sample of each channel', [0.1, 0.4, 0.3, 0.2, 0, 0], [0.3, 0.4]],
    ['are rounded to thousandths', [0.499_97, 0.000_49], [0.5, 0]],
    ['with samples beyond full scale are 1', [1.5, Number.POSITIVE_INFINITY], [1, 1]],
    ['with samples that are negative or not a number are 0', [Number.NaN, -0.5], [0, 0]],
    ['that is cut short are 0 for the channels that it lacks', [0.5], [0.5, 0]],
  ];
  for (const [what, samples, peaks] of rows) {
    test(`the peaks of a fragment ${what}`, () => {
      // The samples begin at an odd offset, as they may in a chunk of the socket. One byte of an incomplete
      // sample follows them.
      const bytes = Buffer.alloc(1 + 4 * samples.length + 1);
      for (const [index, sample] of samples.entries()) bytes.writeFloatLE(sample, 1 + 4 * index);
      const channels = 2;
      assert.deepEqual(peaksOf(bytes.subarray(1), channels), peaks);
    });
  }

  test('the peaks of two successive fragments become the louder peak of each channel, or 0 if all peaks of the second fragment are 0', () => {
    assert.deepEqual(louderPeaks([0.5, 0.1], [0.2, 0.3]), [0.5, 0.3]);
    assert.deepEqual(louderPeaks([0.5, 0.1], [0, 0.1]), [0.5, 0.1]);
    assert.deepEqual(louderPeaks([0.5, 0.1], [0, 0]), [0, 0]);
  });
});
