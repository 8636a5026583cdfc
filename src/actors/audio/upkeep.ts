// Notifies the parts that act by themselves on one connection when cards, outputs or inputs have changed:
// start volumes, groups, inputs that are heard, and the check for a sound card. It joins the remarks of
// these parts to the detail of this backend in /health.

import { type Clock, within } from '../../host/clock.js';
import type { Answer, ListenCommand } from '../../protocol/actor/commands.js';
import type { AudioSettings } from '../../protocol/actor/settings.js';
import type { Publisher } from '../runtime.js';
import { NO_ANSWER } from './executor.js';
import type { GroupKeeper } from './group-keeper.js';
import type { KnownOutputs } from './known-outputs.js';
import type { ListenKeeper } from './listen-keeper.js';
import type { ListenPairs } from './listen-pairs.js';
import { isGroup, listenInputOf } from './marks.js';
import { hasNoSoundCard, NoCardWatch } from './no-card.js';
import type { SoundCommand } from './setting-plan.js';
import type { Ask } from './sound-modules.js';
import { StartVolumes } from './start-volumes.js';
import type { SoundState } from './state.js';

type RemarkSource = 'card' | 'groups' | 'listening';

export interface UpkeepContext {
  readonly state: SoundState;
  readonly settings: AudioSettings;
  readonly knownOutputs: KnownOutputs;
  readonly listenPairs: ListenPairs;
  readonly clock: Clock;
  /** `noCardMs`: how long there may be no card before that is reported. */
  readonly timing: { readonly commandMs: number; readonly noCardMs: number };
  readonly publish: Pick<Publisher, 'status' | 'log'>;
  readonly run: (command: SoundCommand) => Promise<Answer>;
  readonly ask: Ask;
}

export class Upkeep {
  readonly #context: UpkeepContext;
  readonly #log: Publisher['log'];
  readonly #noCard: NoCardWatch;
  readonly #startVolumes: StartVolumes;
  /** Loaded with the first group. */
  #groups: Promise<GroupKeeper> | undefined;
  /** Loaded with the first input that is listened to. */
  #listening: Promise<ListenKeeper> | undefined;
  readonly #remarks = new Map<RemarkSource, string>();
  #hasEnded = false;

  constructor(context: UpkeepContext) {
    const { settings, clock, timing, publish } = context;
    this.#context = context;
    this.#log = (level, message, fields) => publish.log(level, message, fields);
    this.#noCard = new NoCardWatch((text) => this.#remark('card', text), this.#log, clock, timing.noCardMs);
    this.#startVolumes = new StartVolumes({ ...context, wishes: settings, log: this.#log });
  }

  /** See `ConnectionContext.onPublished`. For the first publication both are true. */
  update(haveOutputsComeOrGone: boolean, haveInputsChanged: boolean): void {
    const { state } = this.#context;
    this.#noCard.update(hasNoSoundCard(state));
    if (haveOutputsComeOrGone || haveInputsChanged) this.#updateListening();
    if (!haveOutputsComeOrGone) return;
    this.#startVolumes.update();
    if (this.#groups === undefined && !this.#needsGroups()) return;
    this.#groups ??= this.#loadGroups();
    void this.#groups.then((groups) => groups.onChange());
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#hasEnded = true;
    this.#noCard.stop();
    this.#startVolumes.end();
    void this.#groups?.then((groups) => groups.end());
    void this.#listening?.then((listening) => listening.end());
  }

  async listen(command: ListenCommand): Promise<Answer> {
    this.#listening ??= this.#loadListening();
    const listening = await this.#listening;
    const answer =
      command.do === 'listen'
        ? listening.listen(command.input, command.output)
        : listening.stop(command.input, command.output);
    const { clock, timing } = this.#context;
    return (await within(clock, timing.commandMs, answer)) ?? NO_ANSWER;
  }

  /**
   * Loads the keeper of loopbacks if inputs are to be heard, and notifies it. The keeper is also loaded if a
   * stream shows that an earlier life of the daemon has let an input be heard, which the keeper then takes
   * over.
   */
  #updateListening(): void {
    const { listenPairs, state } = this.#context;
    const { hasAdopted, desired } = listenPairs;
    const isListening = [...state.sinkInputs.values()].some(({ info }) => listenInputOf(info) !== undefined);
    if (desired.length === 0 && !isListening) listenPairs.hasAdopted = true;
    const isNeeded = desired.length > 0 || (isListening && !hasAdopted);
    if (this.#listening === undefined && !isNeeded) return;
    this.#listening ??= this.#loadListening();
    void this.#listening.then((listening) => listening.onChange());
  }

  /** True also for groups of an earlier configuration, which are to be removed. */
  #needsGroups(): boolean {
    const { settings, state } = this.#context;
    const isConfigured = Object.keys(settings.groups).length > 0;
    return isConfigured || [...state.sinks.values()].some(({ info }) => isGroup(info));
  }

  async #loadGroups(): Promise<GroupKeeper> {
    const { state, settings, clock, ask } = this.#context;
    const { GroupKeeper } = await import('./group-keeper.js');
    return new GroupKeeper({
      state,
      groups: settings.groups,
      clock,
      log: this.#log,
      ask,
      setRemark: (text) => this.#remark('groups', text),
    });
  }

  async #loadListening(): Promise<ListenKeeper> {
    const { state, settings, listenPairs: pairs, clock, ask } = this.#context;
    const { ListenKeeper } = await import('./listen-keeper.js');
    const listening = new ListenKeeper({
      state,
      pairs,
      latencyMs: settings.listenLatency,
      clock,
      log: this.#log,
      ask,
      setRemark: (text) => this.#remark('listening', text),
    });
    if (this.#hasEnded) listening.end();
    return listening;
  }

  /** Undefined takes the last remark of the source back. */
  #remark(source: RemarkSource, text: string | undefined): void {
    if (this.#hasEnded || this.#remarks.get(source) === text) return;
    if (text === undefined) this.#remarks.delete(source);
    else this.#remarks.set(source, text);
    const detail = [...this.#remarks.values()].join('; ');
    this.#context.publish.status('up', detail || undefined);
  }
}
