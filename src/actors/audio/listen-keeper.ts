// Keeps the loopbacks by which inputs are heard at outputs, while one connection to the sound server lasts.
// Carries out the commands `listen` and `stop-listen`. The loopbacks stay when the daemon ends, and the next
// daemon finds them.

import type { Clock } from '../../host/clock.js';
import { Turns } from '../../host/turns.js';
import { type Answer, DONE } from '../../protocol/actor/commands.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import type { Failure } from '../../protocol/actor/result.js';
import type { ModuleInfo } from '../../protocol/pulse/records.js';
import type { Publisher } from '../runtime.js';
import { CONNECTION_ENDED, type CommandConnection } from './executor.js';
import { KeeperSchedule } from './keeper-schedule.js';
import {
  isSamePair,
  type ListenPair,
  type ListenStep,
  LOOPBACK_MODULE,
  type Loopback,
  listenSteps,
  loopbackArgument,
  loopbacksIn,
  nameRefusal,
  type ObservedLoopbacks,
  pairIndices,
} from './listen-modules.js';
import { type ListenPairs, PAIRS_MAX } from './listen-pairs.js';
import { type Ask, isSameModule, loadModule, unloadModule } from './sound-modules.js';
import type { SoundState } from './state.js';

/** How long a new loopback may take to connect. This must be less than `commandMs` in timing.ts. */
const CONNECT_MAX_MS = 5_000;
/** While a loopback connects, the pauses between readings grow, because a reading takes five lists. */
const PAUSE_MIN_MS = 50;
const PAUSE_MAX_MS = 500;

export interface ListenContext {
  readonly state: SoundState;
  readonly pairs: ListenPairs;
  readonly latencyMs: number;
  readonly clock: Clock;
  readonly log: Publisher['log'];
  readonly ask: Ask;
  readonly readAgain: CommandConnection['readAgain'];
  /** Sets the remark for /health; undefined removes it. */
  readonly setRemark: (text: string | undefined) => void;
}

export class ListenKeeper {
  readonly #context: ListenContext;
  readonly #schedule: KeeperSchedule;
  readonly #turns = new Turns();
  /** The outputs and inputs at the last call of `onChange`, as one text; undefined before the first call. */
  #devices: string | undefined;

  constructor(context: ListenContext) {
    this.#context = context;
    this.#schedule = new KeeperSchedule(context.clock, () => void this.#turns.run(() => this.#keepPairs()));
    // The pairs outlive the connection, but the indices of their inputs and outputs do not.
    context.pairs.forgetIndices();
  }

