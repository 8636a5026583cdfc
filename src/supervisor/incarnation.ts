// One thread of one child, from its start to its end: its messages, what it may say in a second, its heartbeat, and the way to
// kill it. It does not know whether there was one before or will be one after.

import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { type Clock, RateLimit } from '../clock.js';
import {
  type FromActor,
  type Item,
  type Port,
  type ToActor,
  type ToBridge,
  typedPort,
} from '../protocol/actor/messages.js';
import type { Death, Thread, Threads } from './threads.js';

export interface HeartbeatPolicy {
  /** Between pings, and the age at which a thread gets its first one: loading is no reason for suspicion. */
  readonly everyMs: number;
  readonly pongWithinMs: number;
  /** One that hardly runs gets a ping at each so manieth time only. */
  readonly idleBeats: number;
}

/** Each ping wakes a thread, and its pong the main one: seven wake-ups a minute with four threads that are all at rest. */
export const HEARTBEAT: HeartbeatPolicy = { everyMs: 30_000, pongWithinMs: 10_000, idleBeats: 10 };

/** A thread that hangs is busy: what uses less of its time since the last beat has hung for a third of a second at most. */
const IDLE_UTILIZATION = 0.01;

/** Not exactly 1: reading the clocks costs a little, and the loop may have idled just behind the ping. */
const BUSY_UTILIZATION = 0.95;

/** Batches that follow each other this closely are a storm, in ms. */
const STORM_MS = 2;

/** More than an actor says at its end; a thread that said more had lost its mind before. */
const LAST_BATCHES_MAX = 1024;

/**
 * What one thread may say in a second: its messages queue in the main thread's memory, where nothing else limits them. An audio storm of
 * 1000 changes a second is far below; a thread that loops over `publish` reaches it within the second.
 */
const ITEMS_PER_SECOND_MAX = 50_000;

export interface IncarnationOptions {
  readonly threads: Pick<Threads, 'run'>;
  readonly entry: string;
  readonly settings: unknown;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Takes in what was said at one time, or in one storm. */
  readonly onBatch: (items: FromActor) => void;
  readonly onEnded: (death: Death) => void;
}

/** A ping that has no pong yet. */
interface AwaitedPong {
  readonly id: number;
  /** How often the pong was found missing. */
  readonly missed: number;
}

