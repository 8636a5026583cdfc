// Shares one live connection to a node among all tabs and frames of this page in a browser. One tab, the
// holder, has the event stream. It sends each change of the state to the other tabs.

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

/** The holder sends the changed slices (members) of the state, or one event of `RELAYED_EVENTS`. */
type Update =
  | {
      readonly state: Partial<NodeState>;
      /** The milliseconds by which this device's clock is ahead of the node's clock. */
      readonly aheadMs: number;
    }
  | { readonly event: NodeEvent };

/** Each tab needs these events to know that the node is there, or why it goes away (presence.ts). */
const RELAYED_EVENTS: ReadonlySet<string> = new Set(['server.info', 'power.action']);

/**
 * If the holder is silent for longer than this, another tab takes over. A holder with an open stream is never
 * silent for so long, because the stream brings an event every 10 s or sooner.
 */
const SILENCE_MAX_MS = 20_000;
/**
 * The same limit for a holder whose stream is not open. An attempt to connect fails or succeeds every 45 s or
 * sooner (client/stream.ts), and the holder reports this to the other tabs.
 */
const SILENCE_WHILE_LOST_MAX_MS = 60_000;

type SharedOptions = Required<Pick<ConnectOptions, 'levels' | 'onChange' | 'onEvent'>> &
  Pick<ConnectOptions, 'types'>;

export class SharedLive implements PageLive {
  readonly node: Tonearm;
  readonly #options: SharedOptions;
  /** Each slice has its own type of value. A listener of any slice fits the parameter type `never`. */
  readonly #listeners = new Map<Slice, Set<(value: never) => void>>();
  readonly #tabs: Tabs<Update>;
  readonly #closing = new AbortController();
  /** This tab's own connection, while the tab is the holder. */
  #ownConnection: Live | undefined;
  /**
   * The state that this tab had when it became the holder. `#showOwn` uses this state until the tab's own
   * connection has received the whole state.
   */
  #inheritedState: NodeState | undefined;
  /** True if this tab has noticed another tab. Before that, it sends no update. */
  #isShared = false;
  #hasLevels: boolean;
  #clockAheadMs = 0;
  #state: NodeState;

