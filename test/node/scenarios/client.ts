// How a scenario talks to the daemon on the node: over its real port, through the node's door.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { type DispatchedEvent, EventStreamParser } from '../../consumer/parser.js';
import { until } from '../../until.js';
import type { Node } from '../node.js';

const ANSWER_DEADLINE_MS = 20_000;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

async function send(
  node: Node,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const socketPath = await node.door();
  const outgoing = request({ socketPath, method, path, agent: false, headers });
  outgoing.end();
  const [incoming] = await once(outgoing, 'response', { signal: AbortSignal.timeout(ANSWER_DEADLINE_MS) });
  return incoming as IncomingMessage;
}

/** One request and its whole answer. */
export async function ask(node: Node, method: string, path: string): Promise<Reply> {
  const incoming = await send(node, method, path);
  let text = '';
  for await (const part of incoming.setEncoding('utf8')) text += String(part);
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, text };
}

/** The parsed body of a GET that must be 200. */
export async function read<T = unknown>(node: Node, path: string): Promise<T> {
  const { status, text } = await ask(node, 'GET', path);
  assert.equal(status, 200, text);
  return JSON.parse(text) as T;
}

/** As far as scenarios look at it. */
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
  const headers: Record<string, string> = lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId };
  const incoming = await send(node, 'GET', `/events${query}`, headers);
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
