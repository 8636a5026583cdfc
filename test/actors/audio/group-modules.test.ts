// Tests the steps from the observed modules to the desired groups: a row per case, and no step where they
// agree.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type GroupStep,
  type Groups,
  groupRemarks,
  groupSteps,
  type ObservedSound,
} from '../../../src/actors/audio/group-modules.js';
import type { ModuleInfo } from '../../../src/protocol/pulse/records.js';
import { serverInfo } from './sound-records.js';

const DESIRED: Groups = { all: { label: 'Everywhere', outputs: ['living', 'kitchen'] } };
const PROPERTIES = `device.description='Everywhere' media.name=tonearm.all tonearm.group=all`;
const COMBINED = `sink_name=tonearm.all slaves=living,kitchen adjust_time=0 sink_properties="${PROPERTIES}"`;
const STAND_IN = 'sink_name=kitchen sink_properties="tonearm.stand_in=all"';

const combine = (index: number, argument: string): ModuleInfo => moduleInfo(index, 'combine-sink', argument);
const nullSink = (index: number, argument: string): ModuleInfo => moduleInfo(index, 'null-sink', argument);

function moduleInfo(index: number, name: string, argument: string): ModuleInfo {
  return { index, name: `module-${name}`, argument, used: undefined, props: {} };
}

const VERSIONS = {
  16: { packageName: 'pulseaudio', packageVersion: '16.1' },
  17: { packageName: 'pulseaudio', packageVersion: '17.0-2' },
  unknown: { packageName: 'pulseaudio', packageVersion: 'rolling' },
  pipewire: { packageName: 'PulseAudio (on PipeWire 1.4.2)', packageVersion: '15.0.0' },
};

function observed(
  outputs: readonly string[],
  modules: readonly ModuleInfo[] = [],
  version: keyof typeof VERSIONS = 16,
): ObservedSound {
  return { server: serverInfo(VERSIONS[version]), modules, outputs: new Set(outputs) };
}

/** `unload 3`, or `make all` with the outputs that others stand in for. */
const stepText = (step: GroupStep): string =>
  step.do === 'unload'
    ? `unload ${step.module.index}`
    : ['make', step.group, ...step.standIns.map(({ argument }) => argument)].join(' ');

const BOTH = ['living', 'kitchen'];

describe('steps', () => {
  const rows: readonly (readonly [what: string, Groups, ObservedSound, ...steps: readonly string[]])[] = [
    ['a group whose outputs are there is made', DESIRED, observed(BOTH), 'make all'],
    ['one of its outputs is enough', DESIRED, observed(['living']), `make all ${STAND_IN}`],
    ['without any it is not made', DESIRED, observed(['attic'])],
    ['a group that is there is right', DESIRED, observed([...BOTH, 'tonearm.all'], [combine(3, COMBINED)])],
    ['it stays while its outputs are away', DESIRED, observed(['tonearm.all'], [combine(3, COMBINED)])],
    [
      'another label is no reason to interrupt it',
      { all: { outputs: BOTH } },
      observed([...BOTH, 'tonearm.all'], [combine(3, COMBINED)]),
    ],
    [
      'a group that is no longer configured is taken away',
      {},
      observed(BOTH, [combine(3, COMBINED)]),
      'unload 3',
    ],
    [
      'with other outputs it is made anew',
      { all: { outputs: ['living', 'attic'] } },
      observed([...BOTH, 'attic', 'tonearm.all'], [combine(3, COMBINED)]),
      'unload 3',
      'make all',
    ],
    [
      'the second of two is taken away',
      DESIRED,
      observed(BOTH, [combine(3, COMBINED), combine(4, COMBINED)]),
      'unload 4',
    ],
    [
      'a stand-in that was left behind is taken away',
      {},
      observed(BOTH, [nullSink(5, STAND_IN)]),
      'unload 5',
    ],
    ['a sink of others has the name', DESIRED, observed([...BOTH, 'tonearm.all'])],
    [
      'a group that is not configured is unloaded, even if its name is that of a JavaScript method',
      {},
      observed(BOTH, [combine(3, COMBINED.replaceAll('all', 'constructor'))]),
      'unload 3',
    ],
  ];
  for (const [what, desired, sound, ...steps] of rows)
    test(what, () => assert.deepEqual(groupSteps(desired, sound).map(stepText), steps));

  test('modules that other programs have loaded are never touched', () => {
    const others = [
      combine(1, 'sink_name=tonearm.all slaves=living,kitchen'),
      combine(2, 'sink_name=both slaves=living,kitchen'),
      combine(3, COMBINED.replace('tonearm.group=all', 'tonearm.group=other')),
      nullSink(4, 'sink_name=kitchen'),
      nullSink(5, 'sink_name=kitchen sink_properties="device.description=tonearm.stand_in=all"'),
      moduleInfo(6, 'loopback', COMBINED),
    ];
    assert.deepEqual(groupSteps({}, observed(BOTH, others)), []);
  });
});

describe('the argument', () => {
  const argumentOf = (groups: Groups, version?: keyof typeof VERSIONS): string => {
    const [step] = groupSteps(groups, observed(BOTH, [], version));
    return step?.do === 'make' ? step.module.argument : assert.fail('no group is made');
  };

  test('switches the correction of clocks off only where it could make PulseAudio abort', () => {
    assert.equal(argumentOf(DESIRED), COMBINED);
    const others = ['17', 'unknown', 'pipewire'] as const;
    const isOff = others.map((version) =>
      argumentOf(DESIRED, version === '17' ? 17 : version).includes(' adjust_time=0 '),
    );
    assert.deepEqual(isOff, [false, true, false]);
  });

  test('has the label without characters that would end the quotation, or the name if there is no label', () => {
    const all = { label: `a"b'c\\d`, outputs: BOTH };
    assert.ok(argumentOf({ all }).includes(`device.description='a”b’c/d' `));
    assert.ok(argumentOf({ all: { outputs: BOTH } }).includes(`device.description='all' `));
  });

  test('shows that the module is ours, whatever the label is', () => {
    for (const label of ['x', '" tonearm.group=other"', "it's\n\\", 'Küche 🎵']) {
      const groups: Groups = { all: { label, outputs: BOTH } };
      const own = combine(3, argumentOf(groups));
      assert.deepEqual(groupSteps(groups, observed([...BOTH, 'tonearm.all'], [own])), []);
    }
  });
});

test('/health reports a group that plays to no output, or is not made', () => {
  const remarks = (sound: ObservedSound) => groupRemarks(DESIRED, sound).join();
  assert.equal(remarks(observed(['living'])), '');
  assert.equal(remarks(observed([])), 'The group "all" plays nowhere: none of its outputs is there');
  assert.equal(remarks(observed([...BOTH, 'tonearm.all'], [combine(3, COMBINED)])), '');
  assert.equal(
    remarks(observed([...BOTH, 'tonearm.all'])),
    'The group "all" is not made: another output has its name',
  );
});
