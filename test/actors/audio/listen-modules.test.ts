// Tests which loopbacks are loaded and unloaded, from the desired pairs and the modules of the sound server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ListenPair,
  LOOPBACK_MODULE,
  listenSteps,
  loopbackArgument,
  type ObservedLoopbacks,
} from '../../../src/actors/audio/listen-modules.js';
import { ListenPairs, PAIRS_MAX } from '../../../src/actors/audio/listen-pairs.js';
import type { ModuleInfo } from '../../../src/protocol/pulse/records.js';

const pair = (input: string, output: string, origin: ListenPair['origin'] = 'command'): ListenPair => {
  return { input, output, origin };
};
const MIKE = pair('mike', 'living');

const SINKS = ['living', 'kitchen'].map((name, index) => ({ index, name }));
const SOURCES = ['mike', 'line'].map((name, index) => ({ index: 10 + index, name }));
const KITCHEN_INDEX = 1;
const LINE_INDEX = 11;

const LATENCY_MS = 100;

/** A loaded loopback. By default it has the ends and the argument that the daemon gives to this pair. */
interface Loopback {
  readonly pair: ListenPair;
  readonly latencyMs?: number;
  /** The sink to which its stream plays. */
  readonly sink?: number | 'nowhere';
  /** The source that its other stream reads. */
  readonly source?: number | 'nowhere';
  readonly argument?: string;
}

const indexOf = (records: typeof SINKS, name: string) =>
  records.find((record) => record.name === name)?.index;

/** The records of a server with these loopbacks. The position of a loopback is its module's index. */
function observedLoopbacks(...loopbacks: readonly Loopback[]): ObservedLoopbacks {
  const endOf = (chosen: Loopback['sink'], usual: number | undefined) =>
    chosen === 'nowhere' ? undefined : (chosen ?? usual);
  return {
    modules: loopbacks.map((loopback, index): ModuleInfo => {
      const argument =
        loopback.argument ?? loopbackArgument(loopback.pair, 'Microphone', loopback.latencyMs ?? LATENCY_MS);
      return { index, name: LOOPBACK_MODULE, argument, used: undefined, props: {} };
    }),
    sinks: SINKS,
    sources: SOURCES,
    sinkInputs: loopbacks.map((loopback, ownerModule) => {
      return { ownerModule, sink: endOf(loopback.sink, indexOf(SINKS, loopback.pair.output)) };
    }),
    sourceOutputs: loopbacks.map((loopback, ownerModule) => {
      return { ownerModule, source: endOf(loopback.source, indexOf(SOURCES, loopback.pair.input)) };
    }),
  };
}

const FOREIGN_ARGUMENT = 'source=mike sink=living latency_msec=200';
const ROWS: readonly (readonly [
  what: string,
  desired: ListenPair[],
  sound: ObservedLoopbacks,
  ...steps: string[],
])[] = [
  ['a missing loopback is made', [MIKE], observedLoopbacks(), 'make mike living'],
  ['a right loopback stays', [MIKE], observedLoopbacks({ pair: MIKE })],
  [
    'the second loopback of a pair is unloaded',
    [MIKE],
    observedLoopbacks({ pair: MIKE }, { pair: MIKE }),
    'unload 1',
  ],
  ['a loopback of another tonearm stays', [], observedLoopbacks({ pair: MIKE })],
  [
    'a loopback that plays elsewhere is made anew',
    [MIKE],
    observedLoopbacks({ pair: MIKE, sink: KITCHEN_INDEX }),
    'unload 0',
    'make mike living',
  ],
  [
    'a loopback that reads another input is made anew',
    [MIKE],
    observedLoopbacks({ pair: MIKE, source: LINE_INDEX }),
    'unload 0',
    'make mike living',
  ],
  [
    'a loopback that has lost its output is made anew',
    [MIKE],
    observedLoopbacks({ pair: MIKE, sink: 'nowhere' }),
    'unload 0',
    'make mike living',
  ],
  [
    'a loopback with another latency than the configuration has now is made anew',
    [MIKE],
    observedLoopbacks({ pair: MIKE, latencyMs: 300 }),
    'unload 0',
    'make mike living',
  ],
  [
    'the loopback of a command is made anew when its pair is configured, so that it ends when the pair is no longer configured',
    [pair('mike', 'living', 'configuration')],
    observedLoopbacks({ pair: MIKE }),
    'unload 0',
    'make mike living',
  ],
  ['a pair without its input waits', [pair('phono', 'living')], observedLoopbacks()],
  ['a pair without its output waits', [pair('mike', 'attic')], observedLoopbacks()],
  [
    'a loopback whose output no longer exists is unloaded, and its pair waits',
    [pair('mike', 'attic')],
    observedLoopbacks({ pair: pair('mike', 'attic') }),
    'unload 0',
  ],
  ['a loopback of another program stays', [], observedLoopbacks({ pair: MIKE, argument: FOREIGN_ARGUMENT })],
  [
    'a loopback of another program does not count as ours',
    [MIKE],
    observedLoopbacks({ pair: MIKE, argument: FOREIGN_ARGUMENT }),
    'make mike living',
  ],
];
for (const [what, desired, sound, ...steps] of ROWS)
  test(what, () => {
    const actual = listenSteps(desired, [], sound, LATENCY_MS).map((step) =>
      step.do === 'make' ? `make ${step.pair.input} ${step.pair.output}` : `unload ${step.module.index}`,
    );
    assert.deepEqual(actual, steps);
  });

