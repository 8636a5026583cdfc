// Makes the configured groups in the sound server, and removes those that are no longer configured, while one
// connection lasts. group-modules.ts decides the steps. The groups stay when the daemon ends, and the next
// daemon finds them.

import type { Clock } from '../../host/clock.js';
import { SharedWork } from '../../host/turns.js';
import type { ModuleInfo } from '../../protocol/pulse/records.js';
import type { Publisher } from '../runtime.js';
import type { CommandConnection } from './executor.js';
import {
  type GroupStep,
  type Groups,
  groupRemarks,
  groupSteps,
  type ObservedSound,
} from './group-modules.js';
import { KeeperSchedule } from './keeper-schedule.js';
import { GROUP_PREFIX } from './marks.js';
import { type Ask, loadModule, unloadModule } from './sound-modules.js';
import type { SoundState } from './state.js';

/** The longest wait for a new default and for outputs of all streams, after stand-ins have gone. */
const SETTLE_MAX_MS = 2_000;
/** The pause between two readings of the default and the streams. */
const PAUSE_MS = 50;

interface GroupContext {
  readonly state: SoundState;
  readonly groups: Groups;
  readonly clock: Clock;
  readonly log: Publisher['log'];
  readonly ask: Ask;
  readonly readAgain: CommandConnection['readAgain'];
  /** Sets the remark for /health; undefined removes it. */
  readonly setRemark: (text: string | undefined) => void;
}

export class GroupKeeper {
  readonly #context: GroupContext;
  readonly #schedule: KeeperSchedule;
  readonly #work = new SharedWork(() => this.#keepGroups());

  constructor(context: GroupContext) {
    this.#context = context;
    this.#schedule = new KeeperSchedule(context.clock, () => void this.#work.run());
  }

  /**
   * To be called when the connection comes up, and when outputs have come or gone. The work begins after
   * a pause (keeper-schedule.ts).
   */
  onChange(): void {
    this.#schedule.onChange();
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#schedule.end();
    this.#context.state.hasStandIns = false;
  }

  async #keepGroups(): Promise<void> {
    const { groups, setRemark } = this.#context;
    const observed = await this.#observe();
    if (this.#schedule.hasEnded) return;
    if (observed === undefined) {
      setRemark('The groups are not looked after: the sound server does not list its modules');
      return this.#schedule.onRefusal();
    }
    const streamsByGroup = new Map(Object.keys(groups).map((group) => [group, this.#streamsOn(group)]));
    const problems: string[] = [];
    for (const step of groupSteps(groups, observed)) {
      const problem = await this.#carryOut(step);
      // If the group is made anew, its old module was unloaded by an earlier step, and the sound server has
      // moved the group's streams to another output.
      if (step.do === 'make') await this.#moveBack(step.group, streamsByGroup.get(step.group) ?? []);
      if (this.#schedule.hasEnded) return;
      if (problem !== undefined) problems.push(problem);
    }
    await this.#waitUntilSettled();
    setRemark([...groupRemarks(groups, observed), ...problems].join('; ') || undefined);
    if (problems.length > 0) this.#schedule.onRefusal();
  }

  /** Undefined if the server does not list its modules, or the connection has ended. */
  async #observe(): Promise<ObservedSound | undefined> {
    const { ask, state } = this.#context;
    const modules = await ask('GET_MODULE_INFO_LIST', {});
    const { server } = state;
    if (server === undefined || !modules.ok) return undefined;
    // The state contains no stand-ins, because `SoundState.putSink` leaves them out.
    const outputs = new Set([...state.sinks.values()].map(({ info }) => info.name));
    return { server, modules: modules.value, outputs };
  }

  /** Resolves with a sentence for /health if the step has failed. */
  #carryOut(step: GroupStep): Promise<string | undefined> {
    return step.do === 'make' ? this.#make(step) : this.#unload(step.module);
  }

  async #make({ group, module, standIns }: Extract<GroupStep, { do: 'make' }>): Promise<string | undefined> {
    const { ask, log, state } = this.#context;
    // While `hasStandIns` is true, the daemon does not publish that the default is missing, or that a stream
    // has no output.
    if (standIns.length > 0) state.hasStandIns = true;
    const loadedStandIns: ModuleInfo[] = [];
    for (const standIn of standIns) {
      const loaded = await loadModule(ask, standIn);
      if (loaded.ok) loadedStandIns.push(loaded.value);
    }
    // If the server has refused a stand-in, it refuses this module, too. This second refusal is reported.
    const made = await loadModule(ask, module);
    for (const standIn of loadedStandIns) await this.#unload(standIn);
    const fields = { group, missing: standIns.length };
    if (made.ok) log('info', 'a group was made', fields);
    if (made.ok || this.#schedule.hasEnded) return undefined;
    const why = made.error;
    log('warn', 'a group could not be made', { ...fields, why });
    return `The group ${JSON.stringify(group)} could not be made: ${why}`;
  }

  /**
   * To be called after the stand-ins have been unloaded. If one of them was the server's default, PipeWire
   * needs some time to set another default, and to move the streams to it.
   */
  async #waitUntilSettled(): Promise<void> {
    const { state, clock, readAgain } = this.#context;
    if (!state.hasStandIns) return;
    const latestMs = clock.monotonic() + SETTLE_MAX_MS;
    const readDefaultAndStreams = () =>
      Promise.all([readAgain({ kind: 'server' }), readAgain({ kind: 'sink-input' })]);
    for (;;) {
      await readDefaultAndStreams();
      const hasDefault = state.findSink(state.server?.defaultSink ?? '') !== undefined;
      const streams = [...state.sinkInputs.values()];
      const areStreamsMoved = streams.every(
        ({ info: { sink } }) => sink !== undefined && state.sinks.has(sink),
      );
      const isSettled = hasDefault && areStreamsMoved;
      if (isSettled || this.#schedule.hasEnded || clock.monotonic() >= latestMs) break;
      await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
    }
    state.hasStandIns = false;
    // If the default is still missing, or streams still have no output, this reading publishes that.
    await readDefaultAndStreams();
  }

  /** The indices of the streams that play to a group. */
  #streamsOn(group: string): readonly number[] {
    const { sinks, sinkInputs } = this.#context.state;
    const sink = [...sinks.values()].find(({ info }) => info.name === GROUP_PREFIX + group);
    if (sink === undefined) return [];
    const streams = [...sinkInputs.values()].filter(({ info }) => info.sink === sink.info.index);
    return streams.map(({ info }) => info.index);
  }

  /** Ignores refusals, because a stream may have ended meanwhile, or cannot be moved. */
  async #moveBack(group: string, streams: readonly number[]): Promise<void> {
    if (streams.length === 0) return;
    const { ask } = this.#context;
    // The state may still lack the group's new sink, so the list of sinks is read here.
    const sinks = await ask('GET_SINK_INFO_LIST', {});
    const sink = sinks.ok ? sinks.value.find(({ name }) => name === GROUP_PREFIX + group) : undefined;
    if (sink === undefined) return;
    for (const index of streams) await ask('MOVE_SINK_INPUT', { index, sink: sink.index });
  }

  async #unload(module: ModuleInfo): Promise<string | undefined> {
    const { ask, log } = this.#context;
    const why = await unloadModule(ask, module);
    if (why === undefined || this.#schedule.hasEnded) return undefined;
    log('warn', 'a module could not be unloaded', { module: module.argument ?? '', why });
    return `A module of a group could not be unloaded: ${why}`;
  }
}
