// Compares the topics that the broker retains for this node with those that it should retain: the branch, and
// Home Assistant's device message. The result is the differences that may be published now. Pure.

import type { InterfaceAddresses } from '../../host/own-addresses.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { Branch, NamedThing } from './branch.js';
import { isCommand } from './commands.js';
import { DeviceTopic } from './device-topic.js';
import { branchOfDevice } from './home-assistant.js';
import { isDefaultOutputUnlisted } from './sound-entities.js';

/** MQTT allows a topic 65 535 bytes (MQTT 5, section 1.5.4). The rest is for the levels around a name. */
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

/** `leftOut`: topics whose text is larger than the broker accepts. */
export interface Differences {
  readonly publications: readonly Publication[];
  readonly leftOut: readonly string[];
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
  readonly #device: DeviceTopic;
  /** The texts that the broker retains, as far as it has confirmed them. */
  #retained = new Map<string, string>();
  /** Topics to be published once more, even if the broker retains the same text. */
  readonly #toRepublish = new Set<string>();
  /** Topics that the broker refuses, with its reason. */
  readonly #refused = new Map<string, string>();

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
    this.#device = new DeviceTopic(settings, identifier, branch, interfaces);
    this.status = this.full('status');
    this.node = this.full('node');
    this.device = this.#device.name;
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

  /** True if the broker retains no topic of the branch, as far as it has confirmed. */
  get isBranchEmpty(): boolean {
    return ![...this.#retained].some(([topic, text]) => text !== '' && this.isBelow(topic));
  }

  /** True if the broker retains this text, as far as it has confirmed. */
  isRetained(topic: string, text: string): boolean {
    return this.#retainedText(topic) === text;
  }

  /** See `DeviceTopic.owner`. */
  get deviceOwner(): string | undefined {
    return this.#device.owner;
  }

  /** Topics that the broker refuses. */
  get refused(): readonly LeftOut[] {
    return [...this.#refused].map(([topic, reason]) => ({ topic, reason }));
  }

  /** Begins a new connection with the topics that the probe has read. Publications in flight are lost. */
  begin(retained: ReadonlyMap<string, string>, deviceOwner?: string): void {
    this.#retained = new Map(retained);
    this.#toRepublish.clear();
    this.#refused.clear();
    this.#device.received(retained.get(this.device) ?? '', deviceOwner);
  }

  /**
   * The last message on the device's topic decides which node owns it, because all nodes that write it
   * receive the same last one. False if the message changes nothing.
   */
  deviceReceived(text: string): boolean {
    const branch = branchOfDevice(text);
    const isOther = branch !== undefined && branch !== this.topic;
    if (!isOther && this.#device.owner === undefined) return false;
    this.#retained.set(this.device, text);
    this.#device.received(text, isOther ? branch : undefined);
    return true;
  }

  /** The other node has gone, so the device belongs to this node. */
  claimDevice(): void {
    this.#device.received(this.#retainedText(this.device), undefined);
  }

  /** Leaves the topic out until `forgetRefusals` or the next connection. */
  refuse(topic: string, reason: string): void {
    this.#refused.set(topic, reason);
  }

  /** Publishes refused topics again, because the broker's access list may have changed. */
  forgetRefusals(): void {
    this.#refused.clear();
  }

  /** See `DeviceTopic.rebuild`. */
  rebuildDevice(): void {
    this.#device.rebuild();
  }

  /** Has the topic published once more, even if the broker retains its text or it is in flight. */
  republish(topic: string): void {
    this.#toRepublish.add(topic);
  }

  /**
   * The texts to be published now. A topic whose text is too large is emptied, because readers would take
   * its old text for the present state. `accepts`: false for a text that is too large for the broker.
   */
  differences(accepts: (topic: string, text: string) => boolean): Differences {
    const publications: Publication[] = [];
    const leftOut: string[] = [];
    const publish = (topic: string, text: string): void => {
      if (this.#refused.has(topic) || !this.#differs(topic, text)) return;
      this.#toRepublish.delete(topic);
      publications.push({ topic, text });
    };
    const device = this.#device.desiredText() ?? this.#retainedText(this.device);
    const isDeviceAccepted = device === this.#retainedText(this.device) || accepts(this.device, device);
    for (const [topic, text] of this.#desired()) {
      if (!this.#differs(topic, text) || (isDeviceAccepted && this.#mustWait(topic, text))) continue;
      const isAccepted = accepts(topic, text);
      if (!isAccepted) leftOut.push(topic);
      publish(topic, isAccepted ? text : '');
    }
    // A device message that is too large is not emptied, because then the whole device would vanish.
    if (isDeviceAccepted) publish(this.device, device);
    else leftOut.push(this.device);
    return { publications, leftOut: leftOut.sort() };
  }

  /** The broker has stored the text. */
  acknowledged({ topic, text }: Publication): void {
    // The other node's message has come meanwhile. If this one was stored later, it comes back from the
    // broker, and then the device is ours.
    if (topic === this.device && this.#device.owner !== undefined) return;
    if (text === '') this.#retained.delete(topic);
    else this.#retained.set(topic, text);
    if (topic !== this.device) return;
    // When the current option of a select is renamed, Home Assistant shows the new name only after the state
    // has been published again.
    if (isDefaultOutputUnlisted(this.#branch, this.#device.entities)) this.republish(this.full('audio/server'));
    this.#device.acknowledged(text);
  }

  #differs(topic: string, text: string): boolean {
    return text !== this.#retainedText(topic) || this.#toRepublish.has(topic);
  }

  #retainedText(topic: string): string {
    return this.#retained.get(topic) ?? '';
  }

  /** The desired texts of all topics except the device's, in the order in which they are published. */
  #desired(): ReadonlyMap<string, string> {
    const desired = new Map([
      [this.node, this.identifier],
      [this.status, ONLINE],
    ]);
    for (const [below, text] of this.#branch.texts()) {
      const topic = this.full(below);
      if (Buffer.byteLength(topic) <= TOPIC_BYTES_MAX) desired.set(topic, text);
    }
    for (const topic of this.#retained.keys()) {
      const below = this.below(topic);
      // Commands belong to others and are not removed.
      const isOurs = topic.startsWith(this.full('')) && !desired.has(topic) && !isCommand(below);
      if (isOurs && this.#branch.isSettled(below)) desired.set(topic, '');
    }
    return desired;
  }

  /**
   * True while the device message has to be published first. Otherwise Home Assistant would log an error: it
   * would read an emptied topic of an entity, or a default output that is not among the select's options.
   */
  #mustWait(topic: string, text: string): boolean {
    const { entities } = this.#device;
    if (text === '') return [...entities.values()].some((each) => each['state_topic'] === topic);
    return topic === this.full('audio/server') && isDefaultOutputUnlisted(this.#branch, entities);
  }
}