test('the loopback of a pair that has ended is unloaded, and that of another tonearm stays', () => {
  const sound = observedLoopbacks({ pair: MIKE }, { pair: pair('line', 'living') });
  assert.deepEqual(
    listenSteps([], [MIKE], sound, LATENCY_MS).map((step) => step.do === 'unload' && step.module.index),
    [0],
  );
});

test('a description with quotes cannot end the argument early', () => {
  const argument = loopbackArgument(MIKE, `Bob's "new"\\ mike\n${'x'.repeat(100)}`, LATENCY_MS);
  // Only the argument's own quotes are left, around its two lists of properties and the name in each.
  assert.equal(argument.match(/['"\\\n]/g)?.join(''), `"''""''"`);
  assert.deepEqual(listenSteps([MIKE], [], observedLoopbacks({ pair: MIKE, argument }), LATENCY_MS), []);
});

test('a restart of the daemon keeps the pairs of commands, and ends those of an earlier configuration', () => {
  const pairs = new ListenPairs({ line: 'kitchen' });
  pairs.observe(observedLoopbacks({ pair: MIKE }, { pair: pair('mike', 'kitchen', 'configuration') }));
  assert.deepEqual(
    pairs.desired.map(({ input, output }) => `${input} ${output}`),
    ['line kitchen', 'mike living'],
  );
  assert.deepEqual(pairs.ended, [pair('mike', 'kitchen', 'configuration')]);
});

test('a restart of the daemon keeps all pairs of commands that there is room for, also if the first is configured', () => {
  const outputs = Array.from({ length: PAIRS_MAX }, (_, room) => `room${room}`);
  const pairs = new ListenPairs({ mike: 'room0' });
  pairs.observe(observedLoopbacks(...outputs.map((output) => ({ pair: pair('mike', output) }))));
  assert.deepEqual(
    pairs.desired.map(({ output }) => output),
    outputs,
  );
  assert.deepEqual(pairs.ended, []);
});

test('a pair of a command ends when its output goes, but not when the sound server restarts', () => {
  const pairs = new ListenPairs({ line: 'living' });
  pairs.add(MIKE);
  const withoutOutputs = { ...observedLoopbacks(), sinks: [] };

  pairs.observe(observedLoopbacks());
  // The sound server restarts.
  pairs.forgetIndices();
  pairs.observe(withoutOutputs);
  assert.equal(pairs.desired.length, 2);

  pairs.observe(observedLoopbacks());
  pairs.observe(withoutOutputs);
  assert.deepEqual(
    pairs.desired.map(({ input }) => input),
    ['line'],
  );
});

test('an output with a new index was removed in between, so its pair ends', () => {
  const pairs = new ListenPairs({});
  pairs.add(MIKE);
  pairs.observe(observedLoopbacks());

  pairs.observe({
    ...observedLoopbacks(),
    sinks: SINKS.map(({ index, name }) => ({ index: index + 5, name })),
  });

  assert.deepEqual(pairs.desired, []);
});
