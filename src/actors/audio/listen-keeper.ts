// Keeps the loopbacks by which inputs are heard in the sound server, over one connection, and carries out the
// commands for them: it reads modules, devices and streams anew each time, and does what listen-modules.ts
// decides. It ends with nothing undone: loopbacks stay while the daemon is away, and are found again.

import type { Clock } from '../../host/clock.js';
import { type Answer, DONE } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { ModuleInfo } from '../../protocol/pulse/records.js';
import type { Publisher } from '../runtime.js';
import { Turns } from '../turns.js';
import { KeepPace } from './keep-pace.js';
import {
  isPlainName,
  isSamePair,
  type ListenPair,
  type ListenStep,
  LOOPBACK,
  listenSteps,
  loopbackArgument,
  loopbacksIn,
  type ObservedLoopbacks,
} from './listen-modules.js';
import { type ListenPairs, PAIRS_MAX } from './listen-pairs.js';
import { type Ask, isSameModule, loadModule, unloadModule } from './sound-modules.js';
import type { SoundState } from './state.js';

/**
 * The time until a new loopback stands at its input and output, in ms, and the pause between two readings.
 */
const STANDS_WITHIN_MS = 2_000;
const PAUSE_MS = 50;

export interface ListenContext {
  readonly state: SoundState;
  readonly pairs: ListenPairs;
  readonly latencyMs: number;
  readonly clock: Clock;
  readonly log: Publisher['log'];
  readonly ask: Ask;
  /** Receives the remark for /health; undefined for none. */
  readonly remark: (text: string | undefined) => void;
}

export class ListenKeeper {
  readonly #context: ListenContext;
  readonly #pace: KeepPace;
  readonly #turns = new Turns();

  constructor(context: ListenContext) {
    this.#context = context;
    this.#pace = new KeepPace(context.clock, () => void this.#turns.run(() => this.#keep()));
    context.pairs.begin();
  }

  /** To be called when inputs or outputs have come or gone, and at first. */
  follow(): void {
    this.#pace.follow();
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#pace.end();
  }

  /** `input` and `output` are ids or names. */
  listen(input: string, output: string): Promise<Answer> {
    return this.#turns.run(() => this.#begin(input, output));
  }

  /** Without `output` it ends everywhere. */
  stop(input: string, output: string | undefined): Promise<Answer> {
    return this.#turns.run(() => this.#stopPairs(input, output));
  }

  async #keep(): Promise<void> {
    const { pairs, remark } = this.#context;
    const observed = await this.#observe();
    if (this.#pace.hasEnded) return;
    if (observed === undefined) {
      remark('Listening is not looked after: the sound server does not list its modules and streams');
      return this.#pace.tryAgain();
    }
    pairs.observe(observed);
    const failures: string[] = [];
    for (const step of listenSteps(pairs.all, pairs.ended, observed)) {
      const failed = await this.#take(step, observed);
      if (this.#pace.hasEnded) return;
      if (failed !== undefined) failures.push(failed);
    }
    remark(failures.join('; ') || undefined);
    if (failures.length === 0) pairs.forgetEnded();
    else this.#pace.tryAgain();
  }

  async #begin(inputRef: string, outputRef: string): Promise<Answer> {
    const { state, pairs } = this.#context;
    const input = state.sources.find(inputRef)?.info.name;
    if (input === undefined) return failure('no-such-input', `There is no input ${JSON.stringify(inputRef)}`);
    const output = state.findSink(outputRef)?.info.name;
    if (output === undefined)
      return failure('no-such-output', `There is no output ${JSON.stringify(outputRef)}`);
    const pair: ListenPair = { input, output, origin: 'command' };
    const observed = await this.#observe();
    if (observed === undefined) return this.#notObserved();
    pairs.observe(observed);
    const refusal = this.#refusalOf(pair, observed);
    if (refusal !== undefined) return refusal;
    const present = loopbacksIn(observed).filter((each) => isSamePair(each.pair, pair));
    if (!present.some(({ place }) => place === 'right')) {
      for (const { module } of present) await this.#unload(module);
      const failed = await this.#make(pair, observed);
      if (failed !== undefined) return failure('refused', failed);
    }
    pairs.add(pair);
    return DONE;
  }

