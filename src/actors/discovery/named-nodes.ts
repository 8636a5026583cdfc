// Checks now and then whether the nodes of the configuration answer, for networks that mDNS does not reach.
// The last answer of a node is kept while it is away.

import { type Clock, Timers } from '../../host/clock.js';
import { NameLookup } from '../name-lookup.js';
import type { OwnerLink } from '../runtime.js';
import { answerOf, type NodeAnswer } from './node-request.js';

/** docs/configuration.md, "Finding nodes". From the end of a round to the next one. */
const ASK_EVERY_MS = 60_000;

/** A node of the configuration, as it is known now. */
export interface NamedNode {
  readonly url: URL;
  /** The last answer; undefined until the first one. */
  readonly answer: NodeAnswer | undefined;
  /** Undefined until the first request has ended. */
  readonly isReachable: boolean | undefined;
}

interface Watched {
  node: NamedNode;
  readonly names: NameLookup;
}

interface NamedNodesParts {
  readonly urls: readonly string[];
  readonly clock: Clock;
  readonly log: OwnerLink['log'];
  /** Called when the known state of a node has changed. */
  readonly changed: (nodes: readonly NamedNode[]) => void;
}

export class NamedNodes {
  readonly #parts: NamedNodesParts;
  readonly #timers: Timers<'round'>;
  readonly #watched: readonly Watched[];
  #isStopped = false;

  /** Begins at once. */
  constructor(parts: NamedNodesParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
    this.#watched = parts.urls.map((url) => ({
      node: { url: new URL(url), answer: undefined, isReachable: undefined },
      names: new NameLookup(),
    }));
    this.#publish();
    void this.#round();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timers.cancelAll();
    await Promise.all(this.#watched.map(({ names }) => names.end()));
  }

  async #round(): Promise<void> {
    await Promise.all(this.#watched.map((each) => this.#ask(each)));
    if (!this.#isStopped) this.#timers.set('round', ASK_EVERY_MS, () => void this.#round());
  }

  async #ask(watched: Watched): Promise<void> {
    const { url, answer: before, isReachable: wasReachable } = watched.node;
    const answer = await answerOf(url, watched.names, this.#parts.clock);
    if (this.#isStopped) return;
    watched.node = { url, answer: answer.ok ? answer.value : before, isReachable: answer.ok };
    if (answer.ok !== wasReachable) this.#logVerdict(url, answer.ok ? undefined : answer.error);
    this.#publish();
  }

  #logVerdict({ origin }: URL, reason: string | undefined): void {
    if (reason === undefined) this.#parts.log('info', 'a node of discovery.nodes answers', { node: origin });
    else this.#parts.log('warn', 'a node of discovery.nodes does not answer', { node: origin, reason });
  }

  #publish(): void {
    this.#parts.changed(this.#watched.map(({ node }) => node));
  }
}
