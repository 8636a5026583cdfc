// Keeps an actor connected to a bus, and decides which calls the actor may make. A `Bus` allows calls without
// an effect, and calls with one effect, such as a change of units. The compiler refuses calls with another
// effect, and `Bus.call` refuses them once more at run time.

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
import { type BusResult, CLOSED, localError } from './fault.js';
import { Watches } from './watches.js';

export type { CallVerdict } from './connection.js';

/**
 * A bus with one of these effects is the user's; any other is the system's. A rule of test/architecture
 * decides which actor may open a bus with which effect.
 */
const USER_BUS_EFFECTS: readonly Effect[] = ['units', 'players'];

const CALL_DEADLINE_MS = 8_000;
/** After the loss of a connection that lasted this long, the first attempt to reconnect is made at once. */
const STEADY_MS = 10_000;

/**
 * The actor that uses a bus. The connection ends if `up` rejects, or if `signal`, `called` or `ownerChanged`
 * throws.
 */
export interface BusOwner {
  /**
   * There is a new connection, which has no subscriptions yet. The actor subscribes to signals (`Bus.watch`)
   * and reads everything. The promise resolves when both are done.
   */
  up(): Promise<void>;
  /**
   * The connection is lost, or no bus can be reached. Further attempts that fail for the same reason are not
   * reported. This method must not throw.
   */
  down(reason: string): void;
  /**
   * A signal from the program that owns a watched name, or from the bus itself. A watched name is the
   * `sender` of a subscription. Signals may come before `up` resolves.
   */
  signal(signal: Signal): void;
  /**
   * A call to us from the program that owns a watched name. Without this function, or if it returns
   * undefined, the caller gets no answer.
   */
  called?(call: Signal): CallVerdict | undefined;
  /**
   * A watched name now belongs to another program, or to no program. The subscriptions stay, but the new
   * program does not know us. A new systemd, for example, sends signals only after a new call of its method
   * `Subscribe`.
   */
  ownerChanged?(name: string, isOwned: boolean): void;
}

export interface BusOptions extends Partial<Bounds> {
  /** Called before each attempt to connect. By default the paths come from the process's environment. */
  readonly paths?: () => BusPaths;
  /**
   * The wait in ms before an attempt to connect. The first attempt has the number 0. The default is
   * `backoffMs` of clock.ts.
   */
  readonly backoffMs?: (attempt: number) => number;
  readonly callDeadlineMs?: number;
}

export interface BusCallOptions {
  /** The path of the object, for a method whose row in protocol/dbus has no path. */
  readonly path?: string;
  readonly deadlineMs?: number;
}

export type BusCaller<E extends Effect> = Pick<Bus<E>, 'call'>;

export class Bus<E extends Effect> {
  readonly #effect: E;
  readonly #paths: () => BusPaths;
  readonly #options: BusOptions;
  readonly #actor: BusOwner;
  #connection: BusConnection | undefined;
  /** The subscriptions on one connection. `#onLost` replaces them, because the next connection has none. */
  #watches = this.#newWatches();
  /** Counts the attempts to connect since the last steady connection. */
  #attempts = 0;
  #attemptTimer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** The reason in the last call of `down`. Undefined at first, and while the actor has a connection. */
  #reportedReason: string | undefined;

  constructor(effect: E, options: BusOptions, actor: BusOwner) {
    this.#effect = effect;
    const busPaths = USER_BUS_EFFECTS.includes(effect) ? userBusPaths : systemBusPaths;
    this.#paths = options.paths ?? (() => busPaths(process.env, process.getuid?.() ?? 0));
    this.#options = options;
    this.#actor = actor;
    this.#scheduleAttempt();
  }

