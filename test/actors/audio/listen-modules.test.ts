// Tests which loopbacks are made and unloaded for the desired pairs, and which pairs end. A pair is an input
// and an output at which the input is to be heard.

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

/** The index of the sink or source to which one end of a loopback is connected. */
type LoopbackEnd = number | 'nowhere';

/** A loaded loopback. By default it has the ends and the argument that the daemon gives to this pair. */
interface Loopback {
  readonly pair: ListenPair;
  readonly latencyMs?: number;
  readonly sink?: LoopbackEnd;
  readonly source?: LoopbackEnd;
  readonly argument?: string;
}

const indexOf = (records: typeof SINKS, name: string) =>
  records.find((record) => record.name === name)?.index;

/** The records of a server with these loopbacks. The position of a loopback is its module's index. */
function observedLoopbacks(...loopbacks: readonly Loopback[]): ObservedLoopbacks {
  const endOf = (chosen: LoopbackEnd | undefined, usual: number | undefined) =>
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

/** The steps, each as `make INPUT OUTPUT` or `unload MODULE`. */
const stepTexts = (
  desired: readonly ListenPair[],
  ended: readonly ListenPair[],
  observed: ObservedLoopbacks,
): readonly string[] =>
  listenSteps(desired, ended, observed, LATENCY_MS).map((step) =>
    step.do === 'make' ? `make ${step.pair.input} ${step.pair.output}` : `unload ${step.module.index}`,
  );

const NONE_ENDED: readonly ListenPair[] = [];
/** Stands for the indices of a pair's input and output while they are not known (`ListenPairs.add`). */
const UNKNOWN_INDICES = undefined;
const FOREIGN_ARGUMENT = 'source=mike sink=living latency_msec=200';
const ROWS: readonly (readonly [
  what: string,
  desired: ListenPair[],
  observed: ObservedLoopbacks,
  ...steps: string[],
])[] = [
  ['a missing loopback is made', [MIKE], observedLoopbacks(), 'make mike living'],
  ['a loopback that is as desired stays', [MIKE], observedLoopbacks({ pair: MIKE })],
  [
    'the second loopback of a pair is unloaded',
    [MIKE],
    observedLoopbacks({ pair: MIKE }, { pair: MIKE }),
    'unload 1',
  ],
  // The pair of this loopback is neither desired nor ended here, so the loopback may be another tonearm's.
  ['a loopback of another tonearm stays', [], observedLoopbacks({ pair: MIKE })],
  [
    'a loopback that plays to another output is made anew',
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
    'a loopback whose latency is not the configured one is made anew',
    [MIKE],
    observedLoopbacks({ pair: MIKE, latencyMs: 300 }),
    'unload 0',
    'make mike living',
  ],
  // The new loopback has the origin `configuration`, so it ends when the pair is no longer configured.
  [
    'the loopback of a command is made anew when its pair is configured',
    [pair('mike', 'living', 'configuration')],
    observedLoopbacks({ pair: MIKE }),
    'unload 0',
    'make mike living',
  ],
  ['a pair whose input is missing waits', [pair('phono', 'living')], observedLoopbacks()],
  ['a pair whose output is missing waits', [pair('mike', 'attic')], observedLoopbacks()],
  [
    'a loopback whose output no longer exists is unloaded, and its pair waits',
    [pair('mike', 'attic')],
    observedLoopbacks({ pair: pair('mike', 'attic') }),
    'unload 0',
  ],
  ['a loopback of another program stays', [], observedLoopbacks({ pair: MIKE, argument: FOREIGN_ARGUMENT })],
  [
    'a loopback of another program does not count as a loopback of the pair',
    [MIKE],
    observedLoopbacks({ pair: MIKE, argument: FOREIGN_ARGUMENT }),
    'make mike living',
  ],
];
for (const [what, desired, observed, ...steps] of ROWS)
  test(what, () => assert.deepEqual(stepTexts(desired, NONE_ENDED, observed), steps));

test('the loopback of a pair that has ended is unloaded, and the loopback of another tonearm stays', () => {
  const ended = [MIKE];
  const observed = observedLoopbacks({ pair: MIKE }, { pair: pair('line', 'living') });
  assert.deepEqual(stepTexts([], ended, observed), ['unload 0']);
});

test('a description with quotes cannot end the argument early', () => {
  const argument = loopbackArgument(MIKE, `Bob's "new"\\ mike\n${'x'.repeat(100)}`, LATENCY_MS);
  // Only the argument's own quotes are left, around its two lists of properties and the name in each.
  assert.equal(argument.match(/['"\\\n]/g)?.join(''), `"''""''"`);
  const observed = observedLoopbacks({ pair: MIKE, argument });
  assert.deepEqual(stepTexts([MIKE], NONE_ENDED, observed), [], 'the loopback is recognized, and stays');
});

test('a restart of the daemon keeps the pairs of commands, and ends those of an earlier configuration', () => {
  const configured = { line: 'kitchen' };
  const pairs = new ListenPairs(configured);
  const pairOfEarlierConfiguration = pair('mike', 'kitchen', 'configuration');
  pairs.observe(observedLoopbacks({ pair: MIKE }, { pair: pairOfEarlierConfiguration }));
  assert.deepEqual(
    pairs.desired.map(({ input, output }) => `${input} ${output}`),
    ['line kitchen', 'mike living'],
  );
  assert.deepEqual(pairs.ended, [pairOfEarlierConfiguration]);
});

test('a restart of the daemon keeps PAIRS_MAX pairs of commands, even if the first of them is configured, too', () => {
  const outputs = Array.from({ length: PAIRS_MAX }, (_, room) => `room${room}`);
  const configured = { mike: 'room0' };
  const pairs = new ListenPairs(configured);
  pairs.observe({
    ...observedLoopbacks(...outputs.map((output) => ({ pair: pair('mike', output) }))),
    sinks: outputs.map((name, index) => ({ index, name })),
    // The modules have the same indices as the sinks.
    sinkInputs: outputs.map((_, index) => ({ ownerModule: index, sink: index })),
  });
  assert.deepEqual(
    pairs.desired.map(({ output }) => output),
    outputs,
  );
  assert.deepEqual(pairs.ended, []);
});

test('a pair of a command ends if its output is away when the daemon starts, though its loopback is still there', () => {
  const inAttic = pair('mike', 'attic');
  const pairs = new ListenPairs({});
  pairs.observe(observedLoopbacks({ pair: inAttic, sink: 'nowhere' }));
  assert.deepEqual(pairs.desired, []);
  assert.deepEqual(pairs.ended, [inAttic]);
});

test('a configured pair waits if its output is away when the daemon starts, though its loopback is still there', () => {
  const pairs = new ListenPairs({ mike: 'attic' });
  pairs.observe(observedLoopbacks({ pair: pair('mike', 'attic', 'configuration'), sink: 'nowhere' }));
  assert.equal(pairs.desired.length, 1);
  assert.deepEqual(pairs.ended, []);
});

test('a pair of a command ends if its output goes while the daemon is not connected, though its loopback is still there', () => {
  const pairs = new ListenPairs({});
  pairs.observe(observedLoopbacks({ pair: MIKE }));
  // A new connection begins.
  pairs.forgetIndices();
  pairs.observe({ ...observedLoopbacks({ pair: MIKE, sink: 'nowhere' }), sinks: [] });
  assert.deepEqual(pairs.desired, []);
  assert.deepEqual(pairs.ended, [MIKE]);
});

test('a pair of a command ends if its output goes and comes back while the daemon is not connected', () => {
  const pairs = new ListenPairs({});
  pairs.observe(observedLoopbacks({ pair: MIKE }));
  pairs.forgetIndices();
  // The output is back. The loopback still plays to no output. Only this shows that the output was away.
  pairs.observe(observedLoopbacks({ pair: MIKE, sink: 'nowhere' }));
  assert.deepEqual(pairs.desired, []);
  assert.deepEqual(pairs.ended, [MIKE]);
});

test('a pair of a command ends when its output goes, but not when the sound server restarts', () => {
  const configured = { line: 'living' };
  const pairs = new ListenPairs(configured);
  pairs.add(MIKE, UNKNOWN_INDICES);
  const withoutOutputs = { ...observedLoopbacks(), sinks: [] };

  pairs.observe(observedLoopbacks());
  // The sound server restarts. No loopback is left after that, so the pair waits for its output.
  pairs.forgetIndices();
  pairs.observe(withoutOutputs);
  assert.equal(pairs.desired.length, 2);

  // The outputs go without a restart.
  pairs.observe(observedLoopbacks());
  pairs.observe(withoutOutputs);
  assert.deepEqual(
    pairs.desired.map(({ input }) => input),
    ['line'],
  );
});

test('a pair of a command ends when its output has a new index, because the output was removed and added meanwhile', () => {
  const pairs = new ListenPairs({});
  pairs.add(MIKE, UNKNOWN_INDICES);
  pairs.observe(observedLoopbacks());

  pairs.observe({
    ...observedLoopbacks(),
    sinks: SINKS.map(({ index, name }) => ({ index: index + 5, name })),
  });

  assert.deepEqual(pairs.desired, []);
});
