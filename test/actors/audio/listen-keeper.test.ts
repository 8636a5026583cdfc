// Tests listen-keeper.ts when the sound server refuses something, connects a loopback late or wrongly, or
// loses an output right after a command. A function answers in place of a server, because a real server
// never refuses to list modules, or to unload a module. listening.test.ts has real servers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { KnownOutputs } from '../../../src/actors/audio/known-outputs.js';
import { ListenKeeper } from '../../../src/actors/audio/listen-keeper.js';
import { LOOPBACK_MODULE, loopbackArgument } from '../../../src/actors/audio/listen-modules.js';
import { ListenPairs } from '../../../src/actors/audio/listen-pairs.js';
import type { Ask } from '../../../src/actors/audio/sound-modules.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import { TIMING } from '../../../src/actors/audio/timing.js';
import { Upkeep } from '../../../src/actors/audio/upkeep.js';
import { DONE } from '../../../src/protocol/actor/commands.js';
import type { AudioSettings } from '../../../src/protocol/actor/settings.js';
import type { RequestArgs, RequestName } from '../../../src/protocol/pulse/commands.js';
import type { ModuleInfo } from '../../../src/protocol/pulse/records.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';
import { sinkInfo, sourceInfo } from './sound-records.js';
import { AUDIO_SETTINGS } from './start-backend.js';

const REFUSED = { kind: 'server', code: 1, name: 'ACCESS', meaning: 'it is not allowed' } as const;
/** The configured latency of loopbacks. */
const LATENCY_MS = 100;
const MIKE_INDEX = 3;

test('the loopback of a configured input is requested later if the server did not list its modules at first', async () => {
  const clock = new ManualClock();
  const state = new SoundState();
  const sinks = [sinkInfo(0, 'living')];
  const sources = [sourceInfo(MIKE_INDEX, 'mike')];
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
    const moduleListRequests = requests.filter((request) => request === 'GET_MODULE_INFO_LIST').length;
    const isFirstModuleList = command === 'GET_MODULE_INFO_LIST' && moduleListRequests === 1;
    // LOAD_MODULE is refused, too: the test needs only the request.
    const isRefused = isFirstModuleList || command === 'LOAD_MODULE';
    return isRefused ? { ok: false, error: REFUSED } : { ok: true, value: lists[command] ?? [] };
  };

  const keeper = new ListenKeeper({
    state,
    pairs: new ListenPairs({ mike: 'living' }),
    latencyMs: LATENCY_MS,
    clock,
    log: () => undefined,
    ask: (async (command: RequestName) => answerTo(command)) as unknown as Ask,
    readAgain: async () => undefined,
    setRemark: (text) => void remarks.push(text),
  });
  const passTime = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await setImmediate();
  };

  // The keeper works 1 s after a change, and 5 s after a refusal (keeper-schedule.ts).
  keeper.onChange();
  await passTime(1_000);
  assert.equal(requests.includes('LOAD_MODULE'), false);
  assert.match(String(remarks.at(-1)), /does not list its modules/);

  await passTime(5_000);
  assert.equal(requests.includes('LOAD_MODULE'), true);
  assert.match(String(remarks.at(-1)), /cannot be heard at "living"/);

  keeper.end();
  assert.equal(clock.timers, 0);
});

const LIVING_INDEX = 0;
const KITCHEN_INDEX = 1;
/** No sink has this index. */
const MISSING_INDEX = 99;
const FIRST_MODULE_INDEX = 7;

/**
 * Starts a keeper. Its sound server connects all loopbacks to the sink with the index `connectedSink`. The
 * test may change this index later. The server refuses to unload modules until the test changes
 * `refusesToUnload`. `loadedArgument` is the argument of a loopback that is there at first.
 */
