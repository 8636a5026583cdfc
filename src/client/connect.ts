// Keeps the live state of one node by its event stream. A slice is a member of this state. When a slice has
// changed, its listeners are called. The stream lacks `server`, `power`, and the `can_*` of `upgrade`. So
// these are fetched when a connection or a backend comes up.

import type { NodeEvent } from './events.js';
import type { ConnectOptions, Live } from './live.js';
import { NodeClock } from './node-clock.js';
import { abortedProblem, ownProblem, type ProblemError } from './problem.js';
import type { Backend } from './records.js';
import type { Tonearm } from './routes.js';
import { safely } from './safely.js';
import { emptySlices, isMark, KNOWN_EVENTS, type NodeState, type Slice, Store } from './store.js';
import { ReconnectingStream } from './stream.js';

const LEVEL = 'audio.level';
/** The wait after an answer with 503 or 504, before power and upgrade are requested once more. */
const RETRY_MS = 10_000;

/** Returns at once and reconnects until `close`. Only the option `levels` can be changed later. */
export function connect(node: Tonearm, options: ConnectOptions = {}): Live {
  return new LiveNode(node, options);
}

class LiveNode implements Live {
  readonly node: Tonearm;
  readonly ready: Promise<NodeState>;
  #setReady: (state: NodeState) => void = () => undefined;
  #failReady: (problem: ProblemError) => void = () => undefined;
  /** True once the request for the server's record has ended, even if it failed. */
  #isServerRequestOver = false;
  readonly #options: ConnectOptions;
  readonly #store = new Store(Date.now());
  readonly #listeners = new Map<Slice, Set<(value: never) => void>>();
  readonly #stream: ReconnectingStream;
  /** The state that listeners have received last. */
  #published: NodeState;
  /**
   * False while the store has only a part of a snapshot. Each backend's part of a snapshot begins with a
   * mark. Only the last event of the whole snapshot has an id.
   */
  #isStateWhole = true;
  #areLevelsOn: boolean;
  #hasReceivedBye = false;
  readonly #clock = new NodeClock();
  /**
   * A fetch is due for each of these backends when it is up. Only `power` and `upgrade` have data to fetch.
   * A backend that stays up does not become due, even if the node sends `backend.updated`. Otherwise each
   * request to `power` would cause the next request: the node starts a thread for the request, and sends
   * `backend.updated` when this thread starts and when it ends.
   */
  readonly #dueBackends = new Set<string>(['power', 'upgrade']);
  /** Set by the first 503 or 504 of a connection. There is no second retry, because the reason may last. */
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(node: Tonearm, options: ConnectOptions) {
    this.node = node;
    this.#options = options;
    this.#areLevelsOn = options.levels ?? false;
    this.#published = this.#store.state;
    this.ready = new Promise((resolve, reject) => {
      this.#setReady = resolve;
      this.#failReady = reject;
    });
    // If the program does not wait for `ready`, a rejection of `ready` must not count as unhandled.
    this.ready.catch(() => undefined);
    this.#stream = new ReconnectingStream({
      transport: node.transport,
      query: () => this.#query(),
      onAnswer: (sentAtMs) => this.#clock.noteAnswer(sentAtMs),
      onEvent: ({ type, data }, hasNewId) =>
        this.#applyEvent({ type, data: JSON.parse(data) } as NodeEvent, hasNewId),
      onRead: () => this.#notify(),
      onLost: (problem) => this.#onLost(problem),
    });
    options.signal?.addEventListener('abort', this.close);
    if (options.signal?.aborted) this.close();
  }

  get state(): NodeState {
    return this.#published;
  }

  subscribe<S extends Slice>(slice: S, listener: (value: NodeState[S]) => void): () => void {
    const listeners = this.#listeners.get(slice) ?? new Set();
    this.#listeners.set(slice, listeners.add(listener));
    safely(() => listener(this.state[slice]));
    return () => void listeners.delete(listener);
  }

  setLevels(isOn: boolean): void {
    if (isOn === this.#areLevelsOn) return;
    this.#areLevelsOn = isOn;
    this.#forgetLevels();
    this.#notify();
    this.#stream.renew();
  }

  reconnect(): void {
    this.#stream.retry();
  }

  nodeTime(): number {
    return this.#clock.now();
  }

  readonly close = (): void => {
    if (this.state.connection.status === 'closed') return;
    this.#stream.close();
    clearTimeout(this.#retryTimer);
    this.#options.signal?.removeEventListener('abort', this.close);
    this.#dropPartialSnapshot();
    this.#setConnection('closed');
    this.#failReady(abortedProblem('The connection was closed'));
    this.#notify();
  };

  /**
   * The node sends levels only if the query's `types` names them. But if the query has `types` or `backend`,
   * the node sends only what these select. So if levels are on, and the options have neither `types` nor
   * `backend`, the query's `types` names all other events, too.
   */
  #query(): URLSearchParams {
    const { types, backend, exclude } = this.#options;
    const otherTypes = types ?? (backend === undefined ? KNOWN_EVENTS.filter((type) => type !== LEVEL) : []);
    const lists = { types: this.#areLevelsOn ? [...otherTypes, LEVEL] : types, backend, exclude };
    const query = new URLSearchParams();
    for (const [name, values] of Object.entries(lists))
      if (values !== undefined) query.set(name, values.join());
    return query;
  }

  #applyEvent(event: NodeEvent, hasNewId: boolean): void {
    // At a snapshot's first mark all slices of records are emptied, because the client may have missed the
    // removal of a record, and because the snapshot has no mark for a backend that is no longer enabled. The
    // estimate of the node's time is forgotten, because a clock may have been set since the last snapshot.
    if (isMark(event) && this.#isStateWhole) {
      this.#store.set(emptySlices());
      this.#clock.forget();
    }
    this.#store.apply(event);
    // A mark shows that a snapshot is under way. The first event with a new id is the last of the snapshot,
    // even if this event is itself a mark.
    if (isMark(event) || hasNewId) this.#isStateWhole = hasNewId;
    if (event.type === 'server.info') this.#onServerInfo(event.data);
    // A backend becomes due when it is not up, and at its mark in each snapshot (see `#dueBackends`).
    if (event.type === 'backend.updated' && (event.data.state !== 'up' || isMark(event)))
      this.#dueBackends.add(event.data.backend);
    if (event.type === 'player.added' || event.type === 'player.updated')
      this.#clock.noteEvent(event.data.emitted_at);
    safely(() => this.#options.onEvent?.(event));
  }

  /**
   * A stream begins with `connected`. The node sends `love` as a sign of life after some silence, so the
   * client has received all earlier events then. The node sends `bye` when the daemon ends.
   */
  #onServerInfo(word: string): void {
    this.#hasReceivedBye = word === 'bye';
    this.#clock.hasCaughtUp = word === 'love';
    if (word !== 'connected') return;
    clearTimeout(this.#retryTimer);
    this.#retryTimer = undefined;
    this.#dropPartialSnapshot();
    this.#setConnection('live');
    void this.#fetchSlice('server', () => this.node.server());
  }

  #onLost(problem: ProblemError): void {
    this.#dropPartialSnapshot();
    this.#forgetLevels();
    const { status } = this.#store.state.connection;
    // A connection that was never open cannot be lost.
    this.#setConnection(
      status === 'connecting' ? status : 'lost',
      this.#hasReceivedBye ? ownProblem('bye') : problem,
    );
    this.#hasReceivedBye = false;
    this.#dueBackends.add('power').add('upgrade');
    this.#notify();
  }

  #setConnection(status: NodeState['connection']['status'], error?: ProblemError): void {
    const before = this.#store.state.connection;
    const since = before.status === status ? before.since : Date.now();
    this.#store.set({ connection: { status, since, ...(error && { problem: error.problem }) } });
  }

  /**
   * Replaces an incomplete snapshot by the state before it. The node sends the snapshot again, because the
   * client has not received the snapshot's id.
   */
  #dropPartialSnapshot(): void {
    if (!this.#isStateWhole) this.#store.set(this.#published);
    this.#isStateWhole = true;
  }

  #forgetLevels(): void {
    const { levels, inputLevels } = this.#store.state;
    if (levels.size + inputLevels.size > 0) this.#store.set({ levels: new Map(), inputLevels: new Map() });
  }

  #notify(): void {
    if (!this.#isStateWhole) return;
    const before = this.#published;
    const { state } = this.#store;
    this.#published = state;
    const changed = (Object.keys(state) as Slice[]).filter((slice) => state[slice] !== before[slice]);
    this.#fetchUnstreamed();
    if (changed.length > 0) safely(() => this.#options.onChange?.(this.state, changed));
    // `onChange` and each listener may have published a newer state, for example by `close`.
    for (const slice of changed)
      for (const listener of this.#listeners.get(slice) ?? [])
        safely(() => listener(this.state[slice] as never));
    if (this.#isReady()) this.#setReady(state);
  }

  /**
   * The first snapshot fills `backends`. But a node sends no snapshot if no backend and no bridge is enabled.
   * Only the server's record shows which of them are enabled. If the request for this record has failed, a
   * snapshot is expected.
   */
  #isReady(): boolean {
    const { connection, backends, server } = this.#published;
    if (connection.status !== 'live' || !this.#isServerRequestOver) return false;
    const sendsSnapshot = server === undefined || Object.values(server.backends).includes(true);
    return backends.size > 0 || !sendsSnapshot;
  }

  #fetchUnstreamed(): void {
    if (this.state.connection.status !== 'live') return;
    if (this.#takeDue('power')) void this.#fetchSlice('power', () => this.node.power());
    if (this.#takeDue('upgrade')) void this.#fetchSlice('upgrade', () => this.#readUpgrade());
  }

  /**
   * If the backend is due, up and selected by the options, removes it from `#dueBackends` and returns true.
   * Options with `types` but without `backend` select no backend.
   */
  #takeDue(backend: Backend): boolean {
    const { types, backend: selectedBackends } = this.#options;
    const isSelected = selectedBackends?.includes(backend) ?? !types;
    const isUp = this.state.backends.get(backend)?.state === 'up';
    return isSelected && isUp && this.#dueBackends.delete(backend);
  }

  /**
   * If the stream changes the upgrade during the request, the response may be older than this change. Then
   * only the `can_*` of the response are used, and its `check` if no check is known.
   */
  async #readUpgrade(): Promise<NodeState['upgrade']> {
    const { upgrade: upgradeAtRequest } = this.#store.state;
    const record = await this.node.upgrade();
    const { upgrade } = this.#store.state;
    const { can_check, can_upgrade, check } = record;
    return upgrade === upgradeAtRequest
      ? record
      : { ...(check && { check }), ...upgrade, can_check, can_upgrade };
  }

  /**
   * If the request fails, the slice keeps its value. A backend that is up may answer with 503 or 504,
   * because its thread can take longer to load than a request may take. So `RETRY_MS` after such an answer,
   * `power` and `upgrade` become due once more.
   */
  async #fetchSlice<S extends 'server' | 'power' | 'upgrade'>(
    slice: S,
    request: () => Promise<NodeState[S]>,
  ): Promise<void> {
    const value = await request().catch((problem: ProblemError) => {
      if (problem.status >= 503 && this.state.connection.status === 'live') {
        this.#retryTimer ??= setTimeout(() => {
          this.#dueBackends.add('power').add('upgrade');
          this.#notify();
        }, RETRY_MS);
      }
      return this.#store.state[slice];
    });
    if (this.state.connection.status === 'closed') return;
    this.#isServerRequestOver ||= slice === 'server';
    this.#store.set({ [slice]: value });
    this.#notify();
  }
}
