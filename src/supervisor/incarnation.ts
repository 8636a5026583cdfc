// One thread of one child, from start to end: its messages, their rate limit, its heartbeat, and how it is
// killed. It does not know about earlier or later threads of the child.

import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { type Clock, RateLimit } from '../host/clock.js';
import {
  type FromActor,
  type Port,
  type PostedItem,
  type ThreadReport,
  type ToActor,
  type ToBridge,
  typedPort,
} from '../protocol/actor/messages.js';
import type { Death, Thread, Threads } from './threads.js';

export interface HeartbeatPolicy {
  /**
   * Interval of pings, and the minimum age of a thread for its first one, because loading a module may block
   * the loop.
   */
  readonly everyMs: number;
  readonly pongWithinMs: number;
  /** Idle threads are pinged only every `idleBeats` beats. */
  readonly idleBeats: number;
}

/** Each ping wakes a thread, and its pong the main thread: seven wake-ups a minute with four idle threads. */
export const HEARTBEAT: HeartbeatPolicy = { everyMs: 30_000, pongWithinMs: 10_000, idleBeats: 10 };

/**
 * A hung thread is busy. A thread below this utilization since the last beat has hung for a third of a second
 * at most.
 */
const IDLE_UTILIZATION = 0.01;

/**
 * Less than 1, because reading the clocks takes some time, and the loop may have idled just after the ping.
 */
const BUSY_UTILIZATION = 0.95;

/** Batches with less than this between them are a storm. */
const STORM_MS = 2;

/** The id of a ping whose pong has no deadline: only its report matters. */
const REPORT_ID = 0;

/** More than an actor sends at its end; a thread that sent more was already faulty. */
const LAST_BATCHES_MAX = 1024;

/**
 * The limit for one thread's messages: they queue in the main thread's memory, where nothing else limits
 * them. An audio storm of 1000 changes a second is far below; a thread that calls `publish` in a loop reaches
 * it within the second.
 */
const ITEMS_PER_SECOND_MAX = 50_000;

export interface IncarnationOptions {
  readonly threads: Pick<Threads, 'run'>;
  readonly entry: string;
  readonly settings: unknown;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Receives one batch, or all items of one storm. */
  readonly onBatch: (items: FromActor) => void;
  readonly onEnded: (death: Death) => void;
}

export class Incarnation {
  readonly #bornAt: number;
  readonly #rawPort: MessagePort;
  readonly #port: Port<ToActor | ToBridge, FromActor>;
  readonly #thread: Thread;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #onBatch: (items: FromActor) => void;
  /** Items of a storm that were not delivered yet. */
  #storm: PostedItem[] = [];
  #deliveredAt = Number.NEGATIVE_INFINITY;
  readonly #itemRate = new RateLimit(ITEMS_PER_SECOND_MAX);
  /** A ping that has no pong yet. `missed`: how often the pong was missing when it was due. */
  #openPing: { readonly id: number; readonly missed: number } | undefined;
  #lastPing = 0;
  #report: ThreadReport | undefined;
  #isReportDue = false;
  /** Since the last ping. */
  #beats = 0;
  #killed = false;

  constructor({ threads, entry, settings, clock, onBatch, onEnded }: IncarnationOptions) {
    const { port1: here, port2: there } = new MessageChannel();
    this.#bornAt = clock.monotonic();
    this.#clock = clock;
    this.#onBatch = onBatch;
    this.#rawPort = here;
    this.#port = typedPort<ToActor | ToBridge, FromActor>(here);
    // The thread reports the end, not the port, because the port may close first.
    this.#port.listen(this.#take, () => undefined);
    this.#thread = threads.run(entry, { port: there, settings });
    this.#thread.ended.then(onEnded);
  }

  send(message: ToActor | ToBridge): void {
    this.#port.send(message);
  }

