// All retained topics of this node and the wanted text of each: its branch, and Home Assistant's device message beside it.

import type { Backend } from '../../protocol/actor/backends.js';
import type { BluetoothRecord, ServerRecord } from '../../protocol/actor/schemas.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { Branch } from './branch.js';
import type { BrokerMessage } from './broker.js';
import { isCommand } from './commands.js';
import type { Entities, EntitySources } from './drafts.js';
import { type EntityOwner, entitiesOf, isRead } from './entities.js';
import { type DeviceMessage, deviceMessage, deviceTopic, entitiesIn } from './home-assistant.js';
import type { BranchClaim } from './node-identity.js';
import { isNotOffered } from './output-entities.js';
import { type InterfaceAddresses, pageUrl } from './reach.js';
import type { HeldAt } from './retained-topics.js';
import { isTooLong } from './topics.js';

export const ONLINE = 'online';
export const OFFLINE = 'offline';

/** The message that the broker holds, and the one in flight. */
const MADE_KEPT = 2;

type TopicSettings = Pick<MqttSettings, 'topic' | 'control' | 'homeAssistant' | 'homeAssistantPrefix'>;

export class OwnTopics {
  readonly status: string;
  readonly node: string;
  /** Other nodes that want the branch ask here whether its owner is alive. */
  readonly who: string;
  readonly audioServer: string;
  readonly device: string;
  readonly #settings: TopicSettings;
  readonly #identifier: string;
  readonly #branch: Branch;
  readonly #interfaces: () => InterfaceAddresses;
  /** True if Home Assistant's message is larger than the broker accepts: then no topic waits for it. */
  isDeviceLeftOut = false;
  /** The last device messages, newest first. */
  #made: readonly DeviceMessage[] = [];

  constructor(
    settings: TopicSettings,
    identifier: string,
    branch: Branch,
    interfaces: () => InterfaceAddresses,
  ) {
    this.#interfaces = interfaces;
    this.#settings = settings;
    this.#identifier = identifier;
    this.#branch = branch;
    this.status = this.full('status');
    this.node = this.full('node');
    this.who = this.full('who');
    this.audioServer = this.full('audio/server');
    this.device = deviceTopic(settings.homeAssistantPrefix, identifier);
  }

  /** `topic` is relative to the node's topic. */
  full(topic: string): string {
    return `${this.#settings.topic}/${topic}`;
  }

  /** True for this node's topics: a broker may send others. */
  isOwn(topic: string): boolean {
    return topic.startsWith(this.full('')) || topic === this.device;
  }

  /** The inverse of `full`. */
  below(topic: string): string {
    return topic.slice(this.#settings.topic.length + 1);
  }

  get filters(): readonly string[] {
    return [this.full('#'), this.device];
  }

  claimIn(held: ReadonlyMap<string, BrokerMessage>): BranchClaim {
    const [node, status] = [held.get(this.node), held.get(this.status)];
    return { node: node?.text ?? '', status: status?.text ?? '', instance: status?.instance };
  }

  /** All topics that may have content, in the order in which they are published. */
  all(): readonly string[] {
    const branch = this.#branch.topics().map((topic) => this.full(topic));
    return [this.node, this.status, ...branch, this.device];
  }

  /** See `Wanted` in retained-topics.ts. */
  wanted(topic: string, heldAt: HeldAt): string | undefined {
    if (topic === this.node) return this.#identifier;
    if (topic === this.status) return ONLINE;
    if (topic === this.device) return this.#deviceText(heldAt(topic));
    const below = this.below(topic);
    // Commands belong to others and are not removed; a name that is too long for a topic is not on the broker.
    if (isCommand(below) || isTooLong(topic)) return undefined;
    const text = this.#branch.text(below);
    return text !== undefined && this.#waits(topic, text, heldAt(this.device)) ? undefined : text;
  }

  /** A topic is emptied, and a new default named, only after the message that announces it; else Home Assistant would log an error. */
  #waits(topic: string, text: string, heldDevice: string): boolean {
    if (this.isDeviceLeftOut || heldDevice === '') return false;
    if (text === '') return isRead(topic, this.#entitiesTold(heldDevice));
    return topic === this.audioServer && this.isDefaultNewTo(heldDevice);
  }

  /** True if the default output is not an option of a held device message: it is new, or its name has changed. */
  isDefaultNewTo(heldDevice: string): boolean {
    return isNotOffered(this.#sound(), this.#entitiesTold(heldDevice));
  }

  #deviceText(held: string): string | undefined {
    if (!this.#settings.homeAssistant) return '';
    const branch = this.#branch;
    const [server, served] = [branch.asked('server'), branch.served];
    if (server === undefined || served === undefined) return undefined;
    const { hostname, os_platform: platform } = JSON.parse(server) as ServerRecord;
    const url = pageUrl({ ...served, hostname, interfaces: this.#interfaces() });
    const isKnown = (owner: EntityOwner): boolean => this.#isKnown(owner);
    const entities = entitiesOf(this.#things());
    const facts = { identifier: this.#identifier, hostname, platform, url, entities, isKnown };
    const made = deviceMessage(facts, this.#entitiesTold(held));
    this.#made = [made, ...this.#made.filter(({ text }) => text !== made.text)].slice(0, MADE_KEPT);
    return made.text;
  }

  /** Our own message may be larger than the bound for parsing a broker's text. */
  #entitiesTold(held: string): Entities {
    return this.#made.find(({ text }) => text === held)?.entities ?? entitiesIn(held);
  }

  /** A backend that is not enabled will never have records, so its (empty) set of entities is known. */
  #isKnown(owner: EntityOwner): boolean {
    const state = owner === undefined ? 'up' : this.#branch.stateOf(owner);
    if (owner === 'power' && state === 'up') return this.#branch.asked('power') !== undefined;
    return state === undefined || state === 'up';
  }

  #records<T>(owner: Backend, texts: () => readonly string[]): readonly T[] {
    return this.#branch.stateOf(owner) === 'up' ? texts().map((text) => JSON.parse(text) as T) : [];
  }

  #sound(): Pick<EntitySources, 'server' | 'outputs'> {
    const branch = this.#branch;
    return {
      server: this.#records<NonNullable<EntitySources['server']>>('audio', () =>
        branch.texts('audio.server'),
      )[0],
      outputs: this.#records('audio', () => branch.texts('audio.outputs')),
    };
  }

  #things(): EntitySources {
    const { topic, control } = this.#settings;
    const branch = this.#branch;
    const abilities = this.#records<{ can_upgrade: boolean }>('upgrade', () => branch.texts('upgrade'));
    const [power] = this.#records<EntitySources['power']>('power', () => [branch.asked('power') ?? NO_POWER]);
    return {
      identifier: this.#identifier,
      topic,
      control,
      children: branch.children,
      ...this.#sound(),
      cards: this.#records('audio', () => branch.texts('audio.cards')),
      services: this.#records('systemd', () => branch.texts('systemd.services')),
      players: this.#records('players', () => branch.texts('players')),
      power: power ?? { reboot: false, power_off: false },
      canUpgrade: abilities[0]?.can_upgrade === true,
      bluetooth: this.#records<BluetoothRecord>('bluetooth', () => branch.texts('bluetooth'))[0],
    };
  }
}

const NO_POWER = JSON.stringify({ reboot: false, power_off: false });