function startKeeper(listen: AudioSettings['listen'], connectedSink: number, loadedArgument?: string) {
  const clock = new ManualClock();
  const state = new SoundState();
  const sinks = [sinkInfo(LIVING_INDEX, 'living'), sinkInfo(KITCHEN_INDEX, 'kitchen')];
  const sources = [sourceInfo(MIKE_INDEX, 'mike')];
  for (const sink of sinks) state.putSink(sink);
  for (const source of sources) state.sources.put(source);

  const modules: ModuleInfo[] = [];
  const remarks: (string | undefined)[] = [];
  const server = {
    refusesToLoad: false,
    refusesToUnload: true,
    modules,
    sinks,
    connectedSink,
    loadCount: 0,
    listCount: 0,
  };
  const load = (argument: string): ModuleInfo => {
    const index = FIRST_MODULE_INDEX + server.loadCount;
    const module = { index, name: LOOPBACK_MODULE, argument, used: undefined, props: {} };
    modules.push(module);
    server.loadCount += 1;
    return module;
  };
  if (loadedArgument !== undefined) load(loadedArgument);
  /** Returns the value of the answer. Undefined stands for a refusal. */
  const answerTo = (command: RequestName, args: Partial<RequestArgs<'LOAD_MODULE' | 'UNLOAD_MODULE'>>) => {
    if (command.endsWith('_LIST')) server.listCount += 1;
    if (command === 'GET_SINK_INFO_LIST') return server.sinks;
    if (command === 'GET_SOURCE_INFO_LIST') return sources;
    if (command === 'GET_MODULE_INFO_LIST') return [...modules];
    if (command === 'GET_SINK_INPUT_INFO_LIST')
      return modules.map(({ index }) => ({ ownerModule: index, sink: server.connectedSink }));
    if (command === 'GET_SOURCE_OUTPUT_INFO_LIST')
      return modules.map(({ index }) => ({ ownerModule: index, source: MIKE_INDEX }));
    const position = modules.findIndex(({ index }) => 'index' in args && index === args.index);
    if (command === 'GET_MODULE_INFO') return modules[position];
    const isUnloadRefused = server.refusesToUnload || position < 0;
    if (command === 'UNLOAD_MODULE') return isUnloadRefused ? undefined : modules.splice(position, 1);
    assert.equal(command, 'LOAD_MODULE');
    if (server.refusesToLoad) return undefined;
    return load('argument' in args ? String(args.argument) : '');
  };
  const ask = async (command: RequestName, args: Parameters<typeof answerTo>[1]) => {
    const value = answerTo(command, args);
    return value === undefined ? { ok: false, error: REFUSED } : { ok: true, value };
  };
  const context = {
    state,
    pairs: new ListenPairs(listen),
    latencyMs: LATENCY_MS,
    clock,
    log: () => undefined,
    ask: ask as unknown as Ask,
    readAgain: async () => undefined,
    setRemark: (text: string | undefined) => void remarks.push(text),
  };
  const passTime = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await setImmediate();
  };
  return { keeper: new ListenKeeper(context), server, passTime, context, remarks };
}

/** How long a loopback may take to connect (listen-keeper.ts). */
const CONNECT_MAX_MS = 5_000;

/**
 * Sends the command to listen, and advances the clock until the answer comes. The loopback connects after
 * `connectsAfterMs`.
 */
async function listenToSlowLoopback(connectsAfterMs: number) {
  const { keeper, server, passTime, context } = startKeeper({}, MISSING_INDEX);
  server.refusesToUnload = false;
  const { clock } = context;
  let answeredAfterMs: number | undefined;
  const answered = keeper.listen('mike', 'living').finally(() => {
    answeredAfterMs = clock.monotonic();
  });
  await setImmediate();
  clock.after(connectsAfterMs, () => {
    server.connectedSink = LIVING_INDEX;
  });
  while (answeredAfterMs === undefined && clock.monotonic() < TIMING.commandMs) await passTime(10);
  const answer = await answered;
  keeper.end();
  return { answer, answeredAfterMs, server };
}

