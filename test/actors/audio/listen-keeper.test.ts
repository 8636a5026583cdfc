// Tests that a loopback is requested later if the sound server did not list its modules at first. The sound
// server is scripted, because a real one always lists them. listening.test.ts has real ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ListenKeeper } from '../../../src/actors/audio/listen-keeper.js';
import { ListenPairs } from '../../../src/actors/audio/listen-pairs.js';
import type { Ask } from '../../../src/actors/audio/sound-modules.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { RequestName } from '../../../src/protocol/pulse/commands.js';
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
