// Compares what the broker holds of this node with what it should hold, the branch and Home Assistant's
// device message beside it, and gives the differences that may be published now. Pure.

import type { InterfaceAddresses } from '../../own-addresses.js';
import type { Backend } from '../../protocol/actor/backends.js';
import type { ServerRecord } from '../../protocol/actor/schemas.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { Branch, NamedThing } from './branch.js';
import { isCommand } from './commands.js';
import { type Entities, entitiesOf, isNotOffered } from './entities.js';
import { branchOfDevice, deviceText, entitiesIn, entitiesToTell, pageUrl } from './home-assistant.js';

/** A topic has at most 65 535 bytes (MQTT 5, section 1.5.4); the rest is for what surrounds a name. */
const TOPIC_BYTES_MAX = 65_000;

export const ONLINE = 'online';
export const OFFLINE = 'offline';

export interface Publication {
  readonly topic: string;
  /** '' removes the topic. */
  readonly text: string;
}

/** A topic that is not published, and why not. */
export interface LeftOut {
  readonly topic: string;
  readonly reason: string;
}

/** `leftOut`: topics whose text is larger than the broker takes. */
export interface Differences {
  readonly publications: readonly Publication[];
  readonly leftOut: readonly string[];
}

interface DeviceMessage {
  readonly text: string;
  readonly entities: Entities;
}

type TopicSettings = Pick<MqttSettings, 'topic' | 'control' | 'homeAssistant' | 'homeAssistantPrefix'>;

export class RetainedTopics {
  readonly identifier: string;
  readonly topic: string;
  readonly status: string;
  readonly node: string;
  readonly device: string;
  readonly #settings: TopicSettings;
  readonly #branch: Branch;
  readonly #interfaces: () => InterfaceAddresses;
  /** The broker's texts, as far as confirmed. */
  #held = new Map<string, string>();
  /** Topics that are to be published once more, whatever is held. */
  readonly #again = new Set<string>();
  /** Topics that the broker refuses, with its reason. */
  readonly #refused = new Map<string, string>();
  #deviceOwner: string | undefined;
  /** The device message that the broker holds. */
  #told: DeviceMessage = { text: '', entities: new Map() };
  /**
   * The last one that was made, of this look of the branch; the look is undefined where another is to be made
   * all the same.
   */
  #made: DeviceMessage | undefined;
  #madeOf: string | undefined;

  constructor(
    settings: TopicSettings,
    identifier: string,
    branch: Branch,
    interfaces: () => InterfaceAddresses,
  ) {
    this.#settings = settings;
    this.identifier = identifier;
    this.topic = settings.topic;
    this.#branch = branch;
    this.#interfaces = interfaces;
    this.status = this.full('status');
    this.node = this.full('node');
    this.device = `${settings.homeAssistantPrefix}/device/tonearm_${identifier}/config`;
  }

  /** `topic` is relative to the node's topic. */
  full(topic: string): string {
    return `${this.#settings.topic}/${topic}`;
  }

