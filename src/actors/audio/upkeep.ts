// Tells the parts that act by themselves on one connection that something but streams has changed: start
// volumes, groups, and the look for a sound card. It joins what they want /health to say.

import type { Clock } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import type { AudioSettings } from '../../protocol/actor/settings.js';
import type { Publisher } from '../runtime.js';
import type { Ask, GroupKeeper } from './group-keeper.js';
import { isGroup } from './group-names.js';
import type { KnownOutputs } from './known-outputs.js';
import { hasNoSoundCard, NoCardWatch } from './no-card.js';
import type { SoundCommand } from './setting-plan.js';
import { StartVolumes } from './start-volumes.js';
import type { SoundState } from './state.js';

export interface UpkeepContext {
  readonly state: SoundState;
  readonly settings: AudioSettings;
  readonly knownOutputs: KnownOutputs;
  readonly clock: Clock;
  /** How long no card may be there before it is reported. */
  readonly noCardMs: number;
  readonly publish: Pick<Publisher, 'status' | 'log'>;
  readonly run: (command: SoundCommand) => Promise<Answer>;
  readonly ask: Ask;
}

export class Upkeep {
  readonly #context: UpkeepContext;
  readonly #noCard: NoCardWatch;
  readonly #startVolumes: StartVolumes;
  /** Loaded with the first group. */
  #groups: Promise<GroupKeeper> | undefined;
  readonly #remarks = new Map<'card' | 'groups', string>();
  #hasEnded = false;

  constructor(context: UpkeepContext) {
    const { settings, clock, noCardMs, publish } = context;
    const log: Publisher['log'] = (level, message, fields) => publish.log(level, message, fields);
    this.#context = context;
    this.#noCard = new NoCardWatch((text) => this.#remark('card', text), log, clock, noCardMs);
    this.#startVolumes = new StartVolumes({ ...context, wishes: settings, log });
  }

  /** To be called after each publication. `outputsCameOrWent` is true for the first one, too. */
  follow(outputsCameOrWent: boolean): void {
    const { state } = this.#context;
    this.#noCard.update(hasNoSoundCard(state));
    if (!outputsCameOrWent) return;
    this.#startVolumes.follow();
    if (this.#groups === undefined && !this.#needsGroups()) return;
    this.#groups ??= this.#loadGroups();
    void this.#groups.then((groups) => groups.follow());
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#hasEnded = true;
    this.#noCard.stop();
    this.#startVolumes.end();
    void this.#groups?.then((groups) => groups.end());
  }

  /** Groups of an earlier configuration are taken away. */
  #needsGroups(): boolean {
    const { settings, state } = this.#context;
    const isConfigured = Object.keys(settings.groups).length > 0;
    return isConfigured || [...state.sinks.values()].some(({ info }) => isGroup(info));
  }

  async #loadGroups(): Promise<GroupKeeper> {
    const { state, settings, clock, publish, ask } = this.#context;
    const { GroupKeeper } = await import('./group-keeper.js');
    return new GroupKeeper({
      state,
      groups: settings.groups,
      clock,
      log: (level, message, fields) => publish.log(level, message, fields),
      ask,
      remark: (text) => this.#remark('groups', text),
    });
  }

  #remark(by: 'card' | 'groups', text: string | undefined): void {
    if (this.#hasEnded || this.#remarks.get(by) === text) return;
    if (text === undefined) this.#remarks.delete(by);
    else this.#remarks.set(by, text);
    const [...all] = this.#remarks.values();
    this.#context.publish.status('up', all.length > 0 ? all.join('; ') : undefined);
  }
}
