// Computes what a node publishes to MQTT, from the records of a test and without a broker.

import assert from 'node:assert/strict';
import { Branch } from '../../src/actors/mqtt/branch.js';
import { RetainedTopics } from '../../src/actors/mqtt/retained-topics.js';
import type { InterfaceAddresses } from '../../src/host/own-addresses.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import type { MqttSettings } from '../../src/protocol/actor/settings.js';
import { SERVER, WHOLE_NODE } from './simulated-node.js';

export type Message = {
  device: Record<string, unknown>;
  components: Record<string, Record<string, unknown>>;
};

const IDENTIFIER = '0123456789abcdef';

/** The methods `text`, `message` and `sequence` return device messages for Home Assistant. */
export class AnnouncedNode {
  readonly branch = new Branch();
  readonly topics: RetainedTopics;

  constructor(
    { control = true, homeAssistant = true, topic = 'tonearm/living' }: Partial<MqttSettings> = {},
    records = WHOLE_NODE,
    interfaces: InterfaceAddresses = {},
  ) {
    const settings = { topic, control, homeAssistant, homeAssistantPrefix: 'homeassistant' };
    this.topics = new RetainedTopics(settings, IDENTIFIER, this.branch, () => interfaces);
    this.branch.applyChanges({ isWhole: true, changes: records });
    this.branch.polled.set('server', JSON.stringify(SERVER));
    this.branch.polled.set('power', '{"reboot":true,"power_off":false}');
  }

  publishRecords(...changes: readonly Change[]): this {
    this.branch.applyChanges({ isWhole: false, changes });
    return this;
  }

  /** The first message of `sequence`, as JSON. */
  text(retained = ''): string {
    return this.sequence(retained)[0] ?? assert.fail('there is no message');
  }

  /** The same message, parsed. */
  message(retained = ''): Message {
    return JSON.parse(this.text(retained));
  }

  /**
   * All device messages of the node, in order. At first the broker retains the text `retained` at their
   * topic; '' stands for no text. The broker acknowledges each message before the node publishes the next.
   */
  sequence(retained: string): readonly string[] {
    this.topics.beginConnection(new Map([[this.topics.deviceTopic, retained]]));
    const acceptsAll = (): boolean => true;
    const texts: string[] = [];
    for (;;) {
      const { publications } = this.topics.differences(acceptsAll);
      const message = publications.find(({ topic }) => topic === this.topics.deviceTopic);
      if (message === undefined) return texts;
      texts.push(message.text);
      this.topics.acknowledged(message);
    }
  }
}

export const PLAYER = {
  bus_name: 'org.mpris.MediaPlayer2.mpv.instance-1',
  identity: 'mpv',
  playback_status: 'Playing',
  position_updated_at: '',
  tracklist_supported: false,
  capabilities: {},
};
