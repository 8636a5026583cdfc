// A client of a broker. It keeps each message that it receives, and can publish. It speaks MQTT 3.1.1, while
// the bridge speaks MQTT 5.

import mqtt from 'mqtt';
import { until } from '../until.js';

export interface ReceivedMessage {
  readonly topic: string;
  readonly text: string;
  readonly retained: boolean;
  /** The monotonic time of the message's arrival, in ms. */
  readonly at: number;
}

export type Spy = Awaited<ReturnType<typeof startSpy>>;

/** Resolves when the client has subscribed to `filter`. The broker sends the retained messages first. */
export async function startSpy(url: string, filter = '#', credentials: object = {}) {
  const client = mqtt.connect(url, { protocolVersion: 4, reconnectPeriod: 100, ...credentials });
  const received: ReceivedMessage[] = [];
  client.on('message', (topic, payload, { retain }) => {
    received.push({ topic, text: payload.toString(), retained: retain, at: performance.now() });
  });
  // After an error the client connects again by itself.
  client.on('error', () => undefined);
  await new Promise<void>((resolve) => client.once('connect', () => resolve()));
  await client.subscribeAsync(filter, { qos: 1 });
  /** The last text of each topic. A topic whose last text is empty is left out. */
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
      received.filter((message) => message.topic === topic).map(({ text }) => text),
    /** Waits until the last text of the topic fits, and resolves with this text. */
    untilText: (topic: string, fits: (text: string) => boolean = () => true): Promise<string> =>
      until(`${topic} holds the expected value`, () => {
        const text = tree().get(topic);
        return text !== undefined && fits(text) ? text : undefined;
      }),
    /** Waits until the last text of the topic is empty. A topic without messages counts as empty. */
    untilEmpty: (topic: string) => until(`${topic} is empty`, () => !tree().has(topic)),
    end: () => {
      const isForced = true;
      return client.endAsync(isForced);
    },
  };
}

/** Connects a new client, and resolves with the retained text of each topic that matches `filter`. */
export async function retained(url: string, filter = '#'): Promise<ReadonlyMap<string, string>> {
  const client = mqtt.connect(url, { protocolVersion: 4, reconnectPeriod: 0 });
  const tree = new Map<string, string>();
  client.on('message', (topic, payload, { retain }) => {
    if (retain) tree.set(topic, payload.toString());
  });
  await client.subscribeAsync(filter, { qos: 0 });
  // A broker that answers in order sends all retained messages before its reply to an UNSUBSCRIBE.
  await client.unsubscribeAsync(filter);
  await client.endAsync();
  return tree;
}