test('a command to listen succeeds if its loopback takes seconds to connect, and the keeper requests few lists meanwhile', async () => {
  const { answer, server } = await listenToSlowLoopback(4_000);
  assert.ok(answer.ok);
  assert.equal(server.modules.length, 1);
  const LISTS_PER_READING = 5;
  // In 4 s there are about eleven readings: five in the first second, and two in each later second.
  const READINGS_MAX = 20;
  assert.ok(server.listCount < LISTS_PER_READING * READINGS_MAX, `${server.listCount} lists`);
});

test('a command to listen is refused in time if its loopback does not connect, and the loopback is unloaded', async () => {
  const { answer, answeredAfterMs, server } = await listenToSlowLoopback(10 * CONNECT_MAX_MS);
  assert.ok(!answer.ok && answer.error.fault === 'refused');
  assert.match(answer.error.detail, /connected to nothing/);
  assert.ok(answeredAfterMs !== undefined && answeredAfterMs <= CONNECT_MAX_MS, `${answeredAfterMs} ms`);
  assert.equal(server.modules.length, 0);
});

test('a loopback that has connected to another output and could not be unloaded is unloaded later', async () => {
  const { keeper, server, passTime } = startKeeper({}, KITCHEN_INDEX);

  const answer = await keeper.listen('mike', 'living');
  assert.ok(!answer.ok && answer.error.fault === 'refused');
  assert.equal(server.modules.length, 1);

  server.refusesToUnload = false;
  await passTime(10_000);
  assert.equal(server.modules.length, 0);
  keeper.end();
});

test('a loopback that could not be unloaded before the connection ended is unloaded on the next connection', async () => {
  const { keeper, server, context } = startKeeper({}, KITCHEN_INDEX);
  const answer = await keeper.listen('mike', 'living');
  assert.ok(!answer.ok);
  assert.equal(server.modules.length, 1);
  keeper.end();

  server.refusesToUnload = false;
  const { clock, log, pairs } = context;
  const serverContext = { env: {}, uid: 0, home: '', machineId: undefined };
  const upkeep = new Upkeep({
    ...context,
    settings: AUDIO_SETTINGS,
    knownOutputs: new KnownOutputs(serverContext, clock, log),
    listenPairs: pairs,
    timing: TIMING,
    publish: { status: () => undefined, log },
    run: async () => DONE,
  });
  const haveOutputsComeOrGone = true;
  const mayInputsHaveChanged = true;
  upkeep.update(haveOutputsComeOrGone, mayInputsHaveChanged);
  await until('the loopback is unloaded', () => {
    clock.advance(1_000);
    return server.modules.length === 0;
  });
  upkeep.end();
});

test('an input is not heard again when its output comes back, even if the output went right after the command to listen', async () => {
  const { keeper, server, passTime } = startKeeper({}, LIVING_INDEX);
  const { sinks } = server;
  const answer = await keeper.listen('mike', 'living');
  assert.ok(answer.ok);
  assert.equal(server.modules.length, 1);

  // PulseAudio removes the loopback when its output goes.
  server.sinks = [];
  server.modules.length = 0;
  keeper.onChange();
  await passTime(1_000);

  server.sinks = sinks;
  keeper.onChange();
  await passTime(1_000);
  assert.equal(server.modules.length, 0);
  keeper.end();
});

test('a loopback that always connects to another output is tried five times, and then at most once a minute', async () => {
  const { keeper, server, passTime, context } = startKeeper({ mike: 'living' }, KITCHEN_INDEX);
  server.refusesToUnload = false;
  /** Reports a reading to the keeper each second, because a new loopback causes readings on a real server. */
  const passMinutes = async (minutes: number): Promise<void> => {
    for (let second = 0; second < 60 * minutes; second += 1) {
      keeper.onChange();
      await passTime(1_000);
    }
  };
  await passMinutes(1);
  assert.equal(server.loadCount, 5);
  await passMinutes(10);
  const laterLoads = server.loadCount - 5;
  assert.ok(laterLoads > 0 && laterLoads <= 10, `${laterLoads} later tries`);

  const loadsBefore = server.loadCount;
  context.state.putSink(sinkInfo(KITCHEN_INDEX + 1, 'attic'));
  keeper.onChange();
  await passTime(1_000);
  assert.equal(server.loadCount, loadsBefore + 1, 'a new output brings a try at once');
  keeper.end();
});

