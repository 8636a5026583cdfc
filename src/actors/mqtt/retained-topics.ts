// Decides what must be published now, by comparing what the broker retains for this node with what it should
// retain: the branch, and Home Assistant's device message. Pure.

import type { InterfaceAddresses } from '../../host/own-addresses.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { Branch, NamedThing } from './branch.js';
import { isCommand } from './commands.js';
import { DeviceTopic } from './device-topic.js';
import { branchOfDevice } from './home-assistant.js';
import { isDefaultOutputUnlisted } from './sound-entities.js';

/**
 * A longer topic is not published. MQTT allows 65 535 bytes (MQTT 5, section 1.5.4), and a command's topic is
 * a little longer than that of the state.
 */
const TOPIC_BYTES_MAX = 65_000;

export const ONLINE = 'online';
export const OFFLINE = 'offline';

export interface Publication {
  readonly topic: string;
  /** '' removes the topic. */
  readonly text: string;
}

/** A topic that is not published. */
export interface LeftOut {
  readonly topic: string;
  /** For people: why the topic is not published. */
  readonly reason: string;
}

export interface Differences {
  readonly publications: readonly Publication[];
  /** Topics whose text is larger than the broker accepts. */
  readonly tooLarge: readonly string[];
  /** Topics that are longer than `TOPIC_BYTES_MAX`. */
  readonly tooLong: readonly string[];
}

type TopicSettings = Pick<MqttSettings, 'topic' | 'control' | 'homeAssistant' | 'homeAssistantPrefix'>;

export class RetainedTopics {
  readonly identifier: string;
  /** The node's topic. All topics of its branch begin with it. */
  readonly topic: string;
  readonly status: string;
  readonly node: string;
  /** Home Assistant's device message, which is not in the branch. */
  readonly device: string;
  readonly #branch: Branch;
  readonly #device: DeviceTopic;
  /** The texts that the broker retains, by topic, as far as it has confirmed them. */
  #retained = new Map<string, string>();
  /** Topics to be published once more, even if the broker retains the same text. */
  readonly #toRepublish = new Set<string>();
  /** The broker's reason, by the topic that it refuses. */
  readonly #refused = new Map<string, string>();

  constructor(
    settings: TopicSettings,
    identifier: string,
    branch: Branch,
    interfaces: () => InterfaceAddresses,
  ) {
    this.identifier = identifier;
    this.topic = settings.topic;
    this.#branch = branch;
    this.#device = new DeviceTopic(settings, identifier, branch, interfaces);
    this.status = this.full('status');
    this.node = this.full('node');
    this.device = this.#device.name;
  }

  /** The whole topic for a topic that is relative to the node's. */
  full(relativeTopic: string): string {
    return `${this.topic}/${relativeTopic}`;
  }

  /** The inverse of `full`. */
  relative(topic: string): string {
    return topic.slice(this.full('').length);
  }

  /** True for a topic of this node's branch. A broker may also send topics that were not subscribed to. */
  isInBranch(topic: string): boolean {
    return topic.startsWith(this.full(''));
  }

  /** See `Branch.referenceTo`. */
  referenceTo(thing: NamedThing, name: string): string {
    return this.#branch.referenceTo(thing, name);
  }

