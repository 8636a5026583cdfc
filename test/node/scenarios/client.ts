// How a scenario talks to the daemon on the node: over its real port, through the node's door.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { type DispatchedEvent, EventStreamParser } from '../../consumer/parser.js';
import { type HttpAnswer, send } from '../../tools/http.js';
import { until } from '../../until.js';
import type { Node } from '../node.js';

const ANSWER_DEADLINE_MS = 20_000;

/** One request and its whole answer. */
export async function ask(node: Node, method: string, path: string): Promise<HttpAnswer> {
  return send(await node.door(), { method, path });
}

/** The parsed body of a GET that must be 200. */
export async function read<T = unknown>(node: Node, path: string): Promise<T> {
  const { status, text } = await ask(node, 'GET', path);
  assert.equal(status, 200, text);
  return JSON.parse(text) as T;
}

/** The part of the answer that scenarios read. */
export interface Health {
  readonly backends: Readonly<Record<string, { readonly state: string; readonly detail?: string }>>;
}

/** A client that stays on the stream. */
export interface Watcher {
  readonly events: readonly DispatchedEvent[];
  readonly lastEventId: () => string;
  /** Resolves when such an event has come. */
  until(type: string, data: RegExp): Promise<void>;
  close(): void;
}

/** Resolves when it is greeted. */
export async function watch(node: Node, query = '', lastEventId = ''): Promise<Watcher> {
  const headers = lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId };
  const socketPath = await node.door();
  const outgoing = get({ socketPath, path: `/events${query}`, agent: false, headers });
  const answered = once(outgoing, 'response', { signal: AbortSignal.timeout(ANSWER_DEADLINE_MS) });
  const [incoming] = (await answered) as [IncomingMessage];
  assert.equal(incoming.statusCode, 200);
  const events: DispatchedEvent[] = [];
  const parser = new EventStreamParser((event) => events.push(event), lastEventId);
  incoming.on('data', (bytes: Buffer) => parser.feed(bytes));
  // The daemon, or the node, goes away under it: what came before that is what counts.
  incoming.on('error', () => incoming.destroy());
  await until('the greeting', () => events[0]);
  return {
    events,
    lastEventId: () => parser.lastEventId,
    until: async (type, data) => {
      await until(`${type} ${data}`, () =>
        events.some((event) => event.type === type && data.test(event.data)),
      );
    },
    close: () => incoming.destroy(),
  };
}
