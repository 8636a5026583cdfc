// An actor's bus: connects, reconnects after every loss, and makes only the calls that its effect allows: the
// others do not compile, and are refused at run time. Each actor may open a bus with its own effect alone.

import { backoffMs } from '../../host/clock.js';
import { errorText } from '../../printable.js';
import { failed } from '../../protocol/actor/result.js';
import { BUS_NAME, NAME_OWNER_CHANGED } from '../../protocol/dbus/daemon.js';
import {
  type Effect,
  type Match,
  type Method,
  type Signal,
  signalValues,
} from '../../protocol/dbus/method.js';
import { type BusPaths, systemBusPaths, userBusPaths } from './address.js';
import {
  BOUNDS,
  type Bounds,
  type BusConnection,
  type CallVerdict,
  type ConnectResult,
  connectBus,
} from './connection.js';
import { type BusResult, CLOSED, refusedHere } from './fault.js';
import { Watches } from './watches.js';

export type { CallVerdict } from './connection.js';

/** The effects that a bus of the user may have; all others are on the bus of the system. */
const OF_THE_USER: readonly Effect[] = ['units', 'players'];

const CALL_DEADLINE_MS = 8_000;
/**
 * A connection that lasted this long was good: after its loss the next attempt is made at once, without
 * back-off.
 */
const STEADY_MS = 10_000;

/**
 * The actor that uses a bus. Nothing here may throw, except that `up` may reject: then the connection is
 * given up.
 */
export interface BusOwner {
  /**
   * There is a new connection, without watches: watch, subscribe, read everything. The bus counts as up when
   * this resolves.
   */
  up(): Promise<void>;
  /** The bus is lost or cannot be reached. Called once per loss, and again only with another reason. */
  down(reason: string): void;
  /** A signal from the owner of a watched name. May come before `up` resolves. */
  signal(signal: Signal): void;
  /**
   * A call to us from the owner of a watched name. Without this function, or for undefined, it gets no
   * answer.
   */
  called?(call: Signal): CallVerdict | undefined;
  /** A watched name has got an owner, another one, or none: subscriptions with the old one are gone. */
  ownerChanged?(name: string, owned: boolean): void;
}

export interface BusOptions extends Partial<Bounds> {
  /**
   * Called before each attempt, because a session bus may appear later. By default read from the process's
   * environment.
   */
  readonly paths?: () => BusPaths;
  /** `backoffMs` of clock.ts is the default. */
  readonly backoffMs?: (attempt: number) => number;
  readonly callDeadlineMs?: number;
}

export interface CallOptions {
  /** The object, for methods whose table row has no path. */
  readonly path?: string;
  readonly deadlineMs?: number;
}

export type Caller<E extends Effect> = Pick<Bus<E>, 'call'>;

export class Bus<E extends Effect> {
  readonly #effect: E;
  readonly #paths: () => BusPaths;
  readonly #options: BusOptions;
  readonly #owner: BusOwner;
  #connection: BusConnection | undefined;
  /** The watched objects and names of this connection. */
  #watches = this.#newWatches();
  #attempt = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #reason: string | undefined;

  constructor(effect: E, options: BusOptions, owner: BusOwner) {
    this.#effect = effect;
    const pathsOf = OF_THE_USER.includes(effect) ? userBusPaths : systemBusPaths;
    this.#paths = options.paths ?? (() => pathsOf(process.env, process.getuid?.() ?? 0));
    this.#options = options;
    this.#owner = owner;
    this.#retry();
  }