  /** All tabs with the same version of the page and the same node have the same `name`. */
  constructor(node: Tonearm, name: string, options: SharedOptions) {
    this.node = node;
    this.#options = options;
    this.#hasLevels = options.levels;
    this.#tabs = new Tabs<Update>({
      openChannel: () => channelNamed(name),
      isHidden: () => document.hidden,
      onHold: () => this.#hold(),
      onYield: () => this.#yield(),
      onJoin: () => this.#sendAll(),
      onRequest: () => this.#ownConnection?.reconnect(),
      onUpdate: (update) => this.#receive(update),
      silenceMs: () => {
        const isLive = this.#state.connection.status === 'live';
        return isLive ? SILENCE_MAX_MS : SILENCE_WHILE_LOST_MAX_MS;
      },
    });
    // Each tab begins as the holder (`enter` in tabs.ts), so it connects at once.
    this.#ownConnection = this.#connect();
    this.#state = this.#ownConnection.state;
    this.#tabs.enter();
    const { signal } = this.#closing;
    document.addEventListener('visibilitychange', () => this.#tabs.noteVisibility(), { signal });
    // When the user leaves this page, the browser may keep it, and may bring it back unchanged later.
    addEventListener('pagehide', () => this.#leave(), { signal });
    const onShow = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) this.#tabs.enter();
    };
    addEventListener('pageshow', onShow, { signal });
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
    this.#hasLevels = isOn;
    this.#ownConnection?.setLevels(isOn);
  }

  reconnect(): void {
    // A tab without a connection makes the holder reconnect.
    if (this.#ownConnection === undefined) this.#tabs.request();
    else this.#ownConnection.reconnect();
  }

  nodeTime(): number {
    return this.#ownConnection?.nodeTime() ?? Date.now() - this.#clockAheadMs;
  }

  close(): void {
    this.#closing.abort();
    // If this tab is the holder, `Tabs.leave` calls `onYield`, which closes the tab's own connection.
    this.#tabs.leave();
  }

  /**
   * Leaves the other tabs, and draws the page as connecting. A browser that brings the page back shows this
   * drawing first.
   */
  #leave(): void {
    this.#tabs.leave();
    this.#show({ ...this.#state, connection: { status: 'connecting', since: Date.now() } });
    drawing.drawNow();
  }

  #hold(): void {
    if (this.#ownConnection !== undefined) return;
    if (this.#state.backends.size > 0) this.#inheritedState = this.#state;
    this.#ownConnection = this.#connect();
  }

  #connect(): Live {
    const connection = connect(this.node, {
      ...this.#options,
      levels: this.#hasLevels,
      onChange: (state) => {
        // A connection also reports its own closing. This condition ignores that report, because the node
        // has not changed. `connect` reports nothing before it returns, so `connection` is set here.
        if (connection === this.#ownConnection) this.#showOwn(state);
      },
      onEvent: (event) => {
        this.#options.onEvent(event);
        if (this.#isShared && RELAYED_EVENTS.has(event.type)) this.#tabs.publish({ event });
      },
    });
    return connection;
  }

  #yield(): void {
    const connection = this.#ownConnection;
    this.#ownConnection = undefined;
    this.#inheritedState = undefined;
    connection?.close();
  }

  /**
   * Shows the state of this tab's own connection. If the tab has just become the holder, the inherited state
   * stays until the connection has received a snapshot. If an attempt to connect fails before that, the
   * inherited state is displayed as lost. After the snapshot, only the values that the snapshot lacks are
   * inherited, until the connection has fetched them.
   */
  #showOwn(state: NodeState): void {
    const inherited = this.#inheritedState;
    if (inherited === undefined) {
      this.#show(state);
      return;
    }
    const { problem, since } = state.connection;
    const hasSnapshot = state.backends.size > 0;
    if (hasSnapshot) {
      if (hasFetchedAll(state)) this.#inheritedState = undefined;
      this.#show(withInherited(state, inherited));
    } else if (problem !== undefined) {
      this.#show({ ...inherited, connection: { status: 'lost', since, problem } });
    }
  }

  #receive(update: Update): void {
    this.#isShared = true;
    if ('event' in update) {
      this.#options.onEvent(update.event);
      return;
    }
    this.#clockAheadMs = update.aheadMs;
    const known = this.#state.connection;
    const received = update.state.connection ?? known;
    // A new holder is connecting at first. Meanwhile the other tabs keep the `connection` that they know.
    const isNewHolder = received.status === 'connecting' && known.status !== 'connecting';
    this.#show({ ...this.#state, ...update.state, connection: isNewHolder ? known : received });
  }

  #show(state: NodeState): void {
    const before = this.#state;
    this.#state = state;
    const changed = (Object.keys(state) as Slice[]).filter((slice) => state[slice] !== before[slice]);
    if (changed.length === 0) return;
    if (this.#isShared && this.#ownConnection !== undefined) this.#send(changed);
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
    // Firefox refuses a channel to a frame that is not allowed to store data.
    return undefined;
  }
}

/** True if a new connection has fetched all values that its snapshot lacks. */
function hasFetchedAll(state: NodeState): boolean {
  const { backends, server, power } = state;
  const hasPower = power !== undefined || !backends.has('power');
  return server !== undefined && hasPower && hasFetchedUpgrade(state);
}

/**
 * Returns the state of a new connection. Until the connection has fetched the values that its snapshot
 * lacks, they come from `inherited`.
 */
function withInherited(state: NodeState, inherited: NodeState): NodeState {
  const { backends, server, power, upgrade } = state;
  return {
    ...state,
    server: server ?? inherited.server,
    power: power ?? (backends.has('power') ? inherited.power : undefined),
    upgrade: hasFetchedUpgrade(state) ? upgrade : { ...inherited.upgrade, ...upgrade },
  };
}

/** A snapshot has no `can_check`. If `can_check` is known, the connection has fetched it. */
function hasFetchedUpgrade({ backends, upgrade }: NodeState): boolean {
  return upgrade?.can_check !== undefined || !backends.has('upgrade');
}