  /**
   * Calls a method that protocol/dbus describes. Settles within the deadline (8 s by default), and never
   * rejects. A call is never repeated.
   */
  async call<Args extends readonly unknown[], Result>(
    method: Method<Args, Result, E | 'none'>,
    args: Args,
    options: BusCallOptions = {},
  ): Promise<BusResult<Result>> {
    const { effect, member } = method;
    // The compiler refuses a call with another effect, unless the types were evaded.
    if (effect !== 'none' && effect !== this.#effect) return localError(`${member} is not for this bus`);
    const path = method.path ?? options.path;
    if (path === undefined) return localError(`${member} needs a path`);
    if (this.#connection === undefined) return CLOSED;
    const deadlineMs = options.deadlineMs ?? this.#options.callDeadlineMs ?? CALL_DEADLINE_MS;
    const methodCall = {
      destination: method.destination,
      path,
      interface: method.interface,
      member,
      signature: method.in,
      values: args,
    };
    const outcome = await this.#connection.call(methodCall, deadlineMs);
    if (!outcome.ok) return outcome;
    const { signature: actualSignature, values } = outcome.value;
    if (actualSignature !== method.out)
      return localError(`${member} answered with the signature '${actualSignature}'`);
    // Several values are a tuple, and a single value is the result itself (`MethodReply` in signatures.ts).
    // The signature is the declared one, so the result has the declared type.
    const result: unknown = values.length > 1 ? values : values[0];
    return { ok: true, value: result as Result };
  }

  /**
   * Subscribes to signals on this connection. On the next connection the actor's `up` must subscribe again.
   */
  watch(match: Match): Promise<BusResult<undefined>> {
    return this.#watches.watch(match);
  }

  /**
   * True if a watched name has an owner now. Actors check this before a call, because a call to a name
   * without an owner could make the bus start a service that was stopped on purpose.
   */
  readonly isRunning = (name: string): boolean => this.#watches.hasOwner(name);

  /**
   * Ends a subscription. If the sender of `match` is a unique name, such as `:1.42`, this name is no longer
   * watched, even if another subscription has the same sender.
   */
  unwatch(match: Match): Promise<BusResult<undefined>> {
    return this.#watches.unwatch(match);
  }

  /** Ends a connection that the actor cannot use. `Bus` makes a new one after the back-off. */
  reconnect(reason: string): void {
    this.#connection?.lose(reason);
  }

  /** Ends the connection, and makes no new one. No method of the actor is called any more. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#attemptTimer);
    this.#connection?.lose('stopped');
  }

  #newWatches(): Watches {
    return new Watches((method, args) => this.call(method, args));
  }

  #scheduleAttempt(): void {
    const attempt = this.#attempts;
    const waitMs = this.#options.backoffMs?.(attempt) ?? backoffMs(attempt, Math.random());
    this.#attempts += 1;
    // Even a wait of 0 needs the timer, so that the constructor returns before the actor is called.
    this.#attemptTimer = setTimeout(() => void this.#connect(), waitMs);
  }

  async #connect(): Promise<void> {
    const result = await this.#tryPaths();
    if (!result.ok) this.#reportAndRetry(result.error);
    else if (this.#isStopped) result.value.lose('stopped');
    else await this.#useConnection(result.value);
  }

  /** The connection at the first path where a bus answers, or else the error of the last path. */
  async #tryPaths(): Promise<ConnectResult> {
    const paths = this.#paths();
    if (!paths.ok) return paths;
    let result: ConnectResult = failed('the bus has no address');
    for (const path of paths.value) {
      const triedAt = performance.now();
      const bounds = { ...BOUNDS, ...this.#options };
      result = await connectBus(path, bounds, {
        signal: (signal) => this.#onSignal(signal),
        called: (call) =>
          this.#watches.isWatchedOwner(call.sender) ? this.#actor.called?.(call) : undefined,
        lost: (reason) => this.#onLost(reason, performance.now() - triedAt),
      });
      if (result.ok) break;
    }
    return result;
  }

  async #useConnection(connection: BusConnection): Promise<void> {
    // If the connection has been lost since the bus answered, `#onLost` has already scheduled an attempt.
    if (!connection.isOpen) return;
    this.#connection = connection;
    // The loss of this connection must be reported, even if the last call of `down` had the same reason.
    this.#reportedReason = undefined;
    try {
      await this.#actor.up();
    } catch (error) {
      connection.lose(errorText(error));
    }
  }

  #onLost(reason: string, lastedMs: number): void {
    this.#connection = undefined;
    this.#watches.end();
    this.#watches = this.#newWatches();
    if (lastedMs >= STEADY_MS) this.#attempts = 0;
    this.#reportAndRetry(reason);
  }

  #reportAndRetry(reason: string): void {
    if (this.#isStopped) return;
    if (this.#reportedReason !== reason) {
      this.#reportedReason = reason;
      this.#actor.down(reason);
    }
    this.#scheduleAttempt();
  }

  #onSignal(signal: Signal): void {
    const isFromBus = signal.sender === BUS_NAME;
    if (!isFromBus && !this.#watches.isWatchedOwner(signal.sender)) return;
    // The bus sends us a signal about each name that we get or lose, even without a subscription.
    const isAboutOwnName = signal.member === 'NameAcquired' || signal.member === 'NameLost';
    if (isFromBus && isAboutOwnName) return;
    if (isFromBus) this.#updateOwnerOfName(signal);
    this.#actor.signal(signal);
  }

  #updateOwnerOfName(signal: Signal): void {
    const change = signalValues(NAME_OWNER_CHANGED, signal);
    if (change === undefined) return;
    const [name, , newOwner] = change;
    const isWatched = this.#watches.setOwner(name, newOwner);
    if (isWatched) this.#actor.ownerChanged?.(name, newOwner !== '');
  }
}