  /** True if the broker retains no topic of the branch, as far as it has confirmed. */
  get isBranchEmpty(): boolean {
    return ![...this.#retained].some(([topic, text]) => text !== '' && this.isInBranch(topic));
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

  /**
   * To be called before each connection, with what the probe has read. A text counts as not published if the
   * broker has not confirmed it on the connection before.
   */
  begin(retained: ReadonlyMap<string, string>, deviceOwner?: string): void {
    this.#retained = new Map(retained);
    this.#toRepublish.clear();
    this.#refused.clear();
    this.#device.received(retained.get(this.device) ?? '', deviceOwner);
  }

  /**
   * To be called with each message on the device's topic. The last one decides which node owns the device,
   * because all nodes that write there receive the same last message. False if the message changes nothing.
   */
  deviceReceived(text: string): boolean {
    const branch = branchOfDevice(text);
    const isOthers = branch !== undefined && branch !== this.topic;
    if (!isOthers && this.#device.owner === undefined) return false;
    this.#retained.set(this.device, text);
    this.#device.received(text, isOthers ? branch : undefined);
    return true;
  }

  /**
   * To be called when the other node that owned the device has gone. The device is this node's from now on.
   */
  claimDevice(): void {
    this.#device.received(this.#retainedText(this.device), undefined);
  }

  /** The broker refuses the topic, so it is left out until `forgetRefusals` or the next connection. */
  addRefusal(topic: string, reason: string): void {
    this.#refused.set(topic, reason);
  }

  /** Refused topics are tried again, because the broker's access list may have changed. */
  forgetRefusals(): void {
    this.#refused.clear();
  }

  /** See `DeviceTopic.rebuild`. */
  rebuildDevice(): void {
    this.#device.rebuild();
  }

  /** Has the topic published once more, even if the broker retains its text already, or will do so soon. */
  republish(topic: string): void {
    this.#toRepublish.add(topic);
  }

  /**
   * The texts to publish now. A topic that is left out is emptied, because readers would believe that its
   * old text is the present state. `accepts`: false for a text that is too large for the broker.
   */
  differences(accepts: (topic: string, text: string) => boolean): Differences {
    const publications: Publication[] = [];
    const tooLarge: string[] = [];
    const tooLong: string[] = [];
    const publish = (topic: string, text: string): void => {
      if (this.#refused.has(topic) || !this.#mustPublish(topic, text)) return;
      this.#toRepublish.delete(topic);
      publications.push({ topic, text });
    };
    const retainedDevice = this.#retainedText(this.device);
    const device = this.#device.desiredText() ?? retainedDevice;
    const isDeviceAccepted = device === retainedDevice || accepts(this.device, device);
    for (const [topic, text] of this.#desiredBranch()) {
      if (!this.#mustPublish(topic, text)) continue;
      // A device message that is too large will not be published, so no topic waits for it.
      if (isDeviceAccepted && this.#mustWaitForDevice(topic, text)) continue;
      const isTooLong = text !== '' && Buffer.byteLength(topic) > TOPIC_BYTES_MAX;
      const isTooLarge = !isTooLong && !accepts(topic, text);
      if (isTooLong) tooLong.push(topic);
      if (isTooLarge) tooLarge.push(topic);
      publish(topic, isTooLong || isTooLarge ? '' : text);
    }
    // A device message that is too large is not emptied, because Home Assistant would remove the whole
    // device.
    if (isDeviceAccepted) publish(this.device, device);
    else tooLarge.push(this.device);
    return { publications, tooLarge: tooLarge.sort(), tooLong: tooLong.sort() };
  }

  /** To be called when the broker has stored the text. */
  acknowledged({ topic, text }: Publication): void {
    // While our device message was under way, another node's message came, so that node owns the device. If
    // the broker stored ours later than the other, it sends ours back, and the device is ours again.
    if (topic === this.device && this.#device.owner !== undefined) return;
    if (text === '') this.#retained.delete(topic);
    else this.#retained.set(topic, text);
    if (topic !== this.device) return;
    // The default output was not among the options of the device message before this one. Home Assistant
    // shows it only when the state comes again after this message.
    if (isDefaultOutputUnlisted(this.#branch, this.#device.entities))
      this.republish(this.full('audio/server'));
    this.#device.acknowledged(text);
  }

  #mustPublish(topic: string, text: string): boolean {
    return text !== this.#retainedText(topic) || this.#toRepublish.has(topic);
  }

  #retainedText(topic: string): string {
    return this.#retained.get(topic) ?? '';
  }

  /** The texts that the broker should retain in the branch, by topic, in the order of publication. */
  #desiredBranch(): ReadonlyMap<string, string> {
    const desired = new Map([
      [this.node, this.identifier],
      [this.status, ONLINE],
    ]);
    for (const [relativeTopic, text] of this.#branch.texts()) desired.set(this.full(relativeTopic), text);
    for (const topic of this.#retained.keys()) {
      if (desired.has(topic) || !this.isInBranch(topic)) continue;
      const relativeTopic = this.relative(topic);
      // A retained command is somebody else's, and is not removed.
      const isOurs = !isCommand(relativeTopic);
      if (isOurs && this.#branch.isEmptyIfMissing(relativeTopic)) desired.set(topic, '');
    }
    return desired;
  }

  /**
   * True if the topic's text would be an error for Home Assistant before the next device message: an entity
   * would read an emptied topic, or a default output that is not among the options of its select.
   */
  #mustWaitForDevice(topic: string, text: string): boolean {
    const { entities } = this.#device;
    if (text === '') return [...entities.values()].some((entity) => entity['state_topic'] === topic);
    return topic === this.full('audio/server') && isDefaultOutputUnlisted(this.#branch, entities);
  }
}
