// Tests the steps that load and unload modules, so that the sound server has the desired groups. No step is
// needed if the observed modules already make these groups.

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

const GROUP_OF_BOTH: Groups = { all: { label: 'Everywhere', outputs: ['living', 'kitchen'] } };
const PROPERTIES = `device.description='Everywhere' media.name=tonearm.all tonearm.group=all`;
/** The argument of the module that makes `GROUP_OF_BOTH` on PulseAudio 16. */
const GROUP_ARGUMENT = `sink_name=tonearm.all slaves=living,kitchen adjust_time=0 sink_properties="${PROPERTIES}"`;
const STAND_IN_ARGUMENT = 'sink_name=kitchen sink_properties="tonearm.stand_in=all"';

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

/** `unload INDEX`, or `make GROUP` and the arguments of the group's stand-ins. */
const stepText = (step: GroupStep): string =>
  step.do === 'unload'
    ? `unload ${step.module.index}`
    : ['make', step.group, ...step.standIns.map(({ argument }) => argument)].join(' ');

const BOTH = ['living', 'kitchen'];

describe('steps', () => {
  const rows: readonly (readonly [
    what: string,
    desired: Groups,
    sound: ObservedSound,
    ...steps: readonly string[],
  ])[] = [
    ['a group is made if all its outputs are there', GROUP_OF_BOTH, observed(BOTH), 'make all'],
    [
      'a group is made even if only one of its outputs is there',
      GROUP_OF_BOTH,
      observed(['living']),
      `make all ${STAND_IN_ARGUMENT}`,
    ],
    ['a group is not made if none of its outputs is there', GROUP_OF_BOTH, observed(['attic'])],
    [
      'a group that exists already is not made again',
      GROUP_OF_BOTH,
      observed([...BOTH, 'tonearm.all'], [combine(3, GROUP_ARGUMENT)]),
    ],
    [
      'a group stays while its outputs are away',
      GROUP_OF_BOTH,
      observed(['tonearm.all'], [combine(3, GROUP_ARGUMENT)]),
    ],
    [
      'a group is not interrupted to change its label',
      { all: { outputs: BOTH } },
      observed([...BOTH, 'tonearm.all'], [combine(3, GROUP_ARGUMENT)]),
    ],
    [
      'a group that is no longer configured is unloaded',
      {},
      observed(BOTH, [combine(3, GROUP_ARGUMENT)]),
      'unload 3',
    ],
    [
      'a group whose configured outputs have changed is made anew',
      { all: { outputs: ['living', 'attic'] } },
      observed([...BOTH, 'attic', 'tonearm.all'], [combine(3, GROUP_ARGUMENT)]),
      'unload 3',
      'make all',
    ],
    [
      'the second of two modules that make the same group is unloaded',
      GROUP_OF_BOTH,
      observed(BOTH, [combine(3, GROUP_ARGUMENT), combine(4, GROUP_ARGUMENT)]),
      'unload 4',
    ],
    [
      'a stand-in that was left behind is unloaded',
      {},
      observed(BOTH, [nullSink(5, STAND_IN_ARGUMENT)]),
      'unload 5',
    ],
    [
      'a group is not made while another sink has its name',
      GROUP_OF_BOTH,
      observed([...BOTH, 'tonearm.all']),
    ],
    [
      'a group that is not configured is unloaded, even if its name is that of a JavaScript method',
      {},
      observed(BOTH, [combine(3, GROUP_ARGUMENT.replaceAll('all', 'constructor'))]),
      'unload 3',
    ],
  ];
  for (const [what, desired, sound, ...steps] of rows)
    test(what, () => assert.deepEqual(groupSteps(desired, sound).map(stepText), steps));

  test('no step unloads a module that another program has loaded', () => {
    // Our prefix is `tonearm.`. Our marks are `tonearm.group` and `tonearm.stand_in` (marks.ts).
    const modulesOfOthers = {
      'a group with our prefix, but without our mark': combine(
        1,
        'sink_name=tonearm.all slaves=living,kitchen',
      ),
      'a group without our prefix and mark': combine(2, 'sink_name=both slaves=living,kitchen'),
      'a group whose mark does not fit its name': combine(
        3,
        GROUP_ARGUMENT.replace('tonearm.group=all', 'tonearm.group=other'),
      ),
      'a null sink without our mark': nullSink(4, 'sink_name=kitchen'),
      'a null sink with our mark in its description': nullSink(
        5,
        'sink_name=kitchen sink_properties="device.description=tonearm.stand_in=all"',
      ),
      'another kind of module': moduleInfo(6, 'loopback', GROUP_ARGUMENT),
    };
    assert.deepEqual(groupSteps({}, observed(BOTH, Object.values(modulesOfOthers))), []);
  });
});

describe("the argument of a group's module", () => {
  const argumentOf = (groups: Groups, version?: keyof typeof VERSIONS): string => {
    const [step] = groupSteps(groups, observed(BOTH, [], version));
    return step?.do === 'make' ? step.module.argument : assert.fail('no group is made');
  };

  test('switches the correction of clocks off only where this correction could make PulseAudio abort', () => {
    assert.equal(argumentOf(GROUP_OF_BOTH, 16), GROUP_ARGUMENT);
    // PulseAudio 17 does not abort, but an unknown version could be an older one.
    const isCorrectionOff = (version: keyof typeof VERSIONS): boolean =>
      argumentOf(GROUP_OF_BOTH, version).includes(' adjust_time=0 ');
    assert.equal(isCorrectionOff(17), false);
    assert.equal(isCorrectionOff('unknown'), true);
    assert.equal(isCorrectionOff('pipewire'), false);
  });

  test('contains the label with other characters instead of quotes and backslashes, or the name of the group if there is no label', () => {
    const labelled = { label: `a"b'c\\d`, outputs: BOTH };
    assert.ok(argumentOf({ all: labelled }).includes(`device.description='a”b’c/d' `));
    assert.ok(argumentOf({ all: { outputs: BOTH } }).includes(`device.description='all' `));
  });

  test('marks the module as one of the daemon, whatever the label is', () => {
    for (const label of ['x', '" tonearm.group=other"', "it's\n\\", 'Küche 🎵']) {
      const groups: Groups = { all: { label, outputs: BOTH } };
      const module = combine(3, argumentOf(groups));
      // The group would be made if the module did not count as the group's own. The module would be unloaded
      // if it counted as that of another group.
      assert.deepEqual(groupSteps(groups, observed(BOTH, [module])), []);
    }
  });
});

test('/health reports a group that plays to no output, or is not made', () => {
  const remarks = (sound: ObservedSound) => groupRemarks(GROUP_OF_BOTH, sound).join();
  assert.equal(remarks(observed(['living'])), '');
  assert.equal(remarks(observed([])), 'The group "all" plays nowhere: none of its outputs is there');
  assert.equal(remarks(observed([...BOTH, 'tonearm.all'], [combine(3, GROUP_ARGUMENT)])), '');
  assert.equal(
    remarks(observed([...BOTH, 'tonearm.all'])),
    'The group "all" is not made: another output has its name',
  );
});
