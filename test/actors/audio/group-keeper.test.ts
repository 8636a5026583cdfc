// Tests when the keeper makes groups, how often it tries, and which modules it unloads. The sound server is
// scripted, because a real one would refuse none of these requests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { GroupKeeper } from '../../../src/actors/audio/group-keeper.js';
import type { Groups } from '../../../src/actors/audio/group-modules.js';
import type { ReadKind, ReadRequest } from '../../../src/actors/audio/refetch.js';
import type { Ask } from '../../../src/actors/audio/sound-modules.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { RequestArgs, RequestName } from '../../../src/protocol/pulse/commands.js';
import type { ModuleInfo } from '../../../src/protocol/pulse/records.js';
import { ManualClock } from '../../manual-clock.js';
import { serverInfo, sinkInfo } from './sound-records.js';

const GROUPS: Groups = { all: { outputs: ['living', 'kitchen'] } };
/** The argument of a module whose group is no longer configured. */
const ARGUMENT_OF_OLD_GROUP = 'sink_name=tonearm.old slaves=x sink_properties="tonearm.group=old"';
const REFUSED = { kind: 'server', code: 14, name: 'MODINITFAILED', meaning: 'it did not start' } as const;
const MISSING = { kind: 'server', code: 5, name: 'NOENTITY', meaning: 'there is none' } as const;

const moduleInfo = (index: number, argument: string): ModuleInfo => ({
  index,
  name: 'module-combine-sink',
  argument,
  used: undefined,
  props: {},
});

interface ServerScript {
  readonly modules?: readonly ModuleInfo[];
  /**
   * The module that the server reports when the keeper reads a module by its index. The keeper does so
   * before it unloads a module. The default is the first of `modules`.
   */
  readonly moduleByIndex?: ModuleInfo | undefined;
  /** True if no module can be loaded. */
  readonly refusesToLoad?: boolean;
  /** How often the server refuses to list its modules, before it lists them. */
  readonly listRefusals?: number;
  /** The name of the default output; the output `living` is always there. */
  readonly defaultSink?: string;
}

function startKeeper(script: ServerScript = {}) {
  const { modules = [], moduleByIndex = modules[0], refusesToLoad = false, defaultSink = 'living' } = script;
  let listRefusalsLeft = script.listRefusals ?? 0;
  const clock = new ManualClock();
  const state = new SoundState();
  state.putServer(serverInfo({ defaultSink }));
  state.putSink(sinkInfo(0, 'living'));
  const requests: string[] = [];
  const remarks: (string | undefined)[] = [];
  const answerTo = (command: RequestName, args: Partial<RequestArgs<'LOAD_MODULE' | 'UNLOAD_MODULE'>>) => {
    if (command === 'GET_MODULE_INFO_LIST') {
      listRefusalsLeft -= 1;
      return listRefusalsLeft < 0 ? { ok: true, value: modules } : { ok: false, error: REFUSED };
    }
    if (command === 'GET_MODULE_INFO')
      return moduleByIndex === undefined ? { ok: false, error: MISSING } : { ok: true, value: moduleByIndex };
    // LOAD_MODULE has a name, UNLOAD_MODULE has an index.
    const name = 'name' in args ? args.name : '';
    const index = 'index' in args ? args.index : '';
    requests.push(`${command} ${name}${index}`);
    return refusesToLoad && command === 'LOAD_MODULE'
      ? { ok: false, error: REFUSED }
      : { ok: true, value: { index: 9 } };
  };
  const ask = (async (command: RequestName, args: object) => answerTo(command, args)) as unknown as Ask;
  const remark = (text: string | undefined): void => void remarks.push(text);
  const log = () => undefined;
  /** The kinds of the readings after the wait for a default. From then on `state.hasStandIns` is false. */
  const readsWithoutStandIns: ReadKind[] = [];
  const readAgain = async ({ kind }: ReadRequest): Promise<void> => {
    if (!state.hasStandIns) readsWithoutStandIns.push(kind);
  };
  const keeper = new GroupKeeper({ state, groups: GROUPS, clock, log, ask, readAgain, setRemark: remark });
  /** Lets time pass, and returns the requests to load and unload modules since the last call. */
  const pass = async (ms: number): Promise<readonly string[]> => {
    clock.advance(ms);
    await setImmediate();
    return requests.splice(0);
  };
  return { keeper, clock, state, remarks, readsWithoutStandIns, pass };
}

