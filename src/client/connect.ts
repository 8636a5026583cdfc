// A node's state, kept true: the stream's events go into the store, and whoever subscribed is told which slices have changed.
// What the stream does not tell (power, abilities, the node itself) is asked for at each connection.

import { ownProblem, type ProblemError } from './problem.js';
import type { Backend, UpgradeRecord } from './records.js';
import type { Tonearm } from './routes.js';
import { type EventName, KNOWN_EVENTS, type NodeEvent, type NodeState, type Slice, Store } from './store.js';
import { ReconnectingStream } from './stream.js';

/** An event is not so long on its way to a client that has been told everything: one of the two clocks was set. */
const CLOCK_SET_MS = 2000;
const LEVEL = 'audio.level';

export interface ConnectOptions {
  /** Only these events; with `backend`: both. */
  readonly types?: readonly EventName[];
  /** Only these backends' events. */
  readonly backend?: readonly Backend[];
  readonly exclude?: readonly EventName[];
  /** Peaks of all outputs, up to ten times a second; they cost the node something. Not unless asked for. */
  readonly levels?: boolean;
  /** After each change, once for all that came together. */
  readonly onChange?: (state: NodeState, changed: readonly Slice[]) => void;
  /** Each event as it comes, also those that are no state (`power.action`, lines of an upgrade); the state is not told yet. */
  readonly onEvent?: (event: NodeEvent) => void;
}

/** A live connection to one node, until `close`. */
export interface Live {
  readonly node: Tonearm;
  /** As it was told last; a snapshot counts when it is whole. */
  readonly state: NodeState;
  /** `listener` hears each change of one slice, not its value now. The answer ends that. */
  subscribe<S extends Slice>(slice: S, listener: (value: NodeState[S]) => void): () => void;
  /** From now on with, or without, the peaks of the outputs. */
  setLevels(wanted: boolean): void;
  /** Tries now, where the connection is lost, and does not wait until the next attempt is due. */
  reconnect(): void;
  /** Milliseconds since the epoch by the node's clock, as far as its players' events tell it; else by this device's. */
  nodeTime(): number;
  close(): void;
}

/** Returns at once, and never gives up; `options` hold for the connection's whole life. */
export function connect(node: Tonearm, options: ConnectOptions = {}): Live {
  return new LiveNode(node, options);
}

class LiveNode implements Live {
  readonly node: Tonearm;
  readonly #options: ConnectOptions;
  readonly #store = new Store(Date.now());
  readonly #listeners = new Map<Slice, Set<(value: never) => void>>();
  readonly #stream: ReconnectingStream;
  /** As it was told last. */
  #told: NodeState;
  /** No part of a snapshot is missing in the store. */
  #isWhole = true;
  #levels: boolean;
  #saidBye = false;
  /** How far this device's clock is ahead of the node's, in ms, and the way of an event: the least that was seen. */
  #aheadMs = Number.POSITIVE_INFINITY;
  /** What comes now has just happened; before, it may be of the time that the connection was lost. */
  #hasCaughtUp = false;

