// Decides about one thread of a child: when its messages are delivered, when it is pinged, and why it is
// killed. This file knows nothing of earlier or later threads of the child.

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
  /** The time between two beats. A beat pings no thread that is younger than this. */
  readonly everyMs: number;
  /** A thread that has sent no message is pinged only from this age on, because it may still load. */
  readonly loadMs: number;
  readonly pongWithinMs: number;
  /** An idle thread is pinged once in this many beats. */
  readonly idleBeats: number;
}

/**
 * Idle threads are pinged ten times less often, because a ping wakes the thread, and its pong wakes the main
 * thread. A thread answers no ping while it loads. Loading may take longer than half a minute on a slow board
 * on which other programs start. If the thread were killed then, the next one would have to load again.
 */
export const HEARTBEAT: HeartbeatPolicy = {
  everyMs: 30_000,
  loadMs: 5 * 60_000,
  pongWithinMs: 10_000,
  idleBeats: 10,
};

/**
 * A thread counts as idle if the utilization of its event loop, 0..1, is below this value. A thread that
 * hangs keeps its loop busy. So a thread that was busy for less than 0.3 s (1 % of 30 s) since the last beat
 * need not be pinged at each beat.
 */
const IDLE_UTILIZATION = 0.01;

/**
 * With this utilization or more, a thread counts as busy all the time. The value is less than 1, because
 * reading the clocks takes some time, and because a thread may begin to hang a moment after the ping.
 */
const BUSY_UTILIZATION = 0.95;

/** Batches that follow each other faster than this are a storm. */
const STORM_MS = 2;

/** The id of a ping that only requests a report, which comes in the pong. The pong has no deadline. */
const REPORT_PING_ID = 0;

/** At most this many batches are read after a thread's end. Only a faulty actor sends more. */
const LAST_BATCHES_MAX = 1024;

/**
 * A thread that sends more items is killed, because nothing else limits its messages in the main thread's
 * memory. Even a storm has only 1000 changes of sound a second. A thread that publishes records in an endless
 * loop reaches the limit within a second.
 */
const ITEMS_PER_SECOND_MAX = 50_000;

export interface IncarnationOptions {
  readonly threads: Pick<Threads, 'run'>;
  readonly actorFile: string;
  readonly settings: unknown;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Receives one batch or, in a storm, the items of all batches of one turn. */
  readonly onBatch: (items: FromActor) => void;
  readonly onEnded: (death: Death) => void;
}

export class Incarnation {
  readonly #startedAt: number;
  readonly #rawPort: MessagePort;
  readonly #port: Port<ToActor | ToBridge, FromActor>;
  readonly #thread: Thread;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #onBatch: (items: FromActor) => void;
  /** Items of a storm that have not been delivered yet. */
  #storm: PostedItem[] = [];
  /** The monotonic time after the last delivery, in ms. */
  #deliveredAt = Number.NEGATIVE_INFINITY;
  readonly #itemRate = new RateLimit(ITEMS_PER_SECOND_MAX);
  /** The ping that has no pong yet. `missed` counts how often the pong was due and had not arrived. */
  #openPing: { readonly id: number; readonly missed: number } | undefined;
  #lastPingId = 0;
  #lastReport: ThreadReport | undefined;
  #isReportRequested = false;
  #beatsSincePing = 0;
  #hasSentMessage = false;
  #isKilled = false;

  constructor({ threads, actorFile, settings, clock, onBatch, onEnded }: IncarnationOptions) {
    const { port1: ownPort, port2: threadPort } = new MessageChannel();
    this.#startedAt = clock.monotonic();
    this.#clock = clock;
    this.#onBatch = onBatch;
    this.#rawPort = ownPort;
    this.#port = typedPort<ToActor | ToBridge, FromActor>(ownPort);
    // The port may close before the thread ends. Only the end of the thread counts.
    this.#port.listen(this.#receive, () => undefined);
    this.#thread = threads.run(actorFile, { port: threadPort, settings });
    this.#thread.ended.then(onEnded);
  }

  send(message: ToActor | ToBridge): void {
    this.#port.send(message);
  }

