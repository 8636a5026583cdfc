// What all scenarios that hold the daemon on the node have in common: commands run there, requests, and streams that are
// listened to. How the daemon is started and ended is the business of those who extend it.

import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { EventStreamParser } from '../../consumer/parser.js';
import { until } from '../../until.js';
import { NODE_USER, type Node } from '../node.js';

/** The bundles that are brought to the node. */
export const DIST =
  process.env['TONEARM_DIST'] ?? fileURLToPath(new URL('../../../../dist', import.meta.url));
export const SEEN_WITHIN_MS = 20_000;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface Heard {
  readonly type: string;
  readonly data: string;
}

export class HeldDaemon {
  readonly #node: () => Node;
  readonly #streams = new Set<IncomingMessage>();

  constructor(node: () => Node) {
    this.#node = node;
  }

  get node(): Node {
    return this.#node();
  }

  /** Of the user's manager. */
  async systemctl(...args: readonly string[]): Promise<void> {
    const ran = await this.node.user('systemctl', '--user', ...args);
    assert.equal(ran.status, 0, `systemctl ${args.join(' ')}: ${ran.stderr}`);
  }

  /** Runs a script as the node's user. */
  async shell(script: string): Promise<string> {
    const ran = await this.node.user('sh', '-c', `export HOME=/home/${NODE_USER}; ${script}`);
    assert.equal(ran.status, 0, `${script}: ${ran.stderr}`);
    return ran.stdout;
  }

  async ask(method: string, path: string): Promise<Reply> {
    const response = await this.#send(method, path);
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += part;
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  }

  /** The events from now on, as they come; resolves when the stream is open. */
  async listen(query = ''): Promise<Heard[]> {
    const response = await this.#send('GET', `/events${query}`);
    this.#streams.add(response);
    const heard: Heard[] = [];
    const parser = new EventStreamParser(({ type, data }) => heard.push({ type, data }));
    response.on('error', () => response.destroy()); // The daemon may be ended.
    response.on('data', (bytes: Buffer) => parser.feed(bytes));
    await until('the greeting', () => heard[0], SEEN_WITHIN_MS);
    return heard;
  }

  /** Ends what listens. */
  stopListening(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#streams.clear();
  }

  async #send(method: string, path: string): Promise<IncomingMessage> {
    const socketPath = await this.node.door();
    return new Promise((resolve, reject) => {
      request({ socketPath, method, path, agent: false }, resolve).on('error', reject).end();
    });
  }
}
