// The live connection of this page, which all its tabs and frames in a browser share: the one that holds the
// event stream sends the others each change of the state. While another tab takes over, the state stays as it
// was.

import {
  type ConnectOptions,
  connect,
  type Live,
  type NodeEvent,
  type NodeState,
  type Slice,
  type Tonearm,
} from '../client/client.js';
import { drawing } from './drawing.js';
import type { PageLive } from './node.js';
import { Tabs } from './tabs.js';

/** The holder sends changes of the state, and the events that the state does not contain. */
type Update =
  | { readonly state: Partial<NodeState>; readonly aheadMs: number }
  | { readonly event: NodeEvent };

const RELAYED: ReadonlySet<string> = new Set(['server.info', 'power.action']);

/**
 * On a stream that is open something arrives at least every 10 s; while it is lost, the client tries again
 * every 45 s at least.
 */
const SILENCE_MS_MAX = { open: 20_000, lost: 60_000 } as const;

type SharedOptions = Required<Pick<ConnectOptions, 'levels' | 'onChange' | 'onEvent'>> &
  Pick<ConnectOptions, 'types'>;

export class SharedLive implements PageLive {
  readonly node: Tonearm;
  readonly #options: SharedOptions;
  readonly #listeners = new Map<Slice, Set<(value: never) => void>>();
  readonly #tabs: Tabs<Update>;
  readonly #closing = new AbortController();
  /** Only while this tab holds the stream. */
  #own: Live | undefined;
  /** The state at the time when this tab took over, until its own connection has received the same. */
  #before: NodeState | undefined;
  /** False until another tab exists; until then nothing is sent. */
  #isShared = false;
  #levels: boolean;
  #aheadMs = 0;
  #state: NodeState;

  /** `name`: the same for tabs that understand each other. */
  constructor(node: Tonearm, name: string, options: SharedOptions) {
    this.node = node;
    this.#options = options;
    this.#levels = options.levels;
    this.#tabs = new Tabs<Update>({
      openChannel: () => channelNamed(name),
      isHidden: () => document.hidden,
      onHold: () => this.#open(),
      onYield: () => this.#closeOwn(),
      onJoin: () => this.#sendAll(),
      onRequest: () => this.#own?.reconnect(),
      onUpdate: (update) => this.#take(update),
      silenceMs: () => SILENCE_MS_MAX[this.#state.connection.status === 'live' ? 'open' : 'lost'],
    });
    this.#own = this.#connected();
    this.#state = this.#own.state;
    this.#tabs.enter();
    const { signal } = this.#closing;
    document.addEventListener('visibilitychange', () => this.#tabs.visibilityChanged(), { signal });
    // Browsers keep pages that were left, and bring them back as they were.
    addEventListener('pagehide', () => this.#leave(), { signal });
    const cameBack = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) this.#tabs.enter();
    };
    addEventListener('pageshow', cameBack, { signal });
  }

  get state(): NodeState {
    return this.#state;
  }

  subscribe<S extends Slice>(slice: S, listener: (value: NodeState[S]) => void): () => void {
    const listeners = this.#listeners.get(slice) ?? new Set();
    this.#listeners.set(slice, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  setLevels(isOn: boolean): void {
    this.#levels = isOn;
    this.#own?.setLevels(isOn);
  }

  reconnect(): void {
    if (this.#own === undefined) this.#tabs.request();
    else this.#own.reconnect();
  }

  nodeTime(): number {
    return this.#own?.nodeTime() ?? Date.now() - this.#aheadMs;
  }

  close(): void {
    this.#closing.abort();
    this.#tabs.leave();
  }

  /** Nothing is lost because the page is left: a browser that brings it back shows it as it is drawn here. */
  #leave(): void {
    this.#tabs.leave();
    this.#show({ ...this.#state, connection: { status: 'connecting', since: Date.now() } });
    drawing.now();
  }

  #open(): void {
    if (this.#own !== undefined) return;
    if (this.#state.backends.size > 0) this.#before = this.#state;
    this.#own = this.#connected();
  }

  #connected(): Live {
    const { types } = this.#options;
    const own = connect(this.node, {
      ...(types && { types }),
      levels: this.#levels,
      onChange: (state) => {
        // The last change of a connection that this tab has closed is none of the node's.
        if (own === this.#own) this.#adopt(state);
      },
      onEvent: (event) => {
        this.#options.onEvent(event);
        if (this.#isShared && RELAYED.has(event.type)) this.#tabs.publish({ event });
      },
    });
    return own;
  }

  #closeOwn(): void {
    const own = this.#own;
    this.#own = undefined;
    this.#before = undefined;
    own?.close();
  }

  /**
   * A connection that this tab has opened to take over is displayed only when it has received the node's
   * state.
   */
  #adopt(state: NodeState): void {
    const before = this.#before;
    if (before === undefined) {
      this.#show(state);
      return;
    }
    const { status, problem, since } = state.connection;
    if (state.backends.size > 0) {
      if (status !== 'live' || isWhole(state)) this.#before = undefined;
      this.#show(completed(state, before));
    } else if (problem !== undefined) {
      this.#show({ ...before, connection: { status: 'lost', since, problem } });
    }
  }

  #take(update: Update): void {
    this.#isShared = true;
    if ('event' in update) {
      this.#options.onEvent(update.event);
      return;
    }
    this.#aheadMs = update.aheadMs;
    const { connection = this.#state.connection, ...slices } = update.state;
    const isBehind = connection.status === 'connecting' && this.#state.connection.status !== 'connecting';
    this.#show({ ...this.#state, ...slices, connection: isBehind ? this.#state.connection : connection });
  }

  #show(state: NodeState): void {
    const before = this.#state;
    this.#state = state;
    const changed = (Object.keys(state) as Slice[]).filter((slice) => state[slice] !== before[slice]);
    if (changed.length === 0) return;
    if (this.#isShared && this.#own !== undefined) this.#send(changed);
    this.#options.onChange(state, changed);
    for (const slice of changed)
      for (const listener of this.#listeners.get(slice) ?? []) listener(state[slice] as never);
  }

  #send(slices: readonly Slice[]): void {
    const state: Partial<NodeState> = Object.fromEntries(slices.map((slice) => [slice, this.#state[slice]]));
    this.#tabs.publish({ state, aheadMs: Date.now() - this.nodeTime() });
  }

  #sendAll(): void {
    this.#isShared = true;
    this.#send(Object.keys(this.#state) as Slice[]);
  }
}

function channelNamed(name: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(name);
  } catch {
    // A browser that stores nothing for this page refuses it.
    return undefined;
  }
}

/** True if a new connection has fetched what its snapshot does not contain. */
function isWhole({ backends, server, power, upgrade }: NodeState): boolean {
  const hasPower = power !== undefined || !backends.has('power');
  return server !== undefined && hasPower && (upgrade?.can_check !== undefined || !backends.has('upgrade'));
}

/** The state with what a new connection fetches only after its snapshot. */
function completed(state: NodeState, before: NodeState): NodeState {
  const { backends, server, power, upgrade } = state;
  const isFetched = upgrade?.can_check !== undefined || !backends.has('upgrade');
  return {
    ...state,
    server: server ?? before.server,
    power: power ?? (backends.has('power') ? before.power : undefined),
    upgrade: isFetched ? upgrade : { ...before.upgrade, ...upgrade },
  };
}
