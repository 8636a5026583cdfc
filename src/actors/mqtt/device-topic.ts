// The topic of Home Assistant's device message: its owner, the message that the broker retains there, and the
// desired one. It publishes nothing. Pure.

import type { InterfaceAddresses } from '../../host/own-addresses.js';
import type { Backend } from '../../protocol/actor/backends.js';
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
  /** The branch's fingerprint when it was built; undefined if it is to be built anew in any case. */
  #builtFrom: string | undefined;

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
   * The branch of another node that publishes the device of this identifier, because both machines have the
   * same id. Undefined if the device is this node's.
   */
  get owner(): string | undefined {
    return this.#owner;
  }

  /** The entities of the message that the broker retains; empty while that is another node's message. */
  get entities(): Entities {
    return this.#retained.entities;
  }

  /** The broker retains this message of this owner. */
  received(text: string, owner: string | undefined): void {
    this.#owner = owner;
    // Another node's message is not parsed, because no topic waits for it. Our own is not parsed again,
    // because it may be larger than the bound for a broker's text.
    if (owner !== undefined) this.#retained = { text, entities: new Map() };
    else if (text !== this.#retained.text || this.#retained.entities.size === 0)
      this.#retained = { text, entities: entitiesIn(text) };
    this.rebuild();
  }

  /** The broker has stored this message of ours. */
  acknowledged(text: string): void {
    this.#retained = { text, entities: this.#built?.text === text ? this.#built.entities : entitiesIn(text) };
    this.rebuild();
  }

  /** The address of the page may have changed: no event reports a change of interfaces. */
  rebuild(): void {
    this.#builtFrom = undefined;
  }

  /**
   * The message to publish: '' removes the present one, and undefined changes nothing, while the text is
   * unknown or another node owns the device.
   */
  desiredText(): string | undefined {
    if (this.#owner !== undefined) return undefined;
    if (!this.#settings.homeAssistant) return '';
    const { entityFingerprint, served } = this.#branch;
    const server = this.#branch.polled.get('server');
    if (server === undefined || served === undefined) return undefined;
    if (this.#built === undefined || this.#builtFrom !== entityFingerprint) {
      const record = JSON.parse(server) as ServerRecord;
      const identifier = this.#identifier;
      const interfaces = this.#interfaces();
      const url = nodeUrl(record.hostname, served, interfaces);
      const found = entitiesOf({ ...this.#settings, identifier, branch: this.#branch, url });
      const isKnown = (owner: Backend | undefined): boolean =>
        owner === undefined || this.#branch.isComplete(owner);
      const entities = entitiesToPublish(found, this.#retained.entities, isKnown);
      const text = deviceText(identifier, record, url, macOf(interfaces), entities);
      this.#built = { text, entities };
      this.#builtFrom = entityFingerprint;
    }
    return this.#built.text;
  }
}
