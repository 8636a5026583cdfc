// Decides which device message the broker should retain. The device message describes the node to Home
// Assistant, as one device with its entities. This file publishes no message. Pure.

import type { InterfaceAddresses } from '../../host/own-addresses.js';
import type { Backend } from '../../protocol/actor/backends.js';
import type { ServedRecord } from '../../protocol/actor/messages.js';
import type { ServerRecord } from '../../protocol/actor/schemas.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { Branch } from './branch.js';
import { type Entities, entitiesOf } from './entities.js';
import { configurationUrl, deviceText, entitiesIn, entitiesToPublish, macOf } from './home-assistant.js';
import { type DeviceMessage, topicsToReadAgain } from './outdated-readings.js';

type DeviceSettings = Pick<MqttSettings, 'topic' | 'control' | 'homeAssistant' | 'homeAssistantPrefix'>;

/** The topic at which the node with this identifier publishes its device message. */
export function deviceTopicOf(homeAssistantPrefix: string, identifier: string): string {
  return `${homeAssistantPrefix}/device/tonearm_${identifier}/config`;
}

export class DeviceTopic {
  readonly topic: string;
  readonly #settings: DeviceSettings;
  readonly #identifier: string;
  readonly #branch: Branch;
  readonly #interfaces: () => InterfaceAddresses;
  #otherOwner: string | undefined;
  /** The message that the broker retains. */
  #retained: DeviceMessage = { text: '', entities: new Map() };
  /** The message that was built last. */
  #built: DeviceMessage | undefined;
  /**
   * The branch's fingerprint when the message was built. Undefined if the message must be built again, even
   * if the fingerprint is still the same.
   */
  #builtFromFingerprint: string | undefined;

  constructor(
    settings: DeviceSettings,
    identifier: string,
    branch: Branch,
    interfaces: () => InterfaceAddresses,
  ) {
    this.#settings = settings;
    this.#identifier = identifier;
    this.#branch = branch;
    this.#interfaces = interfaces;
    this.topic = deviceTopicOf(settings.homeAssistantPrefix, identifier);
  }

  /**
   * The branch of the other owner while another node owns the device; undefined while this node owns it. Two
   * nodes share a device only if the id of their machines is the same, because the identifier is a hash of
   * this id.
   */
  get otherOwner(): string | undefined {
    return this.#otherOwner;
  }

  /** The entities of the message that the broker retains; empty while another node owns the device. */
  get entities(): Entities {
    return this.#retained.entities;
  }

  /** To be called when the retained message or the owner of the device may have changed. */
  received(text: string, otherOwner: string | undefined): void {
    const areEntitiesKnown = text === this.#retained.text && this.#retained.entities.size > 0;
    this.#otherOwner = otherOwner;
    // `RetainedTopics` publishes some topics of the entities in `#retained` only after this node's next
    // device message. While another node owns the device, there is no such message, and these topics would
    // never be published. So `#retained` gets no entities.
    if (otherOwner !== undefined) this.#retained = { text, entities: new Map() };
    // A known text keeps its entities. `entitiesIn` finds none in a text that is too long, and our own text
    // may be too long.
    else if (!areEntitiesKnown) this.#retained = { text, entities: entitiesIn(text) };
    this.rebuildLater();
  }

  /**
   * To be called when the broker has stored this message of ours. Returns the topics that Home Assistant must
   * receive once more.
   */
  acknowledged(text: string): ReadonlySet<string> {
    const before = this.#retained;
    const built = this.#built;
    this.#retained = built?.text === text ? built : { text, entities: entitiesIn(text) };
    this.rebuildLater();
    return topicsToReadAgain(before, this.#retained);
  }

  /**
   * The next message also depends on the retained message and on the addresses of the node's interfaces. The
   * branch's fingerprint contains neither. So this function is to be called when the retained message has
   * changed, and also regularly, because no event reports a change of the addresses.
   */
  rebuildLater(): void {
    this.#builtFromFingerprint = undefined;
  }

  /**
   * Returns '' if the broker should retain no message. Returns undefined if the retained message must stay
   * unchanged, because another node owns the device or the branch does not know enough for a message.
   */
  desiredText(): string | undefined {
    if (this.#otherOwner !== undefined) return undefined;
    if (!this.#settings.homeAssistant) return '';
    const { entityFingerprint, served, polled } = this.#branch;
    const serverText = polled.get('server');
    if (serverText === undefined || served === undefined) return undefined;
    if (this.#built === undefined || this.#builtFromFingerprint !== entityFingerprint) {
      this.#built = this.#build(JSON.parse(serverText) as ServerRecord, served);
      this.#builtFromFingerprint = entityFingerprint;
    }
    return this.#built.text;
  }

  #build(server: ServerRecord, served: ServedRecord): DeviceMessage {
    const identifier = this.#identifier;
    const branch = this.#branch;
    const interfaces = this.#interfaces();
    const url = configurationUrl(server.hostname, served, interfaces);
    // The daemon's own entities have no backend. They are always complete.
    const isComplete = (backend: Backend | undefined): boolean =>
      backend === undefined || branch.isComplete(backend);
    const presentEntities = entitiesOf({ ...this.#settings, identifier, branch, url });
    const entities = entitiesToPublish(presentEntities, this.#retained.entities, isComplete);
    return { text: deviceText(identifier, server, url, macOf(interfaces), entities), entities };
  }
}
