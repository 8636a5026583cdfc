// A client of a broker that sees everything: what is retained, what comes when, and that can publish. Of MQTT
// 3.1.1, where the bridge speaks 5.

import mqtt from 'mqtt';
import { until } from '../until.js';

export interface ReceivedMessage {
  readonly topic: string;
  readonly text: string;
  readonly retained: boolean;
  /** Monotonic, in ms. */
  readonly at: number;
}

export type Spy = Awaited<ReturnType<typeof startSpy>>;

/** Subscribed to `filter`; what the broker retains there is seen first. */
export async function startSpy(url: string, filter = '#', credentials: object = {}) {
  const client = mqtt.connect(url, { protocolVersion: 4, reconnectPeriod: 100, ...credentials });
  const received: ReceivedMessage[] = [];
  client.on('message', (topic, payload, { retain }) => {
    received.push({ topic, text: payload.toString(), retained: retain, at: performance.now() });
  });
  client.on('error', () => undefined);
  await new Promise<void>((resolve) => client.once('connect', () => resolve()));
  await client.subscribeAsync(filter, { qos: 1 });
  /** The last that was seen of each topic that holds something. */
  const tree = (): ReadonlyMap<string, string> => {
    const last = new Map(received.map(({ topic, text }) => [topic, text]));
    return new Map([...last].filter(([, text]) => text !== ''));
  };
  return {
    received,
    tree,
    publish: async (topic: string, payload: string | object, { retain = false } = {}): Promise<void> => {
      const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
      await client.publishAsync(topic, text, { qos: 1, retain });
    },
    /** Texts of the topic, in the order in which they came. */
    texts: (topic: string): readonly string[] =>
      received.filter((each) => each.topic === topic).map(({ text }) => text),
    /** Waits until the topic holds a text that fits. */
    holds: (topic: string, fits: (text: string) => boolean = () => true): Promise<string> =>
      until(`${topic} holds the expected value`, () => {
        const text = tree().get(topic);
        return text !== undefined && fits(text) ? text : undefined;
      }),
    /** Waits until the topic holds nothing. */
    empty: (topic: string) => until(`${topic} is empty`, () => !tree().has(topic)),
    end: () => client.endAsync(true),
  };
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
