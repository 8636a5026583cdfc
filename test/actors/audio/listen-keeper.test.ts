// Tests what is done later after a refusal of the sound server, which is scripted, because a real one refuses
// neither the list of its modules nor to unload one. listening.test.ts has real ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ListenKeeper } from '../../../src/actors/audio/listen-keeper.js';
import { ListenPairs } from '../../../src/actors/audio/listen-pairs.js';
import type { Ask } from '../../../src/actors/audio/sound-modules.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { RequestName } from '../../../src/protocol/pulse/commands.js';
import type { ModuleInfo } from '../../../src/protocol/pulse/records.js';
import { ManualClock } from '../../manual-clock.js';
import { sinkInfo, sourceInfo } from './sound-records.js';

const REFUSED = { kind: 'server', code: 1, name: 'ACCESS', meaning: 'it is not allowed' } as const;

test('the loopback of a configured input is requested later if the server did not list its modules at first', async () => {
  const clock = new ManualClock();
  const state = new SoundState();
  const sinks = [sinkInfo(0, 'living')];
  const sources = [sourceInfo(3, 'mike')];
  for (const sink of sinks) state.putSink(sink);
  for (const source of sources) state.sources.put(source);

  const requests: RequestName[] = [];
  const remarks: (string | undefined)[] = [];
  const lists: Readonly<Partial<Record<RequestName, readonly unknown[]>>> = {
    GET_SINK_INFO_LIST: sinks,
    GET_SOURCE_INFO_LIST: sources,
  };
  const answerTo = (command: RequestName) => {
    requests.push(command);
    const isFirstList = requests.filter((request) => request === 'GET_MODULE_INFO_LIST').length === 1;
    const isRefused = command === 'LOAD_MODULE' || (command === 'GET_MODULE_INFO_LIST' && isFirstList);
    return isRefused ? { ok: false, error: REFUSED } : { ok: true, value: lists[command] ?? [] };
  };

  const keeper = new ListenKeeper({
    state,
    pairs: new ListenPairs({ mike: 'living' }),
    latencyMs: 100,
    clock,
    log: () => undefined,
    ask: (async (command: RequestName) => answerTo(command)) as unknown as Ask,
    setRemark: (text) => void remarks.push(text),
  });
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await setImmediate();
  };

  keeper.onChange();
  await pass(1_000);
  assert.equal(requests.includes('LOAD_MODULE'), false);
  assert.match(String(remarks.at(-1)), /does not list its modules/);

  await pass(5_000);
  assert.equal(requests.includes('LOAD_MODULE'), true);
  assert.match(String(remarks.at(-1)), /cannot be heard at "living"/);

  keeper.end();
  assert.equal(clock.timers, 0);
});

/** A sound server that connects each new loopback to the kitchen, and that may refuse to unload it. */
function wrongServer() {
  const sinks = [sinkInfo(0, 'living'), sinkInfo(1, 'kitchen')];
  const sources = [sourceInfo(3, 'mike')];
  const modules: ModuleInfo[] = [];
  const server = { refusesToUnload: true, modules };
  const answerTo = (command: RequestName, args: object): unknown => {
    const owner = modules[0] && { ownerModule: modules[0].index };
    if (command === 'GET_SINK_INFO_LIST') return sinks;
    if (command === 'GET_SOURCE_INFO_LIST') return sources;
    if (command === 'GET_MODULE_INFO_LIST') return [...modules];
    if (command === 'GET_SINK_INPUT_INFO_LIST') return owner ? [{ ...owner, sink: 1 }] : [];
    if (command === 'GET_SOURCE_OUTPUT_INFO_LIST') return owner ? [{ ...owner, source: 3 }] : [];
    if (command === 'GET_MODULE_INFO') return modules[0];
    if (command === 'UNLOAD_MODULE') return server.refusesToUnload ? undefined : modules.splice(0);
    assert.equal(command, 'LOAD_MODULE');
    modules.push({ index: 7, used: undefined, props: {}, ...(args as { name: string; argument: string }) });
    return { index: 7 };
  };
  const ask = (async (command: RequestName, args: object) => {
    const value = answerTo(command, args);
    return value === undefined ? { ok: false, error: REFUSED } : { ok: true, value };
  }) as unknown as Ask;
  return { server, sinks, sources, ask };
}

test('a loopback that has not connected and could not be unloaded is unloaded later', async () => {
  const clock = new ManualClock();
  const state = new SoundState();
  const { server, sinks, sources, ask } = wrongServer();
  for (const sink of sinks) state.putSink(sink);
  for (const source of sources) state.sources.put(source);
  const keeper = new ListenKeeper({
    state,
    pairs: new ListenPairs({}),
    latencyMs: 100,
    clock,
    log: () => undefined,
    ask,
    setRemark: () => undefined,
  });

  const answer = await keeper.listen('mike', 'living');
  assert.ok(!answer.ok && answer.error.fault === 'refused');
  assert.equal(server.modules.length, 1);

  server.refusesToUnload = false;
  clock.advance(10_000);
  await setImmediate();
  assert.equal(server.modules.length, 0);
  keeper.end();
});
