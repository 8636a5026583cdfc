// Tests when groups are made: after a pause without changes, and how often the keeper tries. A module is read
// before it is unloaded. The sound server is scripted, because a real one refuses nothing here.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { GroupKeeper } from '../../../src/actors/audio/group-keeper.js';
import type { Groups } from '../../../src/actors/audio/group-modules.js';
import type { Ask } from '../../../src/actors/audio/sound-modules.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { RequestArgs, RequestName } from '../../../src/protocol/pulse/commands.js';
import type { ModuleInfo } from '../../../src/protocol/pulse/records.js';
import { ManualClock } from '../../manual-clock.js';
import { serverInfo, sinkInfo } from './sound-records.js';

const GROUPS: Groups = { all: { outputs: ['living', 'kitchen'] } };
const OLD = 'sink_name=tonearm.old slaves=x sink_properties="tonearm.group=old"';
const REFUSED = { kind: 'server', code: 14, name: 'MODINITFAILED', meaning: 'it did not start' } as const;

const MISSING = { kind: 'server', code: 5, name: 'NOENTITY', meaning: 'there is none' } as const;

const moduleInfo = (index: number, argument: string): ModuleInfo => ({
  index,
  name: 'module-combine-sink',
  argument,
  used: undefined,
  props: {},
});

interface Scripted {
  readonly modules?: readonly ModuleInfo[];
  /** The module that a reading of an index finds. */
  readonly present?: ModuleInfo | undefined;
  /** True if no module can be loaded. */
  readonly refuses?: boolean;
  /** The number of times that the server does not list its modules. */
  readonly unlisted?: number;
}

function keeper({ modules = [], present = modules[0], refuses = false, unlisted = 0 }: Scripted = {}) {
  let refusals = unlisted;
  const clock = new ManualClock();
  const state = new SoundState();
  state.putServer(serverInfo());
  state.putSink(sinkInfo(0, 'living'));
  const requests: string[] = [];
  const remarks: (string | undefined)[] = [];
  const answerTo = (command: RequestName, args: Partial<RequestArgs<'LOAD_MODULE' | 'UNLOAD_MODULE'>>) => {
    if (command === 'GET_MODULE_INFO_LIST') {
      refusals -= 1;
      return refusals < 0 ? { ok: true, value: modules } : { ok: false, error: REFUSED };
    }
    if (command === 'GET_MODULE_INFO')
      return present === undefined ? { ok: false, error: MISSING } : { ok: true, value: present };
    requests.push(`${command} ${'name' in args ? args.name : ''}${'index' in args ? args.index : ''}`);
    return refuses && command === 'LOAD_MODULE'
      ? { ok: false, error: REFUSED }
      : { ok: true, value: { index: 9 } };
  };
  const ask = (async (command: RequestName, args: object) => answerTo(command, args)) as unknown as Ask;
  const remark = (text: string | undefined): void => void remarks.push(text);
  const log = () => undefined;
  const kept = new GroupKeeper({ state, groups: GROUPS, clock, log, ask, setRemark: remark });
  const pass = async (ms: number): Promise<readonly string[]> => {
    clock.advance(ms);
    await setImmediate();
    return requests.splice(0);
  };
  return { kept, clock, remarks, pass };
}

const MADE = ['LOAD_MODULE module-null-sink', 'LOAD_MODULE module-combine-sink'];

test('a group is made when nothing has changed for a second, and after five seconds in any case', async () => {
  const { kept, pass } = keeper();
  kept.onChange();
  assert.deepEqual(await pass(900), []);
  kept.onChange();
  assert.deepEqual(await pass(900), []);
  assert.deepEqual(await pass(100), MADE);
  for (let at = 0; at < 4_500; at += 500) {
    kept.onChange();
    assert.deepEqual(await pass(500), []);
  }
  kept.onChange();
  assert.deepEqual(await pass(500), MADE);
});

test('a group that the server refuses is tried five times, and again when outputs come or go', async () => {
  const { kept, clock, remarks, pass } = keeper({ refuses: true });
  kept.onChange();
  await pass(1_000);
  const why = 'it did not start (MODINITFAILED)';
  assert.deepEqual(remarks, [`The group "all" could not be made: ${why}`]);
  for (let tries = 1; tries < 5; tries += 1) assert.deepEqual(await pass(5_000), MADE);
  assert.equal(clock.timers, 0);
  kept.onChange();
  assert.deepEqual(await pass(1_000), MADE);
});

test('a group is made later if the server did not list its modules at first', async () => {
  const { kept, remarks, pass } = keeper({ unlisted: 1 });
  kept.onChange();
  assert.deepEqual(await pass(1_000), []);
  assert.match(remarks.join(), /does not list its modules/);
  assert.deepEqual(await pass(5_000), MADE);
  assert.equal(remarks.at(-1), undefined);
});

test('a module is unloaded unless another module has its index now', async () => {
  const own = [moduleInfo(7, OLD)];
  const others = keeper({ modules: own, present: moduleInfo(7, 'sink_name=both slaves=x') });
  others.kept.onChange();
  assert.ok(!(await others.pass(1_000)).includes('UNLOAD_MODULE 7'));
  const { kept, pass } = keeper({ modules: own });
  kept.onChange();
  assert.ok((await pass(1_000)).includes('UNLOAD_MODULE 7'));
});

test('no request is sent once the connection has ended', async () => {
  const { kept, clock, pass } = keeper();
  kept.onChange();
  kept.end();
  kept.onChange();
  assert.deepEqual([await pass(10_000), clock.timers], [[], 0]);
});