  /** To be called first when the connection comes up, then after each reading of the outputs or inputs. */
  onChange(): void {
    const { sinks, sources } = this.#context.state;
    const records = [...sinks.values(), ...sources.all];
    const devices = records.map(({ info }) => `${info.index} ${info.name}`).join('\n');
    if (devices === this.#devices) this.#schedule.onReading();
    else this.#schedule.onChange();
    this.#devices = devices;
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#schedule.end();
  }

  /** Lets an input be heard at an output. `input` and `output` are ids or names. */
  listen(input: string, output: string): Promise<Answer> {
    return this.#turns.run(() => this.#startPair(input, output));
  }

  /**
   * Ends the listening to `input` at `output`, or at all outputs if `output` is undefined. `input` and
   * `output` are ids or names.
   */
  stop(input: string, output: string | undefined): Promise<Answer> {
    return this.#turns.run(() => this.#stopPairs(input, output));
  }

  async #keepPairs(): Promise<void> {
    const { pairs, latencyMs, setRemark } = this.#context;
    const observed = await this.#observe();
    if (this.#schedule.hasEnded) return;
    if (observed === undefined) {
      setRemark('Listening is not looked after: the sound server does not list its modules and streams');
      return this.#schedule.onRefusal();
    }
    pairs.observe(observed);
    const problems: string[] = [];
    const pairsNotUnloaded: ListenPair[] = [];
    for (const step of listenSteps(pairs.desired, pairs.ended, observed, latencyMs)) {
      // A new loopback beside the old one would let the input be heard twice.
      if (step.do === 'make' && pairsNotUnloaded.some((pair) => isSamePair(pair, step.pair))) continue;
      const problem = await this.#carryOut(step, observed);
      if (this.#schedule.hasEnded) return;
      if (problem === undefined) continue;
      problems.push(problem);
      if (step.do === 'unload') pairsNotUnloaded.push(step.pair);
    }
    setRemark(problems.join('; ') || undefined);
    if (problems.length > 0) return this.#schedule.onRefusal();
    pairs.forgetEnded();
    this.#schedule.onSuccess();
  }

  async #startPair(inputRef: string, outputRef: string): Promise<Answer> {
    const { state, pairs } = this.#context;
    const input = state.sources.find(inputRef)?.info.name;
    if (input === undefined) return noSuchInput(inputRef);
    const output = state.findSink(outputRef)?.info.name;
    if (output === undefined) return noSuchOutput(outputRef);
    const observed = await this.#observe();
    if (observed === undefined) return this.#notObservedAnswer();
    pairs.observe(observed);
    // A configured pair keeps the origin `configuration` when a client stops it and begins it again.
    const origin = pairs.isConfigured({ input, output }) ? 'configuration' : 'command';
    const pair: ListenPair = { input, output, origin };
    const refusal = this.#pairRefusal(pair, observed);
    if (refusal !== undefined) return refusal;
    const ownLoopbacks = loopbacksIn(observed).filter((loopback) => isSamePair(loopback.pair, pair));
    const isConnected = ownLoopbacks.some(({ ends }) => ends === 'right');
    if (!isConnected) {
      // The new loopback is made only if all old ones of the pair could be unloaded.
      const problem = (await this.#unloadAll(ownLoopbacks)) ?? (await this.#make(pair, observed));
      if (problem !== undefined) return this.#unloadLater(pair, problem);
    }
    pairs.add(pair, pairIndices(pair, observed));
    return this.#answerWhenPublished();
  }

  /**
   * Undefined if the two names and the number of pairs allow a loopback. `#startPair` checks the pair before
   * it unloads old loopbacks, so that a refused command leaves them as they are. `#make` checks the pair,
   * too, because `#keepPairs` does not.
   */
  #pairRefusal(pair: ListenPair, { sinks, sources }: ObservedLoopbacks): Failure<Fault> | undefined {
    const { pairs } = this.#context;
    const refusal = nameRefusal(pair.input, sources) ?? nameRefusal(pair.output, sinks);
    if (refusal !== undefined) return refusal;
    const isDesired = pairs.desired.some((desired) => isSamePair(desired, pair));
    if (isDesired || !pairs.isFull) return undefined;
    return failure('too-many-listens', `${PAIRS_MAX} inputs and outputs are listened to already`);
  }

  /**
   * A desired pair can be stopped even while its input or output is away, but then only by name. A pair that
   * another tonearm began is not desired here. It can be stopped only while its input is there. If the
   * command names an output, the output must be there, too.
   */
  async #stopPairs(inputRef: string, outputRef: string | undefined): Promise<Answer> {
    const { state, pairs } = this.#context;
    const knownInput = state.sources.find(inputRef)?.info.name;
    const knownOutput = outputRef === undefined ? undefined : state.findSink(outputRef)?.info.name;
    const input = knownInput ?? inputRef;
    const output = knownOutput ?? outputRef;
    const isToStop = (pair: ListenPair): boolean =>
      pair.input === input && (output === undefined || pair.output === output);
    const hasDesiredPair = pairs.desired.some(isToStop);
    const isOutputMissing = outputRef !== undefined && knownOutput === undefined;
    if (!hasDesiredPair && knownInput === undefined) return noSuchInput(inputRef);
    if (!hasDesiredPair && isOutputMissing) return noSuchOutput(outputRef);
    const observed = await this.#observe();
    if (observed === undefined) return this.#notObservedAnswer();
    pairs.observe(observed);
    pairs.endPairs(isToStop);
    for (const { module, pair } of loopbacksIn(observed)) {
      if (!isToStop(pair)) continue;
      const problem = await this.#unload(module);
      if (problem !== undefined) return this.#unloadLater(pair, problem);
    }
    return this.#answerWhenPublished();
  }