  constructor(node: Tonearm, options: ConnectOptions) {
    this.node = node;
    this.#options = options;
    this.#levels = options.levels ?? false;
    this.#told = this.#store.state;
    this.#stream = new ReconnectingStream({
      fetch: node.transport.fetch,
      url: `${node.transport.base}/events`,
      query: () => this.#query(),
      onEvent: (event) => this.#take({ type: event.type, data: JSON.parse(event.data) } as NodeEvent),
      onRead: (whole) => {
        this.#isWhole = whole;
        this.#tell();
      },
      onLost: (problem) => this.#lost(problem),
    });
  }

  get state(): NodeState {
    return this.#told;
  }

  subscribe<S extends Slice>(slice: S, listener: (value: NodeState[S]) => void): () => void {
    const listeners = this.#listeners.get(slice) ?? new Set();
    this.#listeners.set(slice, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  setLevels(wanted: boolean): void {
    if (wanted === this.#levels) return;
    this.#levels = wanted;
    this.#forgetLevels();
    this.#tell();
    this.#stream.renew();
  }

  reconnect(): void {
    this.#stream.retry();
  }

  nodeTime(): number {
    return Date.now() - (Number.isFinite(this.#aheadMs) ? this.#aheadMs : 0);
  }

  close(): void {
    if (this.state.connection.status === 'closed') return;
    this.#stream.close();
    this.#forgetPart();
    this.#connection('closed');
    this.#tell();
  }

  /** `audio.level` comes only where it is named, and then what else is wanted must be named too. */
  #query(): URLSearchParams {
    const { types, backend, exclude } = this.#options;
    const base = types ?? (backend === undefined ? KNOWN_EVENTS.filter((type) => type !== LEVEL) : []);
    const lists = { types: this.#levels ? [...base, LEVEL] : types, backend, exclude };
    const query = new URLSearchParams();
    for (const [name, values] of Object.entries(lists))
      if (values !== undefined) query.set(name, values.join());
    return query;
  }

  #take(event: NodeEvent): void {
    this.#store.apply(event);
    if (event.type === 'server.info') this.#greeted(event.data);
    if (event.type === 'player.added' || event.type === 'player.updated')
      this.#hearTime(event.data.emitted_at);
    // A snapshot is of now, whatever the clocks have done since the last one.
    if (event.type === 'backend.updated' && event.data.detail === 'snapshot')
      this.#aheadMs = Number.POSITIVE_INFINITY;
    safely(() => this.#options.onEvent?.(event));
  }

  #hearTime(nodeMs: number): void {
    const aheadMs = Date.now() - nodeMs;
    const wasSet = this.#hasCaughtUp && aheadMs > this.#aheadMs + CLOCK_SET_MS;
    if (wasSet || aheadMs < this.#aheadMs) this.#aheadMs = aheadMs;
  }

  #greeted(word: string): void {
    this.#saidBye = word === 'bye';
    this.#hasCaughtUp = word === 'love';
    if (word !== 'connected') return;
    this.#connection('live');
    void this.#ask('server', () => this.node.server());
  }

  #lost(problem: ProblemError): void {
    this.#forgetPart();
    this.#forgetLevels();
    const { status } = this.#store.state.connection;
    this.#connection(status === 'connecting' ? status : 'lost', this.#saidBye ? ownProblem('bye') : problem);
    this.#saidBye = false;
    this.#tell();
  }

  #connection(status: NodeState['connection']['status'], problem?: ProblemError): void {
    const before = this.#store.state.connection;
    const since = before.status === status ? before.since : Date.now();
    this.#store.set({ connection: { status, since, ...(problem && { problem: problem.problem }) } });
  }

  /** Of a snapshot that broke off: it will come anew, and until then what was known before is worth more. */
  #forgetPart(): void {
    if (!this.#isWhole) this.#store.set(this.#told);
    this.#isWhole = true;
  }

  #forgetLevels(): void {
    if (this.#store.state.levels.size > 0) this.#store.set({ levels: new Map() });
  }

  #tell(): void {
    if (!this.#isWhole) return;
    const [before, { state }] = [this.#told, this.#store];
    this.#told = state;
    const changed = (Object.keys(state) as Slice[]).filter((slice) => state[slice] !== before[slice]);
    if (changed.length === 0) return;
    this.#askForTheRest(before);
    safely(() => this.#options.onChange?.(state, changed));
    for (const slice of changed) {
      for (const listener of this.#listeners.get(slice) ?? []) safely(() => listener(state[slice] as never));
    }
  }

  /** What a backend that has come up does not tell on the stream. */
  #askForTheRest({ backends }: NodeState): void {
    const hasCome = (name: Backend): boolean => {
      const info = this.state.backends.get(name);
      return info?.state === 'up' && info !== backends.get(name) && this.#wants(name);
    };
    if (hasCome('power')) void this.#ask('power', () => this.node.power());
    if (hasCome('upgrade')) {
      const { upgrade } = this.#store.state;
      void this.#ask('upgrade', async () => this.#completed(upgrade, await this.node.upgrade()));
    }
  }

  #wants(backend: Backend): boolean {
    const { types, backend: wanted } = this.#options;
    return wanted?.includes(backend) ?? types === undefined;
  }

  /** Of what the stream has told meanwhile, the stream knows better. */
  #completed(asked: NodeState['upgrade'], record: UpgradeRecord): NodeState['upgrade'] {
    const { upgrade } = this.#store.state;
    const { can_check, can_upgrade, check } = record;
    return upgrade === asked ? record : { ...(check && { check }), ...upgrade, can_check, can_upgrade };
  }

  /** Where the node does not answer, what is known stays. */
  async #ask<S extends 'server' | 'power' | 'upgrade'>(
    slice: S,
    question: () => Promise<NodeState[S]>,
  ): Promise<void> {
    const value = await question().catch(() => this.#store.state[slice]);
    if (this.state.connection.status === 'closed') return;
    this.#store.set({ [slice]: value });
    this.#tell();
  }
}

/** A listener that throws is reported as an uncaught error, and disturbs nobody else. */
function safely(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