export class Incarnation {
  readonly #bornAt: number;
  readonly #rawPort: MessagePort;
  readonly #port: Port<ToActor | ToBridge, FromActor>;
  readonly #thread: Thread;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #onBatch: (items: FromActor) => void;
  /** What came in a storm, and has not been told. */
  #held: Item[] = [];
  #toldAt = Number.NEGATIVE_INFINITY;
  readonly #said = new RateLimit(ITEMS_PER_SECOND_MAX);
  #awaited: AwaitedPong | undefined;
  #lastPing = 0;
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
    // Its end is told by the thread, not by the port: the port may close first.
    this.#port.listen(
      (items) => this.#take(items),
      () => undefined,
    );
    this.#thread = threads.run(entry, { port: there, settings });
    this.#thread.ended.then(onEnded);
  }

  send(message: ToActor | ToBridge): void {
    this.#port.send(message);
  }

  /**
   * Tells at once what comes after a pause. In a storm all that comes in one turn of the loop is told at its end, as one: Node takes in up to
   * 1000 messages before it looks at a socket, and on a starved machine a request waited for 4 s (measured).
   */
  #take(items: FromActor): void {
    const isStorm = this.#clock.monotonic() - this.#toldAt < STORM_MS;
    if (this.#held.length === 0 && !isStorm) {
      this.#tell(items);
      return;
    }
    if (this.#held.length === 0) setImmediate(() => this.#tellHeld());
    for (const item of items) this.#held.push(item);
    if (this.#held.length > ITEMS_PER_SECOND_MAX) this.#tellHeld();
  }

  #tellHeld(): void {
    if (this.#held.length > 0) this.#tell(this.#takeHeld());
  }

  #takeHeld(): FromActor {
    const held = this.#held;
    this.#held = [];
    return held;
  }

  #tell(items: FromActor): void {
    this.#onBatch(items);
    this.#toldAt = this.#clock.monotonic();
  }

  /** Nothing that a killed thread said counts any more: it was killed because it cannot be trusted. */
  kill(reason: string): void {
    this.#killed = true;
    this.#thread.kill(reason);
  }

  get killed(): boolean {
    return this.#killed;
  }

  /** Takes note of `count` items; false when the thread floods. */
  admits(count: number, now: number): boolean {
    return this.#said.admits(now, count);
  }

  /** Pings unless the thread is too young, at rest, or owes a pong already; true when it was pinged. */
  ping(now: number, policy: HeartbeatPolicy): boolean {
    if (this.#awaited !== undefined || this.#killed || now - this.#bornAt < policy.everyMs) return false;
    this.#beats += 1;
    const utilization = this.#thread.utilization();
    this.#thread.measure();
    if (!isPinged(utilization, this.#beats, policy)) return false;
    this.#beats = 0;
    this.#lastPing += 1;
    this.#awaited = { id: this.#lastPing, missed: 0 };
    this.send({ kind: 'ping', id: this.#lastPing });
    return true;
  }

  pong(id: number): void {
    if (this.#awaited?.id === id) this.#awaited = undefined;
  }

  get owesPong(): boolean {
    return this.#awaited !== undefined;
  }

  /** To be called when the pong is due: kills the thread, or gives it more time (true). */
  checkPong(policy: HeartbeatPolicy): boolean {
    if (this.#awaited === undefined) return false;
    const { id, missed } = this.#awaited;
    const verdict = pongVerdict(this.#thread.utilization(), missed, policy);
    if (verdict.kind === 'kill') {
      this.#awaited = undefined;
      this.kill(verdict.reason);
      return false;
    }
    this.#awaited = { id, missed: missed + 1 };
    this.#thread.measure();
    return true;
  }

  /**
   * Closes the mailbox and answers with what lay in it: why a thread died, and what it did before, is said last, and Node
   * promises no order between a port's messages and the end of the thread that sent them.
   */
  close(): FromActor[] {
    const last = [this.#takeHeld()].filter((held) => held.length > 0 && !this.#killed);
    while (!this.#killed && last.length < LAST_BATCHES_MAX) {
      const found: { message: FromActor } | undefined = receiveMessageOnPort(this.#rawPort);
      if (found === undefined) break;
      last.push(found.message);
    }
    this.#port.close();
    return last;
  }
}

/** `utilization`: of the event loop since the last beat, or undefined for a task that never got a thread; `beats`: since the last ping. */
export function isPinged(utilization: number | undefined, beats: number, policy: HeartbeatPolicy): boolean {
  return utilization === undefined || utilization >= IDLE_UTILIZATION || beats >= policy.idleBeats;
}

export type PongVerdict =
  | { readonly kind: 'wait' }
  /** The thread is to be killed, for this reason. */
  | { readonly kind: 'kill'; readonly reason: string };

/**
 * What is to become of a thread whose pong did not come in time. `utilization` is that of its event loop since the ping or the last
 * verdict, 0..1; undefined for a task that never got a thread. `missed` counts earlier verdicts on the same ping.
 *
 * A busy loop is hung. An idle loop without an answer has another explanation that is not the actor's fault: the whole
 * process was frozen, or the main thread was, and the pong lies unread. So it gets the same time once more; after that
 * its mailbox is broken, and a thread that nobody can stop or ask is as dead as a hung one.
 */
export function pongVerdict(
  utilization: number | undefined,
  missed: number,
  policy: HeartbeatPolicy,
): PongVerdict {
  const seconds = ((missed + 1) * policy.pongWithinMs) / 1000;
  if (utilization !== undefined && utilization >= BUSY_UTILIZATION) {
    return { kind: 'kill', reason: `hung: busy and no answer to a ping for ${seconds} s` };
  }
  if (missed === 0) return { kind: 'wait' };
  return { kind: 'kill', reason: `deaf: idle and no answer to a ping for ${seconds} s` };
}
