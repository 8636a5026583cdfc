// A client of a broker that sees everything: what is retained, what comes when, and that can publish. Of MQTT 3.1.1, where the bridge
// speaks 5.

import mqtt, { type MqttClient } from 'mqtt';
import { until } from '../until.js';

export interface Seen {
  readonly topic: string;
  readonly text: string;
  readonly retained: boolean;
  /** Monotonic, in ms. */
  readonly at: number;
}

export class Spy {
  readonly seen: Seen[] = [];
  readonly #client: MqttClient;

  private constructor(client: MqttClient) {
    this.#client = client;
    client.on('message', (topic, payload, { retain }) => {
      this.seen.push({ topic, text: payload.toString(), retained: retain, at: performance.now() });
    });
  }

  /** Subscribed to `filter`; what the broker retains there is seen first. */
  static async on(url: string, filter = '#', credentials: object = {}): Promise<Spy> {
    const client = mqtt.connect(url, { protocolVersion: 4, reconnectPeriod: 100, ...credentials });
    const spy = new Spy(client);
    client.on('error', () => undefined);
    await new Promise<void>((resolve) => client.once('connect', () => resolve()));
    await client.subscribeAsync(filter, { qos: 1 });
    return spy;
  }

  async publish(topic: string, payload: string | object, { retain = false } = {}): Promise<void> {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    await this.#client.publishAsync(topic, text, { qos: 1, retain });
  }

  /** Texts of the topic, in the order in which they came. */
  texts(topic: string): readonly string[] {
    return this.seen.filter((each) => each.topic === topic).map(({ text }) => text);
  }

  /** The last that was seen of each topic that holds something. */
  get tree(): ReadonlyMap<string, string> {
    const tree = new Map<string, string>();
    for (const { topic, text } of this.seen) {
      if (text === '') tree.delete(topic);
      else tree.set(topic, text);
    }
    return tree;
  }

  /** Waits until the topic holds a text that fits. */
  async holds(topic: string, fits: (text: string) => boolean = () => true): Promise<string> {
    return until(`${topic} holds the expected value`, () => {
      const text = this.tree.get(topic);
      return text !== undefined && fits(text) ? text : undefined;
    });
  }

  /** Waits until the topic holds nothing. */
  async empty(topic: string): Promise<void> {
    await until(`${topic} is empty`, () => !this.tree.has(topic));
  }

  async end(): Promise<void> {
    await this.#client.endAsync(true);
  }
}

/** Messages that a broker retains below `filter`, read by a client that connects now. */
export async function retained(url: string, filter = '#'): Promise<ReadonlyMap<string, string>> {
  const client = mqtt.connect(url, { protocolVersion: 4, reconnectPeriod: 0 });
  const tree = new Map<string, string>();
  client.on('message', (topic, payload, { retain }) => {
    if (retain) tree.set(topic, payload.toString());
  });
  await client.subscribeAsync(filter, { qos: 0 });
  await client.unsubscribeAsync(filter);
  await client.endAsync();
  return tree;
}