  /** The streams show where an input is heard. So they are read again before the answer. */
  async #answerWhenPublished(): Promise<Answer> {
    // The schedule runs `#keepPairs` later. That run removes an earlier remark about the pair.
    this.#schedule.onChange();
    await this.#context.readAgain({ kind: 'sink-input' });
    // If the connection has ended, a loopback that was to be unloaded may still be there.
    return this.#schedule.hasEnded ? CONNECTION_ENDED : DONE;
  }

  /**
   * Answers with the problem. The sound server may still have a loopback of the pair, because it may have
   * refused to unload one. So `#keepPairs` tries to unload it later.
   */
  #unloadLater(pair: ListenPair, problem: string): Answer {
    this.#context.pairs.unloadUnlessDesired(pair);
    this.#schedule.onChange();
    return this.#schedule.hasEnded ? CONNECTION_ENDED : failure('refused', problem);
  }

  #notObservedAnswer(): Answer {
    if (this.#schedule.hasEnded) return CONNECTION_ENDED;
    return failure('refused', 'The sound server does not list its modules and streams');
  }

  /** Undefined if the connection has ended, or if the server has not sent all lists. */
  async #observe(): Promise<ObservedLoopbacks | undefined> {
    const { ask } = this.#context;
    const [modules, sinks, sources, sinkInputs, sourceOutputs] = await Promise.all([
      ask('GET_MODULE_INFO_LIST', {}),
      ask('GET_SINK_INFO_LIST', {}),
      ask('GET_SOURCE_INFO_LIST', {}),
      ask('GET_SINK_INPUT_INFO_LIST', {}),
      ask('GET_SOURCE_OUTPUT_INFO_LIST', {}),
    ]);
    const haveAllSucceeded = modules.ok && sinks.ok && sources.ok && sinkInputs.ok && sourceOutputs.ok;
    if (this.#schedule.hasEnded || !haveAllSucceeded) return undefined;
    return {
      modules: modules.value,
      sinks: sinks.value,
      sources: sources.value.filter(({ monitorOfSink }) => monitorOfSink === undefined),
      sinkInputs: sinkInputs.value,
      sourceOutputs: sourceOutputs.value,
    };
  }

  /** Resolves with a sentence for /health if the step has failed. */
  #carryOut(step: ListenStep, observed: ObservedLoopbacks): Promise<string | undefined> {
    return step.do === 'make' ? this.#make(step.pair, observed) : this.#unload(step.module);
  }

  async #make(pair: ListenPair, observed: ObservedLoopbacks): Promise<string | undefined> {
    const { ask, log, latencyMs, state } = this.#context;
    const refusal = this.#pairRefusal(pair, observed);
    if (refusal !== undefined) return refusal.error.detail;
    const description = state.sources.find(pair.input)?.info.description || pair.input;
    const argument = loopbackArgument(pair, description, latencyMs);
    const loaded = await loadModule(ask, { name: LOOPBACK_MODULE, argument });
    const { input, output } = pair;
    const failureText = `${JSON.stringify(input)} cannot be heard at ${JSON.stringify(output)}`;
    if (!loaded.ok) return `${failureText}: ${loaded.error}`;
    const problem = await this.#awaitConnected(loaded.value);
    if (problem !== undefined) {
      await this.#unload(loaded.value);
      return `${failureText}: ${problem}`;
    }
    log('info', 'an input is heard', { input, output });
    return undefined;
  }

  /**
   * Resolves with undefined when the loopback is connected to its input and output, else with the problem.
   */
  async #awaitConnected(module: ModuleInfo): Promise<string | undefined> {
    const { clock } = this.#context;
    const latestMs = clock.monotonic() + CONNECT_MAX_MS;
    for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
      const observed = await this.#observe();
      if (observed === undefined) return 'the sound server does not list its streams';
      const loopback = loopbacksIn(observed).find((other) => isSameModule(other.module, module));
      if (loopback === undefined) return 'the sound server has removed its loopback';
      if (loopback.ends === 'right') return undefined;
      if (loopback.ends === 'wrong') return 'the sound server has taken another input or output';
      if (clock.monotonic() + pauseMs > latestMs) return 'the loopback is connected to nothing';
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
    }
  }

  /**
   * Ends at the first loopback that cannot be unloaded, and resolves with the problem. If the connection has
   * ended, this method and `#unload` report no problem, because their callers check `hasEnded`.
   */
  async #unloadAll(loopbacks: readonly Loopback[]): Promise<string | undefined> {
    for (const { module } of loopbacks) {
      const problem = await this.#unload(module);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  async #unload(module: ModuleInfo): Promise<string | undefined> {
    const { ask, log } = this.#context;
    const why = await unloadModule(ask, module);
    if (why === undefined || this.#schedule.hasEnded) return undefined;
    log('warn', 'a loopback could not be unloaded', { module: module.argument ?? '', why });
    return `A loopback could not be unloaded: ${why}`;
  }
}

function noSuchInput(ref: string): Answer {
  return failure('no-such-input', `There is no input ${JSON.stringify(ref)}`);
}

function noSuchOutput(ref: string): Answer {
  return failure('no-such-output', `There is no output ${JSON.stringify(ref)}`);
}