  /**
   * Delivers a batch at once if it comes after a pause. In a storm, all batches of one turn are delivered
   * together at the end of the turn, because one delivery costs less than many. Node.js receives up to 1000
   * messages before it reads the sockets, so an HTTP request would wait for 1000 deliveries. On a machine
   * with little CPU, a request waited for 4 s (bench/FIGURES.md, "Answers and events").
   */
  readonly #receive = (items: FromActor): void => {
    if (this.#isKilled) return;
    this.#hasSentMessage = true;
    const now = this.#clock.monotonic();
    if (!this.#itemRate.admit(now, items.length)) this.kill('flooded the main thread with messages');
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
    // The storm is empty if the thread has ended meanwhile, because `close` has returned the items.
    if (this.#isKilled || storm.length === 0) return;
    this.#onBatch(storm);
    this.#deliveredAt = this.#clock.monotonic();
  }

  #takeStorm(): FromActor {
    const storm = this.#storm;
    this.#storm = [];
    return storm;
  }

  /** Kills the thread and ignores its messages from now on, because it cannot be trusted. */
  kill(reason: string): void {
    this.#isKilled = true;
    this.#thread.kill(reason);
  }

  /**
   * To be called at each beat. Returns true if the thread was pinged. A thread is not pinged if it is killed
   * or too young, or has not answered the last ping. An idle thread is pinged once in `idleBeats` beats.
   */
  ping(now: number, policy: HeartbeatPolicy): boolean {
    const isTooYoung = now - this.#startedAt < (this.#hasSentMessage ? policy.everyMs : policy.loadMs);
    if (this.#isKilled || isTooYoung || this.#openPing !== undefined) return false;
    this.#beatsSincePing += 1;
    const utilization = this.#thread.utilization();
    this.#thread.measure();
    if (!needsPing(utilization, this.#beatsSincePing, policy)) return false;
    this.#beatsSincePing = 0;
    this.#lastPingId += 1;
    this.#openPing = { id: this.#lastPingId, missed: 0 };
    this.send({ kind: 'ping', id: this.#lastPingId });
    return true;
  }

  pong(id: number, report: ThreadReport): void {
    this.#lastReport = report;
    this.#isReportRequested = false;
    if (this.#openPing?.id === id) this.#openPing = undefined;
  }

  /**
   * Returns the last report, and requests a newer one for the next call. The result is undefined before the
   * first report.
   */
  requestReport(): ThreadReport | undefined {
    if (!this.#isReportRequested) this.send({ kind: 'ping', id: REPORT_PING_ID });
    this.#isReportRequested = true;
    return this.#lastReport;
  }

  get isPongAwaited(): boolean {
    return this.#openPing !== undefined;
  }

  /**
   * To be called when the pong is due. Returns true if the thread gets more time. Otherwise no pong is
   * awaited, or this call kills the thread.
   */
  checkPong(policy: HeartbeatPolicy): boolean {
    if (this.#openPing === undefined) return false;
    const { id, missed } = this.#openPing;
    const reason = reasonToKill(this.#thread.utilization(), missed, policy);
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
   * Returns the batches that were not delivered, oldest first. They are needed because a thread's last
   * messages explain its death, and Node does not guarantee that these messages arrive before the thread's
   * end. The list of a killed thread is empty.
   */
  close(): FromActor[] {
    const batches = this.#isKilled ? [] : this.#unreadBatches();
    this.#port.close();
    return batches;
  }

  #unreadBatches(): FromActor[] {
    const storm = this.#takeStorm();
    const batches = storm.length > 0 ? [storm] : [];
    while (batches.length < LAST_BATCHES_MAX) {
      const received: { message: FromActor } | undefined = receiveMessageOnPort(this.#rawPort);
      if (received === undefined) break;
      batches.push(received.message);
    }
    return batches;
  }
}

/**
 * `utilization` is that of the thread's event loop since the last beat, 0..1; undefined if the thread could
 * not be started.
 */
export function needsPing(
  utilization: number | undefined,
  beatsSincePing: number,
  policy: HeartbeatPolicy,
): boolean {
  const isIdle = utilization !== undefined && utilization < IDLE_UTILIZATION;
  return !isIdle || beatsSincePing >= policy.idleBeats;
}

/**
 * Returns the reason to kill a thread whose pong is late; undefined if the thread gets more time.
 * `utilization` is that of the thread's event loop since the ping, or since the last call for this ping,
 * 0..1; undefined if the thread could not be started. `missed` counts the earlier calls for this ping.
 *
 * A thread with a busy loop hangs. If the loop is idle, the pong may be unread, because the whole process or
 * the main thread was suspended. So the thread gets the same time once more. If the pong is still missing
 * then, the port is broken, and the thread would get no commands.
 */
export function reasonToKill(
  utilization: number | undefined,
  missed: number,
  policy: HeartbeatPolicy,
): string | undefined {
  const seconds = ((missed + 1) * policy.pongWithinMs) / 1000;
  if (utilization !== undefined && utilization >= BUSY_UTILIZATION)
    return `hung: busy and no answer to a ping for ${seconds} s`;
  return missed === 0 ? undefined : `not responding: idle and no answer to a ping for ${seconds} s`;
}
