// Every retained topic that is this node's own, and what each ought to hold: its branch, and Home Assistant's message beside it.

import type { Backend } from '../../protocol/actor/backends.js';
import type { ServerRecord } from '../../protocol/actor/schemas.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { Branch } from './branch.js';
import type { BrokerMessage } from './broker.js';
import { isCommand } from './commands.js';
import type { Entities, Things } from './drafts.js';
import { type EntityOwner, entitiesOf, isRead } from './entities.js';
import { type DeviceMessage, deviceMessage, deviceTopic, entitiesIn } from './home-assistant.js';
import type { BranchClaim } from './node-identity.js';
import { isNotOffered } from './output-entities.js';
import { type InterfaceAddresses, pageUrl } from './reach.js';
import type { HeldAt } from './retained-tree.js';
import { isTooLong } from './topics.js';

export const ONLINE = 'online';
export const OFFLINE = 'offline';

/** The one that the broker holds, and the one that is under way. */
const MADE_KEPT = 2;

type TopicSettings = Pick<MqttSettings, 'topic' | 'control' | 'homeAssistant' | 'homeAssistantPrefix'>;

export class OwnTopics {
  readonly status: string;
  readonly node: string;
  /** Where whoever wants the branch asks whether its owner lives. */
  readonly who: string;
  readonly audioServer: string;
  /** Home Assistant's. */
  readonly device: string;
  readonly #settings: TopicSettings;
  readonly #identifier: string;
  readonly #branch: Branch;
  readonly #interfaces: () => InterfaceAddresses;
  /** Whether Home Assistant's message is larger than the broker takes: nothing waits for it then. */
  isDeviceLeftOut = false;
  /** Home Assistant's messages that were made last, the newest first. */
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

  /** Below the node's. */
  full(topic: string): string {
    return `${this.#settings.topic}/${topic}`;
  }

  /** Whether it is of this node: a broker may send more than was asked for. */
  isOwn(topic: string): boolean {
    return topic.startsWith(this.full('')) || topic === this.device;
  }

  /** The other way. */
  below(topic: string): string {
    return topic.slice(this.#settings.topic.length + 1);
  }

  /** Filters of all that the node may have published. */
  get filters(): readonly string[] {
    return [this.full('#'), this.device];
  }

  claimIn(held: ReadonlyMap<string, BrokerMessage>): BranchClaim {
    const [node, status] = [held.get(this.node), held.get(this.status)];
    return { node: node?.text ?? '', status: status?.text ?? '', instance: status?.instance };
  }

  /** Those that may have something to hold, in the order in which they are told. */
  all(): readonly string[] {
    const branch = this.#branch.topics().map((topic) => this.full(topic));
    return [this.node, this.status, ...branch, this.device];
  }

  /** As `Wanted` of retained-tree.ts. */
  wanted(topic: string, heldAt: HeldAt): string | undefined {
    if (topic === this.node) return this.#identifier;
    if (topic === this.status) return ONLINE;
    if (topic === this.device) return this.#deviceText(heldAt(topic));
    const below = this.below(topic);
    // Others' commands are not ours to take away; and a name that no topic can hold is not on the broker.
    if (isCommand(below) || isTooLong(topic)) return undefined;
    const text = this.#branch.text(below);
    return text !== undefined && this.#waits(topic, text, heldAt(this.device)) ? undefined : text;
  }

  /** Home Assistant would log an error: what its entities read is emptied, and a default output is named, when its message has said so. */
  #waits(topic: string, text: string, heldDevice: string): boolean {
    if (this.isDeviceLeftOut || heldDevice === '') return false;
    if (text === '') return isRead(topic, this.#entitiesTold(heldDevice));
    return topic === this.audioServer && this.isDefaultNewTo(heldDevice);
  }

  /** Whether the default output is not among those that a message of Home Assistant's offers: it has come, or is called otherwise now. */
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

  /** Our own message may be larger than what is read of a broker's. */
  #entitiesTold(held: string): Entities {
    return this.#made.find(({ text }) => text === held)?.entities ?? entitiesIn(held);
  }

  /** Of a backend that is not enabled nothing will ever be known, so there is nothing. */
  #isKnown(owner: EntityOwner): boolean {
    const state = owner === undefined ? 'up' : this.#branch.stateOf(owner);
    if (owner === 'power' && state === 'up') return this.#branch.asked('power') !== undefined;
    return state === undefined || state === 'up';
  }

  #records<T>(owner: Backend, texts: () => readonly string[]): readonly T[] {
    return this.#branch.stateOf(owner) === 'up' ? texts().map((text) => JSON.parse(text) as T) : [];
  }

  #sound(): Pick<Things, 'server' | 'outputs'> {
    const branch = this.#branch;
    return {
      server: this.#records<NonNullable<Things['server']>>('audio', () => branch.texts('audio.server'))[0],
      outputs: this.#records('audio', () => branch.texts('audio.outputs')),
    };
  }

  #things(): Things {
    const { topic, control } = this.#settings;
    const branch = this.#branch;
    const abilities = this.#records<{ can_upgrade: boolean }>('upgrade', () => branch.texts('upgrade'));
    const [power] = this.#records<Things['power']>('power', () => [branch.asked('power') ?? NO_POWER]);
    return {
      identifier: this.#identifier,
      topic,
      control,
      children: branch.children,
      ...this.#sound(),
      services: this.#records('systemd', () => branch.texts('systemd.services')),
      players: this.#records('players', () => branch.texts('players')),
      power: power ?? { reboot: false, power_off: false },
      canUpgrade: abilities[0]?.can_upgrade === true,
    };
  }
}

const NO_POWER = JSON.stringify({ reboot: false, power_off: false });
