// One thread of one child, from its start to its end: the mailbox, the pulse and the way to kill it. It does not know
// whether there was one before or will be one after.

import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { FromActor, ToActor } from '../protocol/actor/messages.js';
import { type Port, typedPort } from '../protocol/actor/port.js';
import type { Death } from './death.js';
import { FloodGauge } from './flood.js';
import { type HeartbeatPolicy, judge } from './heartbeat.js';
import type { Thread, Threads } from './threads.js';

/** More than an actor says at its end; a thread that said more had lost its mind before. */
const LAST_BATCHES_MAX = 1024;

export interface Birth {
  readonly threads: Threads;
  readonly entry: string;
  readonly settings: unknown;
  /** Monotonic ms. */
  readonly now: number;
  readonly onBatch: (items: FromActor) => void;
  readonly onEnded: (death: Death) => void;
}

/** A ping that has no pong yet. */
interface Awaited {
  readonly id: number;
  /** How often the pong was found missing. */
  readonly missed: number;
}

export class Incarnation {
  readonly #bornAt: number;
  readonly #rawPort: MessagePort;
  readonly #port: Port<ToActor, FromActor>;
  readonly #thread: Thread;
  readonly #flood = new FloodGauge();
  #awaited: Awaited | undefined;
  #lastPing = 0;
  #killed = false;

  constructor({ threads, entry, settings, now, onBatch, onEnded }: Birth) {
    const { port1: here, port2: there } = new MessageChannel();
    this.#bornAt = now;
    this.#rawPort = here;
    this.#port = typedPort<ToActor, FromActor>(here);
    // Its end is told by the thread, not by the port: the port may close first.
    this.#port.listen(onBatch, () => undefined);
    this.#thread = threads.run(entry, { port: there, settings });
    this.#thread.ended.then(onEnded);
  }

  send(message: ToActor): void {
    this.#port.send(message);
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
    return this.#flood.admits(count, now);
  }

  /** Pings unless the thread is too young or owes a pong already; true when it was pinged. */
  ping(now: number, policy: HeartbeatPolicy): boolean {
    if (this.#awaited !== undefined || this.#killed || now - this.#bornAt < policy.everyMs) return false;
    this.#lastPing += 1;
    this.#awaited = { id: this.#lastPing, missed: 0 };
    this.#thread.measure();
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
  judge(policy: HeartbeatPolicy): boolean {
    if (this.#awaited === undefined) return false;
    const { id, missed } = this.#awaited;
    const verdict = judge(this.#thread.utilization(), missed, policy);
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
    const last: FromActor[] = [];
    while (!this.#killed && last.length < LAST_BATCHES_MAX) {
      const found: { message: FromActor } | undefined = receiveMessageOnPort(this.#rawPort);
      if (found === undefined) break;
      last.push(found.message);
    }
    this.#port.close();
    return last;
  }
}