  /**
   * Calls a method of the tables. Always settles within its deadline (default 8 s); never rejects, never
   * repeats a call.
   */
  async call<Args extends readonly unknown[], Result>(
    method: Method<Args, Result, E | 'none'>,
    args: Args,
    options: CallOptions = {},
  ): Promise<BusResult<Result>> {
    const { effect, member } = method;
    // The compiler refuses it already; this is for calls that got past it.
    if (effect !== 'none' && effect !== this.#effect) return refusedHere(`${member} is not for this bus`);
    const path = method.path ?? options.path;
    if (path === undefined) return refusedHere(`${member} needs a path`);
    if (this.#connection === undefined) return CLOSED;
    const deadlineMs = options.deadlineMs ?? this.#options.callDeadlineMs ?? CALL_DEADLINE_MS;
    const { destination, interface: iface, in: signature } = method;
    const call = { destination, path, interface: iface, member, signature, values: args };
    const outcome = await this.#connection.call(call, deadlineMs);
    if (!outcome.ok) return outcome;
    const { signature: receivedSignature, values } = outcome.value;
    if (receivedSignature !== method.out)
      return refusedHere(`${member} answered with the signature '${receivedSignature}'`);
    // The signature was compared, so the values have the declared type.
    const result: unknown = values.length > 1 ? values : values[0];
    return { ok: true, value: result as Result };
  }

  /** Subscribes to signals, on this connection only: `up` subscribes again on the next. */
  watch(match: Match): Promise<BusResult<undefined>> {
    return this.#watches.watch(match);
  }

  /**
   * True if a watched name has an owner now. A call to the service itself might start one that was stopped on
   * purpose.
   */
  readonly isRunning = (name: string): boolean => this.#watches.isOwned(name);

  /** Ends a subscription. If the sender is a unique name, none of its signals are passed on any more. */
  unwatch(match: Match): Promise<BusResult<undefined>> {
    return this.#watches.unwatch(match);
  }

  /** Drops the connection and makes a new one after the back-off, for an owner that cannot use this one. */
  reconnect(reason: string): void {
    this.#connection?.lose(reason);
  }

  /** Ends for ever. The owner gets no more calls. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#connection?.lose('stopped');
  }

  #newWatches(): Watches {
    return new Watches((method, args) => this.call(method, args));
  }

  #retry(): void {
    const { backoffMs: waitBefore = (attempt: number) => backoffMs(attempt, Math.random()) } = this.#options;
    const waitMs = waitBefore(this.#attempt);
    this.#attempt += 1;
    // A wait of 0 also uses the timer: the caller of the constructor has the bus before the first event.
    this.#timer = setTimeout(() => void this.#try(), waitMs);
  }

  async #try(): Promise<void> {
    const reached = await this.#reach();
    if (!reached.ok) this.#away(reached.error);
    else if (this.#stopped) reached.value.lose('stopped');
    else await this.#settle(reached.value);
  }

  /** The first path on which a bus greets us; else the reason of the last one. */
  async #reach(): Promise<ConnectResult> {
    const found = this.#paths();
    if (!found.ok) return found;
    let reached: ConnectResult = failed('the bus has no address');
    for (const path of found.value) {
      const triedAt = performance.now();
      const bounds = { ...BOUNDS, ...this.#options };
      reached = await connectBus(path, bounds, {
        signal: (signal) => this.#onSignal(signal),
        called: (call) => (this.#watches.isOwner(call.sender) ? this.#owner.called?.(call) : undefined),
        lost: (reason) => this.#lost(reason, performance.now() - triedAt),
      });
      if (reached.ok) break;
    }
    return reached;
  }

  async #settle(connection: BusConnection): Promise<void> {
    if (!connection.open) return; // Lost since the greeting: the next attempt is scheduled already.
    this.#connection = connection;
    try {
      await this.#owner.up();
    } catch (error) {
      connection.lose(errorText(error));
    }
    if (this.#connection === connection) this.#reason = undefined;
  }

  #lost(reason: string, livedMs: number): void {
    this.#connection = undefined;
    this.#watches.end();
    this.#watches = this.#newWatches();
    if (livedMs >= STEADY_MS) this.#attempt = 0;
    this.#away(reason);
  }

  #away(reason: string): void {
    if (this.#stopped) return;
    if (this.#reason !== reason) {
      this.#reason = reason;
      this.#owner.down(reason);
    }
    this.#retry();
  }

  #onSignal(signal: Signal): void {
    if (signal.sender === BUS_NAME) {
      // The bus sends each connection its own names, unasked.
      if (signal.member === 'NameAcquired' || signal.member === 'NameLost') return;
      const [name = '', , owner = ''] = signalValues(NAME_OWNER_CHANGED, signal) ?? [];
      if (this.#watches.ownerChanged(name, owner)) this.#owner.ownerChanged?.(name, owner !== '');
    } else if (!this.#watches.isOwner(signal.sender)) return;
    this.#owner.signal(signal);
  }
}