/** Returns the argument of a configured loopback with this latency. The loopback plays `mike` at `living`. */
const argumentWithLatency = (latencyMs: number): string =>
  loopbackArgument({ input: 'mike', output: 'living', origin: 'configuration' }, 'mike', latencyMs);

test('while a loopback with the latency of an earlier configuration cannot be unloaded, no second loopback is made beside it', async () => {
  const loadedArgument = argumentWithLatency(3 * LATENCY_MS);
  const { keeper, server, passTime } = startKeeper({ mike: 'living' }, LIVING_INDEX, loadedArgument);

  keeper.onChange();
  await passTime(1_000);
  assert.deepEqual(
    server.modules.map(({ argument }) => argument),
    [loadedArgument],
  );

  server.refusesToUnload = false;
  await passTime(5_000);
  assert.equal(server.modules.length, 1);
  assert.match(String(server.modules[0]?.argument), new RegExp(`latency_msec=${LATENCY_MS} `));
  keeper.end();
});

for (const { where, connectedSink } of [
  { where: 'to no output', connectedSink: MISSING_INDEX },
  { where: 'to another output', connectedSink: KITCHEN_INDEX },
]) {
  test(`a loopback that an earlier daemon made for a command is unloaded, and not made again, if it is connected ${where}`, async () => {
    const pair = { input: 'mike', output: 'living', origin: 'command' } as const;
    const loadedArgument = loopbackArgument(pair, 'mike', LATENCY_MS);
    const { keeper, server, passTime } = startKeeper({}, connectedSink, loadedArgument);
    server.refusesToUnload = false;
    const loadsBefore = server.loadCount;

    keeper.onChange();
    await passTime(1_000);
    assert.deepEqual([server.modules.length, server.loadCount], [0, loadsBefore]);
    keeper.end();
  });
}

test('a command to listen is refused while an earlier loopback of the same input and output cannot be unloaded', async () => {
  // The loopback was made for `living`, but plays at `kitchen`, so the command must unload it first.
  const loadedArgument = argumentWithLatency(LATENCY_MS);
  const { keeper, server } = startKeeper({ mike: 'living' }, KITCHEN_INDEX, loadedArgument);

  const answer = await keeper.listen('mike', 'living');
  assert.ok(!answer.ok);
  assert.match(answer.error.detail, /could not be unloaded/);
  assert.equal(server.modules.length, 1);
  keeper.end();
});

for (const { name, command } of [
  { name: 'stop-listen', command: (keeper: ListenKeeper) => keeper.stop('mike', 'living') },
  { name: 'listen', command: (keeper: ListenKeeper) => keeper.listen('mike', 'living') },
]) {
  test(`the remark in /health that an input cannot be heard is removed after the command ${name}`, async () => {
    const { keeper, server, passTime, remarks } = startKeeper({ mike: 'living' }, LIVING_INDEX);
    server.refusesToLoad = true;
    keeper.onChange();
    await passTime(1_000);
    // Four more tries follow. After the fifth try, the keeper does not try again by itself, so only the
    // command can remove the remark.
    for (let tries = 1; tries < 5; tries += 1) await passTime(5_000);
    assert.match(String(remarks.at(-1)), /cannot be heard/);

    server.refusesToLoad = false;
    assert.ok((await command(keeper)).ok);
    await passTime(1_000);
    assert.equal(remarks.at(-1), undefined);
    keeper.end();
  });
}
