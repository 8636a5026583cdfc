// A node that publishes only Home Assistant's device message, made of the records of a test.

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

export class AnnouncedNode {
  readonly branch = new Branch();
  readonly topics: RetainedTopics;

  constructor(
    { control = true, homeAssistant = true, topic = 'tonearm/living' }: Partial<MqttSettings> = {},
    records = WHOLE_NODE,
    interfaces: InterfaceAddresses = {},
  ) {
    const settings = { topic, control, homeAssistant, homeAssistantPrefix: 'homeassistant' };
    this.topics = new RetainedTopics(settings, '0123456789abcdef', this.branch, () => interfaces);
    this.branch.applyChanges({ isWhole: true, changes: records });
    this.branch.polled.set('server', JSON.stringify(SERVER));
    this.branch.polled.set('power', '{"reboot":true,"power_off":false}');
  }

  publishRecords(...changes: readonly Change[]): this {
    this.branch.applyChanges({ isWhole: false, changes });
    return this;
  }

  /**
   * The first message that the node publishes while the broker retains `retained`. The text '' is no
   * message.
   */
  text(retained = ''): string {
    return this.sequence(retained)[0] ?? assert.fail('there is no message');
  }

  message(retained = ''): Message {
    return JSON.parse(this.text(retained));
  }

  /**
   * All messages that the node publishes one after the other, each once the broker has acknowledged the one
   * before.
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