/**
 * The requests that make the group. The first one loads a stand-in for the kitchen. The keeper sends no
 * request to unload the stand-in, because the scripted server reports that it has no such module.
 */
const GROUP_REQUESTS = ['LOAD_MODULE module-null-sink', 'LOAD_MODULE module-combine-sink'];

test('a group is made a second after the last change, but at the latest five seconds after the first change', async () => {
  const { keeper, pass } = startKeeper();
  keeper.onChange();
  assert.deepEqual(await pass(900), []);
  keeper.onChange();
  assert.deepEqual(await pass(900), []);
  assert.deepEqual(await pass(100), GROUP_REQUESTS);

  // The scripted server never lists the modules of the group, so the keeper makes the group again.
  for (let passedMs = 0; passedMs < 4_500; passedMs += 500) {
    keeper.onChange();
    assert.deepEqual(await pass(500), []);
  }
  keeper.onChange();
  assert.deepEqual(await pass(500), GROUP_REQUESTS);
});

test('a group that the server refuses is tried five times, and again when outputs come or go', async () => {
  const { keeper, clock, remarks, pass } = startKeeper({ refusesToLoad: true });
  keeper.onChange();
  await pass(1_000);
  assert.deepEqual(remarks, ['The group "all" could not be made: it did not start (MODINITFAILED)']);

  for (let tries = 1; tries < 5; tries += 1) assert.deepEqual(await pass(5_000), GROUP_REQUESTS);
  assert.equal(clock.timers, 0);

  keeper.onChange();
  assert.deepEqual(await pass(1_000), GROUP_REQUESTS);
});

test('a group is made later if the server did not list its modules at first', async () => {
  const { keeper, remarks, pass } = startKeeper({ listRefusals: 1 });
  keeper.onChange();
  assert.deepEqual(await pass(1_000), []);
  assert.match(remarks.join(), /does not list its modules/);

  assert.deepEqual(await pass(5_000), GROUP_REQUESTS);
  assert.equal(remarks.at(-1), undefined);
});

test('if the default output is still missing two seconds after a stand-in was removed, server and streams are read once more', async () => {
  const { keeper, state, readsWithoutStandIns, pass } = startKeeper({ defaultSink: 'kitchen' });
  keeper.onChange();
  await pass(1_000);
  for (let passedMs = 0; passedMs < 2_000; passedMs += 50) {
    assert.equal(state.hasStandIns, true, `the wait is over after ${passedMs} ms`);
    await pass(50);
  }
  assert.equal(state.hasStandIns, false);
  assert.deepEqual(readsWithoutStandIns, ['server', 'sink-input']);
  keeper.end();
});

test('a module is unloaded unless another module has its index now', async () => {
  const modules = [moduleInfo(7, ARGUMENT_OF_OLD_GROUP)];
  const moduleOfOthers = moduleInfo(7, 'sink_name=both slaves=x');
  const replaced = startKeeper({ modules, moduleByIndex: moduleOfOthers });
  replaced.keeper.onChange();
  assert.ok(!(await replaced.pass(1_000)).includes('UNLOAD_MODULE 7'));

  const unchanged = startKeeper({ modules });
  unchanged.keeper.onChange();
  assert.ok((await unchanged.pass(1_000)).includes('UNLOAD_MODULE 7'));
});

test('no request is sent after the connection has ended', async () => {
  const { keeper, clock, pass } = startKeeper();
  keeper.onChange();
  keeper.end();
  keeper.onChange();

  assert.deepEqual(await pass(10_000), []);
  assert.equal(clock.timers, 0);
});
