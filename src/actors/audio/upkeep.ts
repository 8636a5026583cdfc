// Calls the parts that act when outputs, inputs or cards have changed: start volumes, groups, loopbacks, and
// the check for a sound card. The remarks of groups, loopbacks and this check together are the backend's
// detail in /health.

import { type Clock, within } from '../../host/clock.js';
import type { Answer, ListenCommand } from '../../protocol/actor/commands.js';
import type { AudioSettings } from '../../protocol/actor/settings.js';
import type { Publisher } from '../runtime.js';
import { type CommandConnection, NO_ANSWER } from './executor.js';
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

type RemarkSubject = 'card' | 'groups' | 'listening';

export interface UpkeepContext {
  readonly state: SoundState;
  readonly settings: AudioSettings;
  readonly knownOutputs: KnownOutputs;
  readonly listenPairs: ListenPairs;
  readonly clock: Clock;
  /**
   * The commands `listen` and `stop-listen` are answered within `commandMs`. The lack of a card is reported
   * after `noCardMs`.
   */
  readonly timing: { readonly commandMs: number; readonly noCardMs: number };
  readonly publish: Pick<Publisher, 'status' | 'log'>;
  readonly run: (command: SoundCommand) => Promise<Answer>;
  readonly ask: Ask;
  readonly readAgain: CommandConnection['readAgain'];
}

export class Upkeep {
  readonly #context: UpkeepContext;
  readonly #log: Publisher['log'];
  readonly #noCardWatch: NoCardWatch;
  readonly #startVolumes: StartVolumes;
  /** Loaded when groups are configured, or when a group of an earlier configuration is found. */
  #groupKeeper: Promise<GroupKeeper> | undefined;
  /** Loaded by a command `listen` or `stop-listen`, or by `#updateListenKeeper`. */
  #listenKeeper: Promise<ListenKeeper> | undefined;
  readonly #remarks = new Map<RemarkSubject, string>();
  #hasEnded = false;

  constructor(context: UpkeepContext) {
    const { settings, clock, timing, publish } = context;
    this.#context = context;
    this.#log = (level, message, fields) => publish.log(level, message, fields);
    this.#noCardWatch = new NoCardWatch(
      (text) => this.#setRemark('card', text),
      this.#log,
      clock,
      timing.noCardMs,
    );
    this.#startVolumes = new StartVolumes({ ...context, wishes: settings, log: this.#log });
  }

  /**
   * To be called after each publication in which outputs, inputs or cards may have changed. Both parameters
   * are true for the first publication of a connection.
   */
  update(haveOutputsComeOrGone: boolean, mayInputsHaveChanged: boolean): void {
    const { state } = this.#context;
    this.#noCardWatch.update(hasNoSoundCard(state));
    if (haveOutputsComeOrGone || mayInputsHaveChanged) this.#updateListenKeeper();
    if (!haveOutputsComeOrGone) return;
    this.#startVolumes.update();
    if (this.#groupKeeper === undefined && !this.#needsGroupKeeper()) return;
    this.#groupKeeper ??= this.#loadGroupKeeper();
    void this.#groupKeeper.then((keeper) => keeper.onChange());
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#hasEnded = true;
    this.#noCardWatch.stop();
    this.#startVolumes.end();
    void this.#groupKeeper?.then((keeper) => keeper.end());
    void this.#listenKeeper?.then((keeper) => keeper.end());
  }

  async listen(command: ListenCommand): Promise<Answer> {
    this.#listenKeeper ??= this.#loadListenKeeper();
    const keeper = await this.#listenKeeper;
    const answer =
      command.do === 'listen'
        ? keeper.listen(command.input, command.output)
        : keeper.stop(command.input, command.output);
    const { clock, timing } = this.#context;
    return (await within(clock, timing.commandMs, answer)) ?? NO_ANSWER;
  }

  /**
   * Calls the keeper if it is loaded. Otherwise loads and calls it in three cases: a pair of input and output
   * is desired, the loopbacks of a pair that has ended are to be unloaded, or the loopbacks of an earlier
   * daemon are to be taken over (`mustAdopt`).
   */
  #updateListenKeeper(): void {
    const { listenPairs, state } = this.#context;
    const { desired, ended } = listenPairs;
    const streams = [...state.sinkInputs.values()];
    const hasLoopback = streams.some(({ info }) => listenInputOf(info) !== undefined);
    const mustAdopt = hasLoopback && !listenPairs.hasAdopted;
    // If there is no loopback, there is nothing to take over. If a pair is desired, `hasAdopted` need not be
    // set here: the keeper is loaded anyway, and calls `ListenPairs.observe`, which sets `hasAdopted`.
    if (desired.length === 0 && !hasLoopback) listenPairs.hasAdopted = true;
    const isNeeded = desired.length > 0 || ended.length > 0 || mustAdopt;
    if (this.#listenKeeper === undefined && !isNeeded) return;
    this.#listenKeeper ??= this.#loadListenKeeper();
    void this.#listenKeeper.then((keeper) => keeper.onChange());
  }

  /** Groups of an earlier configuration need the keeper, too, because it removes them. */
  #needsGroupKeeper(): boolean {
    const { settings, state } = this.#context;
    const isConfigured = Object.keys(settings.groups).length > 0;
    return isConfigured || [...state.sinks.values()].some(({ info }) => isGroup(info));
  }

  async #loadGroupKeeper(): Promise<GroupKeeper> {
    const { state, settings, clock, ask, readAgain } = this.#context;
    const { GroupKeeper } = await import('./group-keeper.js');
    return new GroupKeeper({
      state,
      groups: settings.groups,
      clock,
      log: this.#log,
      ask,
      readAgain,
      setRemark: (text) => this.#setRemark('groups', text),
    });
  }

  async #loadListenKeeper(): Promise<ListenKeeper> {
    const { state, settings, listenPairs: pairs, clock, ask, readAgain } = this.#context;
    const { ListenKeeper } = await import('./listen-keeper.js');
    const keeper = new ListenKeeper({
      state,
      pairs,
      latencyMs: settings.listenLatency,
      clock,
      log: this.#log,
      ask,
      readAgain,
      setRemark: (text) => this.#setRemark('listening', text),
    });
    // If the connection has ended during the import, the keeper is ended here. The callback in `end` above
    // would be too late, because a command that waits for the import gets the keeper before this callback
    // runs. `#loadGroupKeeper` does not need this step, because no command waits for the group keeper.
    if (this.#hasEnded) keeper.end();
    return keeper;
  }

  /** `text` is undefined if there is no remark about the subject any more. */
  #setRemark(subject: RemarkSubject, text: string | undefined): void {
    if (this.#hasEnded || this.#remarks.get(subject) === text) return;
    if (text === undefined) this.#remarks.delete(subject);
    else this.#remarks.set(subject, text);
    const detail = [...this.#remarks.values()].join('; ');
    this.#context.publish.status('up', detail || undefined);
  }
}