  #refusalOf(pair: ListenPair, { sinks, sources }: ObservedLoopbacks): Answer | undefined {
    const { pairs } = this.#context;
    const named: readonly (readonly [name: string, all: ObservedLoopbacks['sinks']])[] = [
      [pair.input, sources],
      [pair.output, sinks],
    ];
    for (const [name, all] of named) {
      const quoted = JSON.stringify(name);
      if (!isPlainName(name))
        return failure('refused', `The sound server cannot be given the name ${quoted} for a loopback`);
      if (all.filter((each) => each.name === name).length > 1)
        return failure('same-name', `Another one is called ${quoted}, too, and a loopback is made by name`);
    }
    if (!pairs.isFull || pairs.all.some((each) => isSamePair(each, pair))) return undefined;
    return failure('too-many-listens', `${PAIRS_MAX} inputs and outputs are listened to already`);
  }

  async #stopPairs(inputRef: string, outputRef: string | undefined): Promise<Answer> {
    const { state, pairs } = this.#context;
    const input = state.sources.find(inputRef)?.info.name ?? inputRef;
    const output = outputRef === undefined ? undefined : state.findSink(outputRef)?.info.name;
    const isNamed = (pair: ListenPair): boolean =>
      pair.input === input && (outputRef === undefined || pair.output === (output ?? outputRef));
    const isKnown = pairs.all.some(isNamed);
    if (!isKnown && state.sources.find(inputRef) === undefined)
      return failure('no-such-input', `There is no input ${JSON.stringify(inputRef)}`);
    if (!isKnown && outputRef !== undefined && output === undefined)
      return failure('no-such-output', `There is no output ${JSON.stringify(outputRef)}`);
    const observed = await this.#observe();
    if (observed === undefined) return this.#notObserved();
    pairs.observe(observed);
    pairs.remove(isNamed);
    for (const { module, pair } of loopbacksIn(observed)) {
      const failed = isNamed(pair) ? await this.#unload(module) : undefined;
      if (failed !== undefined) return failure('refused', failed);
    }
    return DONE;
  }

  #notObserved(): Answer {
    if (this.#pace.hasEnded) return failure('unavailable', 'The connection to the sound server has ended');
    return failure('refused', 'The sound server does not list its modules and streams');
  }

  /** Undefined where the connection has ended, or the server does not list something. */
  async #observe(): Promise<ObservedLoopbacks | undefined> {
    const { ask } = this.#context;
    const [modules, sinks, sources, sinkInputs, sourceOutputs] = await Promise.all([
      ask('GET_MODULE_INFO_LIST', {}),
      ask('GET_SINK_INFO_LIST', {}),
      ask('GET_SOURCE_INFO_LIST', {}),
      ask('GET_SINK_INPUT_INFO_LIST', {}),
      ask('GET_SOURCE_OUTPUT_INFO_LIST', {}),
    ]);
    if (this.#pace.hasEnded || !modules.ok || !sinks.ok || !sources.ok) return undefined;
    if (!sinkInputs.ok || !sourceOutputs.ok) return undefined;
    return {
      modules: modules.value,
      sinks: sinks.value,
      sources: sources.value.filter(({ monitorOfSink }) => monitorOfSink === undefined),
      sinkInputs: sinkInputs.value,
      sourceOutputs: sourceOutputs.value,
    };
  }

  /** Resolves with a sentence for /health where it has failed. */
  #take(step: ListenStep, observed: ObservedLoopbacks): Promise<string | undefined> {
    return step.do === 'make' ? this.#make(step.pair, observed) : this.#unload(step.module);
  }

  async #make(pair: ListenPair, observed: ObservedLoopbacks): Promise<string | undefined> {
    const { ask, log, latencyMs, state } = this.#context;
    const refused = this.#refusalOf(pair, observed);
    if (refused?.ok === false) return refused.error.detail;
    const description = state.sources.find(pair.input)?.info.description || pair.input;
    const argument = loopbackArgument(pair, description, latencyMs);
    const loaded = await loadModule(ask, { name: LOOPBACK, argument });
    const named = `${JSON.stringify(pair.input)} cannot be heard at ${JSON.stringify(pair.output)}`;
    if (!loaded.ok) return `${named}: ${loaded.error}`;
    const module = loaded.value;
    const fault = await this.#standing(module);
    const { input, output } = pair;
    if (fault === undefined) log('info', 'an input is heard', { input, output });
    else await this.#unload(module);
    return fault === undefined ? undefined : `${named}: ${fault}`;
  }

  /** Undefined once the loopback stands at its input and its output, else what is wrong. */
  async #standing(module: ModuleInfo): Promise<string | undefined> {
    const { clock } = this.#context;
    const latest = clock.monotonic() + STANDS_WITHIN_MS;
    for (;;) {
      const observed = await this.#observe();
      if (observed === undefined) return 'the sound server does not list its streams';
      const found = loopbacksIn(observed).find((each) => isSameModule(each.module, module));
      if (found === undefined) return 'the sound server has given its loopback up';
      if (found.place === 'right') return undefined;
      if (found.place === 'wrong') return 'the sound server has taken another input or output';
      if (clock.monotonic() > latest) return 'the loopback stands nowhere';
      await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
    }
  }

  async #unload(module: ModuleInfo): Promise<string | undefined> {
    const { ask, log } = this.#context;
    const why = await unloadModule(ask, module);
    if (why === undefined || this.#pace.hasEnded) return undefined;
    log('warn', 'a loopback could not be unloaded', { module: module.argument ?? '', why });
    return `A loopback could not be unloaded: ${why}`;
  }
}