  /**
   * Delivers at once after a pause. In a storm, all items of one turn of the loop are delivered together at
   * its end: Node reads up to 1000 messages before it polls the sockets, and on a starved machine a request
   * waited for 4 s (measured).
   */
  readonly #take = (items: FromActor): void => {
    if (this.#killed) return;
    const now = this.#clock.monotonic();
    if (!this.#itemRate.admits(now, items.length)) this.kill('flooded the main thread with messages');
    else if (this.#storm.length === 0 && now - this.#deliveredAt >= STORM_MS) {
      this.#onBatch(items);
      this.#deliveredAt = this.#clock.monotonic();
    } else {
      if (this.#storm.length === 0) setImmediate(() => this.#deliverStorm());
      for (const item of items) this.#storm.push(item);
    }
  };

  #deliverStorm(): void {
    const storm = this.#takeStorm();
    if (this.#killed || storm.length === 0) return;
    this.#onBatch(storm);
    this.#deliveredAt = this.#clock.monotonic();
  }

  #takeStorm(): FromActor {
    const storm = this.#storm;
    this.#storm = [];
    return storm;
  }

  /** Messages of a killed thread are ignored: it was killed because it cannot be trusted. */
  kill(reason: string): void {
    this.#killed = true;
    this.#thread.kill(reason);
  }

  /** Pings unless the thread is too young, idle, or has a ping open; true if it was pinged. */
  ping(now: number, policy: HeartbeatPolicy): boolean {
    if (this.#openPing !== undefined || this.#killed || now - this.#bornAt < policy.everyMs) return false;
    this.#beats += 1;
    const utilization = this.#thread.utilization();
    this.#thread.measure();
    if (!isPinged(utilization, this.#beats, policy)) return false;
    this.#beats = 0;
    this.#lastPing += 1;
    this.#openPing = { id: this.#lastPing, missed: 0 };
    this.send({ kind: 'ping', id: this.#lastPing });
    return true;
  }

  pong(id: number, report: ThreadReport): void {
    this.#report = report;
    this.#isReportDue = false;
    if (this.#openPing?.id === id) this.#openPing = undefined;
  }

  /** The last report of the thread. The call requests another one, for the next time. */
  report(): ThreadReport | undefined {
    if (!this.#isReportDue) this.send({ kind: 'ping', id: REPORT_ID });
    this.#isReportDue = true;
    return this.#report;
  }

  get isPongDue(): boolean {
    return this.#openPing !== undefined;
  }

  /** Call when the pong is due: kills the thread, or gives it more time (true). */
  checkPong(policy: HeartbeatPolicy): boolean {
    if (this.#openPing === undefined) return false;
    const { id, missed } = this.#openPing;
    const reason = whyKilled(this.#thread.utilization(), missed, policy);
    if (reason !== undefined) {
      this.#openPing = undefined;
      this.kill(reason);
      return false;
    }
    this.#openPing = { id, missed: missed + 1 };
    this.#thread.measure();
    return true;
  }

  /**
   * Closes the port and returns its unread messages: a thread's last messages explain its death, and Node
   * does not guarantee that they arrive before the end of the thread.
   */
  close(): FromActor[] {
    const last = [this.#takeStorm()].filter((storm) => storm.length > 0 && !this.#killed);
    while (!this.#killed && last.length < LAST_BATCHES_MAX) {
      const found: { message: FromActor } | undefined = receiveMessageOnPort(this.#rawPort);
      if (found === undefined) break;
      last.push(found.message);
    }
    this.#port.close();
    return last;
  }
}

/**
 * `utilization`: of the event loop since the last beat; undefined for a task that never got a thread.
 * `beats`: since the last ping.
 */
export function isPinged(utilization: number | undefined, beats: number, policy: HeartbeatPolicy): boolean {
  return utilization === undefined || utilization >= IDLE_UTILIZATION || beats >= policy.idleBeats;
}

/**
 * Decides about a thread whose pong is late: the reason for which it must be killed, or undefined if it gets
 * more time. `utilization` is that of its event loop since the ping or the last verdict, 0..1; undefined for
 * a task that never got a thread. `missed` counts earlier verdicts on the same ping.
 *
 * A busy loop is hung. An idle loop without an answer may not be the actor's fault: the whole process or the
 * main thread was suspended, and the pong is still unread. So it gets the same time once more. After that its
 * port is broken, and a thread that cannot be stopped or asked is as useless as a hung one.
 */
export function whyKilled(
  utilization: number | undefined,
  missed: number,
  policy: HeartbeatPolicy,
): string | undefined {
  const seconds = ((missed + 1) * policy.pongWithinMs) / 1000;
  if (utilization !== undefined && utilization >= BUSY_UTILIZATION)
    return `hung: busy and no answer to a ping for ${seconds} s`;
  return missed === 0 ? undefined : `not responding: idle and no answer to a ping for ${seconds} s`;
}
