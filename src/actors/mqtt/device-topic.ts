// Decides which device message the broker should retain for Home Assistant. The message depends on the
// entities, on the message that the broker retains now, and on the node that owns the device. This file
// publishes nothing. Pure.

import type { InterfaceAddresses } from '../../host/own-addresses.js';
import type { Backend } from '../../protocol/actor/backends.js';
import type { ServedRecord } from '../../protocol/actor/messages.js';
import type { ServerRecord } from '../../protocol/actor/schemas.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { Branch } from './branch.js';
import { type Entities, entitiesOf } from './entities.js';
import { deviceText, entitiesIn, entitiesToPublish, macOf, nodeUrl } from './home-assistant.js';

interface DeviceMessage {
  readonly text: string;
  readonly entities: Entities;
}

type DeviceSettings = Pick<MqttSettings, 'topic' | 'control' | 'homeAssistant' | 'homeAssistantPrefix'>;

export class DeviceTopic {
  /** The whole topic. */
  readonly name: string;
  readonly #settings: DeviceSettings;
  readonly #identifier: string;
  readonly #branch: Branch;
  readonly #interfaces: () => InterfaceAddresses;
  #owner: string | undefined;
  /** The message that the broker retains. */
  #retained: DeviceMessage = { text: '', entities: new Map() };
  /** The message that was built last. */
  #built: DeviceMessage | undefined;
  /**
   * The branch's fingerprint when the message was built; undefined if the message must be built again
   * anyway.
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
    this.name = `${settings.homeAssistantPrefix}/device/tonearm_${identifier}/config`;
  }

  /**
   * Undefined if the device is this node's. Otherwise the branch of another node, which has the same
   * identifier because its machine has the same id, and whose message the broker retains.
   */
  get owner(): string | undefined {
    return this.#owner;
  }

  /** The entities of the message that the broker retains; empty while that is another node's message. */
  get entities(): Entities {
    return this.#retained.entities;
  }

  /** To be called when the broker turns out to retain this message. `owner`: as in the property. */
  received(text: string, owner: string | undefined): void {
    const isOtherText = text !== this.#retained.text || this.#retained.entities.size === 0;
    this.#owner = owner;
    // Another node's message is not parsed, because no topic waits for its entities. A text that is known is
    // not parsed again, because our own text may be longer than `boundedJson` allows.
    if (owner !== undefined) this.#retained = { text, entities: new Map() };
    else if (isOtherText) this.#retained = { text, entities: entitiesIn(text) };
    this.rebuild();
  }

  /** To be called when the broker has stored this message of ours. */
  acknowledged(text: string): void {
    this.#retained = { text, entities: this.#built?.text === text ? this.#built.entities : entitiesIn(text) };
    this.rebuild();
  }

  /**
   * Has the message built anew when it is needed next. The node's addresses are in it, and no event reports a
   * change of them.
   */
  rebuild(): void {
    this.#builtFromFingerprint = undefined;
  }

  /**
   * The message that the broker should retain; '' for none. Undefined if the present one must stay: while
   * another node owns the device, or while the node does not know enough for a message.
   */
  desiredText(): string | undefined {
    if (this.#owner !== undefined) return undefined;
    if (!this.#settings.homeAssistant) return '';
    const { entityFingerprint, served, polled } = this.#branch;
    const server = polled.get('server');
    if (server === undefined || served === undefined) return undefined;
    if (this.#built === undefined || this.#builtFromFingerprint !== entityFingerprint) {
      this.#built = this.#build(JSON.parse(server) as ServerRecord, served);
      this.#builtFromFingerprint = entityFingerprint;
    }
    return this.#built.text;
  }

  #build(server: ServerRecord, served: ServedRecord): DeviceMessage {
    const identifier = this.#identifier;
    const branch = this.#branch;
    const interfaces = this.#interfaces();
    const url = nodeUrl(server.hostname, served, interfaces);
    const isComplete = (owner: Backend | undefined): boolean =>
      owner === undefined || branch.isComplete(owner);
    const present = entitiesOf({ ...this.#settings, identifier, branch, url });
    const entities = entitiesToPublish(present, this.#retained.entities, isComplete);
    return { text: deviceText(identifier, server, url, macOf(interfaces), entities), entities };
  }
}
