// Decides what must be published now. This file compares what the broker retains for this node with what the
// broker should retain: the branch, and the device message for Home Assistant. Pure.

import type { InterfaceAddresses } from '../../host/own-addresses.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { Branch, ReferredKind } from './branch.js';
import { isCommand } from './commands.js';
import { DeviceTopic, deviceTopicOf } from './device-topic.js';
import { branchOfDevice } from './home-assistant.js';
import { isDefaultOutputUnlisted } from './sound-entities.js';
import { isIdentifier } from './topics.js';

/**
 * A longer topic is not published. MQTT allows 65 535 bytes (MQTT 5, section 1.5.4), and the topic of a
 * command is a little longer than the topic of its state.
 */
const TOPIC_MAX_BYTES = 65_000;

export const ONLINE = 'online';
export const OFFLINE = 'offline';

export interface Publication {
  readonly topic: string;
  /** '' empties the topic: the broker then retains nothing there. */
  readonly text: string;
}

export interface LeftOut {
  readonly topic: string;
  /** For people: why the topic is not published. */
  readonly reason: string;
}

export interface Differences {
  readonly publications: readonly Publication[];
  /** Topics whose text is larger than the broker accepts. */
  readonly tooLarge: readonly string[];
  /** Topics that are longer than `TOPIC_MAX_BYTES`. */
  readonly tooLong: readonly string[];
}

type TopicSettings = Pick<MqttSettings, 'topic' | 'control' | 'homeAssistant' | 'homeAssistantPrefix'>;

export class RetainedTopics {
  readonly identifier: string;
  /** The node's topic. All topics of its branch begin with it. */
  readonly topic: string;
  readonly statusTopic: string;
  readonly nodeTopic: string;
  /** The topic of this node's device message for Home Assistant. It is not in the branch. */
  readonly deviceTopic: string;
  readonly #homeAssistantPrefix: string;
  readonly #branch: Branch;
  readonly #device: DeviceTopic;
  /** The texts that the broker retains, by topic. The broker has sent or acknowledged each of them. */
  #retained = new Map<string, string>();
  /** True if somebody has emptied the device's topic since the last call of `differences`. */
  #isDeviceEmptied = false;
  /** Topics to be published once more, even if the broker retains the same text. */
  readonly #toRepublish = new Set<string>();
  /**
   * Another node may have had this branch before. If its device message for the branch is still retained,
   * this is the topic of that message. With that message Home Assistant would have each entity twice.
   */
  #formerDeviceTopic: string | undefined;
  /** The broker's reasons, by the topics that it refuses. */
  readonly #refused = new Map<string, string>();

  constructor(
    settings: TopicSettings,
    identifier: string,
    branch: Branch,
    interfaces: () => InterfaceAddresses,
  ) {
    this.identifier = identifier;
    this.topic = settings.topic;
    this.#homeAssistantPrefix = settings.homeAssistantPrefix;
    this.#branch = branch;
    this.#device = new DeviceTopic(settings, identifier, branch, interfaces);
    this.statusTopic = this.wholeTopic('status');
    this.nodeTopic = this.wholeTopic('node');
    this.deviceTopic = this.#device.topic;
  }

  /** Returns the whole topic. `relativeTopic` is what follows the node's topic. */
  wholeTopic(relativeTopic: string): string {
    return `${this.topic}/${relativeTopic}`;
  }

  /** The inverse of `wholeTopic`. */
  relativeTopic(topic: string): string {
    return topic.slice(this.wholeTopic('').length);
  }

  /** True for a topic of this node's branch. A broker may also send topics that were not subscribed to. */
  isInBranch(topic: string): boolean {
    return topic.startsWith(this.wholeTopic(''));
  }

  /** See `Branch.referenceTo`. */
  referenceTo(kind: ReferredKind, name: string): string {
    return this.#branch.referenceTo(kind, name);
  }