  /** The inverse of `full`. */
  below(topic: string): string {
    return topic.slice(this.#settings.topic.length + 1);
  }

  /** True for topics of this node's branch: a broker may send others. */
  isBelow(topic: string): boolean {
    return topic.startsWith(this.full(''));
  }

  /** See `Branch.referenceTo`. */
  referenceTo(thing: NamedThing, name: string): string {
    return this.#branch.referenceTo(thing, name);
  }

  /** True if the broker holds nothing of the branch, as far as is confirmed. */
  get isBranchEmpty(): boolean {
    return ![...this.#held].some(([topic, text]) => text !== '' && this.isBelow(topic));
  }

  /** True if the broker holds this text, as far as is confirmed. */
  isHeld(topic: string, text: string): boolean {
    return this.#heldAt(topic) === text;
  }

  /**
   * The branch of the node that publishes the device of this identifier instead of this one: the machine's id
   * is the same.
   */
  get deviceOwner(): string | undefined {
    return this.#deviceOwner;
  }

  /** Topics that the broker refuses. */
  get refused(): readonly LeftOut[] {
    return [...this.#refused].map(([topic, reason]) => ({ topic, reason }));
  }

  /** Begins a new connection with what was read; publications in flight are lost. */
  begin(held: ReadonlyMap<string, string>, deviceOwner?: string): void {
    this.#held = new Map(held);
    this.#again.clear();
    this.#refused.clear();
    this.#deviceIs(held.get(this.device) ?? '', deviceOwner);
  }

  /**
   * The last message on the device's topic decides whose it is, as all that write it see the same one. False
   * if that changes nothing.
   */
  deviceReceived(text: string): boolean {
    const branch = branchOfDevice(text);
    const isOther = branch !== undefined && branch !== this.topic;
    if (!isOther && this.#deviceOwner === undefined) return false;
    this.#held.set(this.device, text);
    this.#deviceIs(text, isOther ? branch : undefined);
    return true;
  }

  /** The other node has gone, so the device is this one's. */
  takeDevice(): void {
    this.#deviceIs(this.#heldAt(this.device), undefined);
  }

  #deviceIs(text: string, owner: string | undefined): void {
    this.#deviceOwner = owner;
    // Nothing waits for another node's message. Our own may be larger than the bound for parsing a broker's
    // text.
    if (owner !== undefined) this.#told = { text, entities: new Map() };
    else if (text !== this.#told.text || this.#told.entities.size === 0)
      this.#told = { text, entities: entitiesIn(text) };
    this.remakeDevice();
  }

  /** Leaves the topic out until `forgetRefusals` or the next connection. */
  refuse(topic: string, reason: string): void {
    this.#refused.set(topic, reason);
  }

  /** The broker's access list may be another one by now. */
  forgetRefusals(): void {
    this.#refused.clear();
  }

  /** The address of the page may be another one: changes of interfaces are not published. */
  remakeDevice(): void {
    this.#madeOf = undefined;
  }

  /** Has the topic published once more, even if the broker holds its text or it is in flight. */
  again(topic: string): void {
    this.#again.add(topic);
  }

  /**
   * To be published; a topic that is too large is emptied, or its old text would be taken for true. `takes`:
   * what the broker takes.
   */
  differences(takes: (topic: string, text: string) => boolean): Differences {
    const publications: Publication[] = [];
    const leftOut: string[] = [];
    const publish = (topic: string, text: string): void => {
      if (this.#refused.has(topic) || !this.#differs(topic, text)) return;
      this.#again.delete(topic);
      publications.push({ topic, text });
    };
    const device = this.#deviceText() ?? this.#heldAt(this.device);
    const isDeviceTaken = device === this.#heldAt(this.device) || takes(this.device, device);
    for (const [topic, text] of this.#wanted()) {
      if (!this.#differs(topic, text) || (isDeviceTaken && this.#waits(topic, text))) continue;
      const isTaken = takes(topic, text);
      if (!isTaken) leftOut.push(topic);
      publish(topic, isTaken ? text : '');
    }
    // A device that is too large stays as it was, or all of it would vanish.
    if (isDeviceTaken) publish(this.device, device);
    else leftOut.push(this.device);
    return { publications, leftOut: leftOut.sort() };
  }

  /** The broker has stored the text. */
  acknowledged({ topic, text }: Publication): void {
    // The other node's message came meanwhile. Which of both was stored last is known when this one comes
    // back, or does not.
    if (topic === this.device && this.#deviceOwner !== undefined) return;
    if (text === '') this.#held.delete(topic);
    else this.#held.set(topic, text);
    if (topic !== this.device) return;
    // A select that has got a new name for the current option shows it only when the state is published
    // again.
    if (isNotOffered(this.#branch, this.#told.entities)) this.again(this.full('audio/server'));
    this.#told = { text, entities: this.#made?.text === text ? this.#made.entities : entitiesIn(text) };
    this.remakeDevice();
  }

  #differs(topic: string, text: string): boolean {
    return text !== this.#heldAt(topic) || this.#again.has(topic);
  }

  #heldAt(topic: string): string {
    return this.#held.get(topic) ?? '';
  }

  /** All texts but the device's, in the order in which they are published. */
  #wanted(): ReadonlyMap<string, string> {
    const wanted = new Map([
      [this.node, this.identifier],
      [this.status, ONLINE],
    ]);
    for (const [below, text] of this.#branch.texts()) {
      const topic = this.full(below);
      if (Buffer.byteLength(topic) <= TOPIC_BYTES_MAX) wanted.set(topic, text);
    }
    for (const topic of this.#held.keys()) {
      const below = this.below(topic);
      // Commands belong to others and are not removed.
      const isOurs = topic.startsWith(this.full('')) && !wanted.has(topic) && !isCommand(below);
      if (isOurs && this.#branch.isSettled(below)) wanted.set(topic, '');
    }
    return wanted;
  }

  /**
   * A topic is emptied, and a new default named, only after the message that announces it; else Home
   * Assistant would log an error.
   */
  #waits(topic: string, text: string): boolean {
    const { entities } = this.#told;
    if (text === '') return [...entities.values()].some((each) => each['state_topic'] === topic);
    return topic === this.full('audio/server') && isNotOffered(this.#branch, entities);
  }

  /** '' for none; undefined while it is unknown, or another node's. */
  #deviceText(): string | undefined {
    if (this.#deviceOwner !== undefined) return undefined;
    if (!this.#settings.homeAssistant) return '';
    const { look, served } = this.#branch;
    const server = this.#branch.asked.get('server');
    if (server === undefined || served === undefined) return undefined;
    if (this.#made === undefined || this.#madeOf !== look) {
      const record = JSON.parse(server) as ServerRecord;
      const { identifier } = this;
      const found = entitiesOf({ ...this.#settings, identifier, branch: this.#branch });
      const isKnown = (owner: Backend | undefined): boolean =>
        owner === undefined || this.#branch.isComplete(owner);
      const entities = entitiesToTell(found, this.#told.entities, isKnown);
      const url = pageUrl(record.hostname, served, this.#interfaces());
      this.#made = { text: deviceText(identifier, record, url, entities), entities };
      this.#madeOf = look;
    }
    return this.#made.text;
  }
}
