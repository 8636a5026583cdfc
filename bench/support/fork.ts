// Both sides of the channel to a process that is measured: the measurement forks it and sends one order at a
// time, and the process obeys.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Launch } from './launch-flags.js';

/**
 * Each order is answered once it is carried out. `cpu` is answered with the microseconds of CPU that the
 * process has used.
 */
export interface Order {
  readonly do: string;
  readonly with?: number;
}

export class Forked {
  readonly pid: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid ?? -1;
  }

  /** Resolves with the process and the number that it sends first, such as its port. */
  static start(module: URL, ...args: readonly string[]): Promise<{ forked: Forked; firstValue: number }> {
    return Forked.launch({ flags: [], env: {} }, module, ...args);
  }

  /** Like `start`, on a Node that is started in a certain way. */
  static async launch(
    { flags, env }: Pick<Launch, 'flags' | 'env'>,
    module: URL,
    ...args: readonly string[]
  ): Promise<{ forked: Forked; firstValue: number }> {
    const child = fork(module, args, { execArgv: [...flags], env: { ...process.env, ...env } });
    const [firstValue] = (await once(child, 'message')) as [number];
    return { forked: new Forked(child), firstValue };
  }

  async order(order: Order): Promise<number> {
    const answer = once(this.#child, 'message');
    this.#child.send(order);
    const [value] = (await answer) as [number];
    return value;
  }

  async end(): Promise<void> {
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }
}

type Deed = (value: number) => number | undefined | Promise<number>;

/**
 * The process's side: sends `first`, then carries out orders by name; each may answer with a number. Ends
 * with the measurement.
 */
export function obey(first: number, orders: Readonly<Record<string, Deed>>): void {
  // Otherwise a process that listens, or has a timer, would go on for ever.
  process.once('disconnect', () => process.exit());
  const send = (value: number): void => void process.send?.(value);
  process.on('message', (order: Order) => {
    const act = orders[order.do];
    if (act === undefined) throw new Error(`no such order: ${order.do}`);
    void Promise.resolve(act(order.with ?? 0)).then((value) => send(value ?? 0));
  });
  send(first);
}

/** Acts again and again between the orders `begin` and `end`. */
export class Repetition {
  readonly #everyMs: number;
  readonly #act: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number, act: () => void) {
    this.#everyMs = everyMs;
    this.#act = act;
  }

  /** Its two orders, as `obey` takes them. */
  get orders(): { readonly begin: Deed; readonly end: Deed } {
    return { begin: () => this.#begin(), end: () => this.#end() };
  }

  #begin(): undefined {
    this.#timer = setInterval(this.#act, this.#everyMs);
  }

  #end(): undefined {
    clearInterval(this.#timer);
  }
}

/** Microseconds of CPU that this process has used. */
export function ownCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