  /**
   * Another node may have had this branch before. Returns the topic of that node's device message; undefined
   * if no such node is known. `owner` is the text that the broker retains at the topic `node`. After this
   * node has claimed the branch, `owner` is this node's own identifier. The other node's message may still be
   * retained then, so this function returns `#formerDeviceTopic`.
   */
  otherDeviceTopic(owner: string): string | undefined {
    const isOther = owner !== this.identifier && isIdentifier(owner);
    return isOther ? deviceTopicOf(this.#homeAssistantPrefix, owner) : this.#formerDeviceTopic;
  }

  /** True if the broker retains no topic of the branch, as far as is known. */
  get isBranchEmpty(): boolean {
    return ![...this.#retained].some(([topic, text]) => text !== '' && this.isInBranch(topic));
  }

  /** True if the broker is known to retain this text. */
  isRetained(topic: string, text: string): boolean {
    return this.#retainedText(topic) === text;
  }

  /** See `DeviceTopic.otherOwner`. */
  get otherDeviceOwner(): string | undefined {
    return this.#device.otherOwner;
  }

  get refused(): readonly LeftOut[] {
    return [...this.#refused].map(([topic, reason]) => ({ topic, reason }));
  }

  /** To be called after each successful probe, with its result (`RetainedState` of probe.ts). */
  beginConnection(
    retained: ReadonlyMap<string, string>,
    otherDeviceOwner?: string,
    isLeftover = false,
  ): void {
    this.#retained = new Map(retained);
    this.#toRepublish.clear();
    // While the probe waited for an answer, another node may have published its own question, which our
    // status must answer. The leftover claim has the same status, so without `republish` ours would not be
    // published.
    if (isLeftover) this.republish(this.statusTopic);
    this.#refused.clear();
    const otherDeviceTopic = this.otherDeviceTopic(this.#retainedText(this.nodeTopic));
    const otherDeviceText = otherDeviceTopic === undefined ? '' : this.#retainedText(otherDeviceTopic);
    // The other node may have another branch now. Then its device message names that branch, and stays.
    const namesThisBranch = branchOfDevice(otherDeviceText) === this.topic;
    this.#formerDeviceTopic = namesThisBranch ? otherDeviceTopic : undefined;
    this.#device.received(retained.get(this.deviceTopic) ?? '', otherDeviceOwner);
  }

  /**
   * To be called with each new message of the device's topic. All nodes that write there receive the same
   * last message, so the last message decides which node owns the device. Returns true if the caller must
   * react: another node owns the device now, or owned it before this message, or the topic is empty now.
   */
  receiveDevice(text: string): boolean {
    const isEmptied = text === '';
    // When somebody deletes the device in Home Assistant, Home Assistant empties the topic. The owner stays
    // the same, and publishes the device again.
    const ownersBranch = isEmptied ? this.#device.otherOwner : branchOfDevice(text);
    const otherOwner = ownersBranch === this.topic ? undefined : ownersBranch;
    const isOwnedHereAsBefore = otherOwner === undefined && this.#device.otherOwner === undefined;
    if (isOwnedHereAsBefore && !isEmptied) return false;
    this.#isDeviceEmptied = isEmptied;
    this.#retained.set(this.deviceTopic, text);
    this.#device.received(text, otherOwner);
    return true;
  }

  /** To be called when the other owner of the device has gone. This node owns the device from now on. */
  claimDevice(): void {
    this.#device.received(this.#retainedText(this.deviceTopic), undefined);
  }

  /** A refused topic is left out until `forgetRefusals` or the next connection. */
  addRefusal(topic: string, reason: string): void {
    this.#refused.set(topic, reason);
  }

  /** To be called when the broker's access list may have changed. Refused topics are tried again. */
  forgetRefusals(): void {
    this.#refused.clear();
  }

  /** See `DeviceTopic.rebuildLater`. */
  rebuildDeviceLater(): void {
    this.#device.rebuildLater();
  }

  /** The next `differences` have the topic, even if the broker retains its text already. */
  republish(topic: string): void {
    this.#toRepublish.add(topic);
  }

  /**
   * `accepts` returns true if the broker accepts a message of this size. A topic that is too long, or whose
   * text is too large, is emptied, because readers would take its old text for the present state.
   */
  differences(accepts: (topic: string, text: string) => boolean): Differences {
    this.#isDeviceEmptied = false;
    const publications: Publication[] = [];
    const tooLarge: string[] = [];
    const tooLong: string[] = [];
    const addIfDifferent = (topic: string, text: string): void => {
      if (this.#refused.has(topic) || !this.#mustPublish(topic, text)) return;
      this.#toRepublish.delete(topic);
      publications.push({ topic, text });
    };
    const retainedDevice = this.#retainedText(this.deviceTopic);
    const desiredDevice = this.#device.desiredText() ?? retainedDevice;
    const isDeviceAccepted = desiredDevice === retainedDevice || accepts(this.deviceTopic, desiredDevice);
    // A device message that is too large, or that the broker refuses, is not published, so no topic waits for
    // it.
    const mayWaitForDevice = isDeviceAccepted && !this.#refused.has(this.deviceTopic);
    for (const [topic, text] of this.#desiredBranch()) {
      if (!this.#mustPublish(topic, text)) continue;
      if (mayWaitForDevice && this.#mustWaitForDevice(topic, text)) continue;
      const isTooLong = text !== '' && Buffer.byteLength(topic) > TOPIC_MAX_BYTES;
      const isTooLarge = !isTooLong && !accepts(topic, text);
      if (isTooLong) tooLong.push(topic);
      if (isTooLarge) tooLarge.push(topic);
      // A topic that must be emptied may be empty already. So `addIfDifferent` compares the text once more.
      addIfDifferent(topic, isTooLong || isTooLarge ? '' : text);
    }
    // If the device message is too large, its topic is not emptied: Home Assistant would remove the whole
    // device.
    if (isDeviceAccepted) addIfDifferent(this.deviceTopic, desiredDevice);
    else tooLarge.push(this.deviceTopic);
    return { publications, tooLarge: tooLarge.sort(), tooLong: tooLong.sort() };
  }

  /** To be called when the broker has stored the text. */
  acknowledged({ topic, text }: Publication): void {
    // Another node's device message may have come while ours was under way. Then the other node owns the
    // device. If the broker has stored ours after that message, it sends ours back, and `receiveDevice` makes
    // this node the owner again.
    const isDevice = topic === this.deviceTopic;
    if (isDevice && this.#device.otherOwner !== undefined) return;
    // If the topic was emptied while our message was under way, nobody knows what the broker has stored
    // last. So the next `differences` have the message again.
    if (isDevice && this.#isDeviceEmptied) return;
    if (text === '') this.#retained.delete(topic);
    else this.#retained.set(topic, text);
    if (!isDevice) return;
    // Home Assistant must read some topics once more, because the device message has changed.
    for (const topicToRead of this.#device.acknowledged(text)) this.republish(topicToRead);
  }

  #mustPublish(topic: string, text: string): boolean {
    return text !== this.#retainedText(topic) || this.#toRepublish.has(topic);
  }

  #retainedText(topic: string): string {
    return this.#retained.get(topic) ?? '';
  }

  /**
   * The texts that the broker should retain, by topic, in the order of publication: the texts of the branch,
   * and '' at each topic that must be emptied. If there is a `#formerDeviceTopic`, it is such a topic.
   */
  #desiredBranch(): ReadonlyMap<string, string> {
    const desired = new Map([
      [this.nodeTopic, this.identifier],
      [this.statusTopic, ONLINE],
    ]);
    // The former owner may be alive after all. It stops when it gets our claim, which is the text of `node`.
    // The claim comes before the removal of that owner's device message, because otherwise the owner would
    // publish the message again. Our own device message comes after the removal, because both devices have
    // the same names.
    if (this.#formerDeviceTopic !== undefined) desired.set(this.#formerDeviceTopic, '');
    for (const [relativeTopic, text] of this.#branch.texts())
      desired.set(this.wholeTopic(relativeTopic), text);
    for (const topic of this.#retained.keys()) {
      if (desired.has(topic) || !this.isInBranch(topic)) continue;
      const relativeTopic = this.relativeTopic(topic);
      // Somebody else has published a retained command. This node leaves it there.
      if (isCommand(relativeTopic)) continue;
      if (this.#branch.mustBeEmptiedIfMissing(relativeTopic)) desired.set(topic, '');
    }
    return desired;
  }

  /**
   * True if Home Assistant cannot use the text before the next device message. There are two cases:
   * - The text is '', and an entity still reads its state from the topic.
   * - The text has a default output that Home Assistant's list of outputs does not have yet.
   */
  #mustWaitForDevice(topic: string, text: string): boolean {
    const { entities } = this.#device;
    if (text === '') return [...entities.values()].some((entity) => entity['state_topic'] === topic);
    return topic === this.wholeTopic('audio/server') && isDefaultOutputUnlisted(this.#branch, entities);
  }
}
