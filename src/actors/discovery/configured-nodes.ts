// Sends a request to each node of the configuration about once a minute. So the daemon finds these nodes even
// in networks that mDNS does not reach. While a node does not answer, its last answer is kept.

import { type Clock, Timers } from '../../host/clock.js';
import type { Result } from '../../protocol/actor/result.js';
import { NameLookup } from '../name-lookup.js';
import type { OwnerLink } from '../runtime.js';
import { type NodeAnswer, requestNode } from './node-request.js';

/**
 * The time from the end of a round of requests to the next round (docs/configuration.md, "Finding nodes").
 */
const PAUSE_MS = 60_000;

/** A node of the configuration, and what is known of it now. */
export interface ConfiguredNode {
  readonly url: URL;
  /** The last answer; undefined until the first one. */
  readonly answer: NodeAnswer | undefined;
  /** Undefined until the first request has ended. */
  readonly isReachable: boolean | undefined;
}

interface NodeEntry {
  node: ConfiguredNode;
  /** One for each node, because a `NameLookup` serves one name at a time. */
  readonly lookup: NameLookup;
}

interface ConfiguredNodesParts {
  readonly urls: readonly string[];
  readonly clock: Clock;
  readonly log: OwnerLink['log'];
  /** Called with all nodes, at the start and whenever a request has ended. */
  readonly onChange: (nodes: readonly ConfiguredNode[]) => void;
}

export class ConfiguredNodes {
  readonly #parts: ConfiguredNodesParts;
  readonly #timers: Timers<'round'>;
  readonly #entries: readonly NodeEntry[];
  #isStopped = false;

  /** Begins the first round at once. */
  constructor(parts: ConfiguredNodesParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
    this.#entries = parts.urls.map((url) => ({
      node: { url: new URL(url), answer: undefined, isReachable: undefined },
      lookup: new NameLookup(),
    }));
    this.#reportAll();
    void this.#round();
  }

  /** Resolves when the child processes of all `NameLookup`s have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timers.cancelAll();
    await Promise.all(this.#entries.map(({ lookup }) => lookup.end()));
  }

  async #round(): Promise<void> {
    await Promise.all(this.#entries.map((entry) => this.#request(entry)));
    if (!this.#isStopped) this.#timers.set('round', PAUSE_MS, () => void this.#round());
  }

  async #request(entry: NodeEntry): Promise<void> {
    const { url, answer: lastAnswer, isReachable: wasReachable } = entry.node;
    const result = await requestNode(url, entry.lookup, this.#parts.clock);
    if (this.#isStopped) return;
    entry.node = { url, answer: result.ok ? result.value : lastAnswer, isReachable: result.ok };
    if (result.ok !== wasReachable) this.#logReachability(url, result);
    this.#reportAll();
  }

  #logReachability({ origin }: URL, result: Result<NodeAnswer, string>): void {
    if (result.ok) {
      this.#parts.log('info', 'a node of discovery.nodes answers', { node: origin });
    } else {
      const fields = { node: origin, reason: result.error };
      this.#parts.log('warn', 'a node of discovery.nodes does not answer', fields);
    }
  }

  #reportAll(): void {
    this.#parts.onChange(this.#entries.map(({ node }) => node));
  }
}
