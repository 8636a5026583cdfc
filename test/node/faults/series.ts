// Runs a series of faults on one node under load. It checks what must be true after each fault, and that the
// daemon takes hardly more resources than before.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { CHILD_NAMES } from '../../../src/protocol/actor/backends.js';
import type { Health } from '../../contract/daemon.js';
import { remark } from '../../remark.js';
import type { SeededRandom } from '../../seeded-random.js';
import { until } from '../../until.js';
import type { Fault } from './fault.js';
import type { FaultedNode } from './faulted-node.js';
import { type CompletedRequest, Load, Requests } from './load.js';
import { RTKIT_MS } from './services.js';
import { KeptStreams } from './streams.js';
import { read, untilEverybodyAgrees } from './truth.js';

const UP_WITHIN_MS = 30_000;

/**
 * The statuses that are allowed while something is away. A 500 is never allowed. Only a POST may get 404,
 * because no GET of the load names a thing that may have gone.
 */
const STATUSES: Readonly<Record<CompletedRequest['method'], readonly number[]>> = {
  GET: [200, 502, 503, 504],
  POST: [202, 404, 409, 502, 503, 504],
};

/** Resources that a process uses. */
interface Usage {
  readonly pid: number;
  readonly residentMb: number;
  readonly threads: number;
  readonly descriptors: number;
}

/** Three leaked threads take more than this. Without a leak, ten faults took 8 to 16 MB. */
const MORE_MB_MAX = 24;
/** A browser keeps up to six connections to one place, for a while. */
const MORE_DESCRIPTORS_MAX = 6;
/** The load chooses its requests, commands and messages at random, so some of them come late. */
const LOADED_WITHIN_MS = 5 * 60_000;
const SETTLED_WITHIN_MS = 90_000;

export class Series {
  readonly #faultedNode: FaultedNode;
  readonly #random: SeededRandom;
  readonly #requests: Requests;
  readonly #streams: KeptStreams;
  readonly #load: Load;
  #hasUpgradeBegun = false;
  #hasFailed = false;
  #usageBefore: Usage | undefined;

  private constructor(
    faultedNode: FaultedNode,
    random: SeededRandom,
    requests: Requests,
    streams: KeptStreams,
  ) {
    this.#faultedNode = faultedNode;
    this.#random = random;
    this.#requests = requests;
    this.#streams = streams;
    this.#load = new Load(faultedNode, requests, random);
  }

  /**
   * Resolves when every backend is up, every kind of load has worked, and all clients know the true state.
   */
  static async begin(faultedNode: FaultedNode, random: SeededRandom): Promise<Series> {
    const requests = new Requests(faultedNode.port);
    const series = new Series(faultedNode, random, requests, await KeptStreams.open(faultedNode.port));
    await series.#allIsUp(UP_WITHIN_MS);
    series.#load.begin();
    await until('every kind of load has worked', () => series.#load.hasAllWorked(), LOADED_WITHIN_MS);
    await series.#load.end();
    await series.#allKnowTheTruth();
    series.#usageBefore = await series.#usage();
    return series;
  }

  async end(): Promise<void> {
    await this.#load.end();
    this.#streams.close();
  }

  /**
   * Causes one fault and undoes it, under load and after an upgrade has begun. Then checks everything that
   * must be true.
   */
  async step(fault: Fault, t: TestContext): Promise<void> {
    // Steps after a failed one would fail for the same reason. A step counts as failed until its end.
    if (this.#hasFailed) return t.skip('an earlier step has failed');
    this.#hasFailed = true;
    const pid = await this.#pid();
    // A fault with this value ends the process, so the process is measured before the fault.
    if (fault.mayGo === 'all') await this.takesNoMoreThanBefore();
    const restartsBefore = await this.#restarts();
    const eventsBefore = this.#streams.eventCount;
    await this.#faultedNode.watchSound();
    await this.#beginUpgrade();
    this.#load.begin();

    const context = { faultedNode: this.#faultedNode, load: this.#load, random: this.#random };
    const mayGo = new Set<string>(fault.mayGo === 'all' ? CHILD_NAMES : fault.mayGo);
    /** True if PipeWire had to be restarted. Then the audio backend may go away, too. */
    const restartStuckSound = async (): Promise<boolean> => {
      if (!(await this.#faultedNode.restartStuckSound())) return false;
      mayGo.add('audio');
      return true;
    };
    try {
      this.#streams.pause();
      await fault.do(context);
      await fault.undo?.(context);
      // A restarted PipeWire may wait for rtkit (services.ts).
      const withinMs = (await restartStuckSound()) ? RTKIT_MS : (fault.upWithinMs ?? UP_WITHIN_MS);
      this.#streams.resume();
      await this.#allIsUp(withinMs);
    } finally {
      await this.#load.end();
    }
    // The load kills a client that takes too long. This may stop PipeWire's events (`restartStuckSound` in
    // faulted-node.ts).
    if (await restartStuckSound()) await this.#allIsUp(RTKIT_MS);
    await this.#faultedNode.endUpgrade(this.#random.pick(['0', '1']));
    try {
      await this.#allKnowTheTruth();
    } catch (error) {
      // The check itself may have stopped PipeWire's events, too. Or mpv hangs, so that nobody can read its
      // true state.
      const hasRestartedSound = await restartStuckSound();
      const hasRestartedPlayer = await this.#faultedNode.restartHungPlayer();
      if (!hasRestartedSound && !hasRestartedPlayer) throw error;
      remark(`asked once more for the truth: ${String(error instanceof Error ? error.cause : error)}`);
      await this.#allIsUp(RTKIT_MS);
      await this.#allKnowTheTruth();
    }

    if (fault.mayGo !== 'all' && (await this.#pid()) !== pid)
      assert.fail(`the daemon has ended:\n${await this.#faultedNode.lastLogLines()}`);
    this.#answersWereFine(fault);
    // A new process is compared with itself from now on.
    if ((await this.#pid()) !== this.#usageBefore?.pid) this.#usageBefore = await this.#usage();
    if (fault.mayGo !== 'all') {
      this.#nobodyElseWentAway(mayGo, eventsBefore);
      await this.#onlyExpectedThreadsDied(fault, restartsBefore);
    }
    this.#hasFailed = false;
  }

  /**
   * Waits until the daemon takes hardly more than when its process was first measured. `begin` measures the
   * first process, and `step` each new one, after a fault has ended the old one. The bounds are at the top
   * of this file.
   */
  async takesNoMoreThanBefore(): Promise<void> {
    const before = this.#usageBefore ?? assert.fail('nothing was measured');
    const isWithinBounds = async (): Promise<true> => {
      const now = await this.#usage();
      assert.equal(now.pid, before.pid);
      assert.ok(now.threads <= before.threads, `threads: ${now.threads}, before ${before.threads}`);
      const more = now.descriptors - before.descriptors;
      assert.ok(more <= MORE_DESCRIPTORS_MAX, `${more} descriptors more than ${before.descriptors}`);
      const moreMb = now.residentMb - before.residentMb;
      assert.ok(moreMb < MORE_MB_MAX, `${moreMb} MB more than ${before.residentMb}`);
      return true;
    };
    await until('the daemon takes no more than before', isWithinBounds, SETTLED_WITHIN_MS);
  }

  async #allIsUp(withinMs: number): Promise<void> {
    const isUp = async (): Promise<boolean> => {
      const { backends } = await read<Health>(this.#requests, '/health');
      for (const [name, { state, detail }] of Object.entries(backends))
        assert.equal(state, 'up', `${name}: ${detail ?? ''}`);
      return Object.keys(backends).length === CHILD_NAMES.length;
    };
    await until('every backend is up', isUp, withinMs);
  }

  #allKnowTheTruth(): Promise<void> {
    return untilEverybodyAgrees(this.#faultedNode, this.#requests, this.#streams, this.#hasUpgradeBegun);
  }

  /** Starts an upgrade, and waits until it is half-way. `endUpgrade` lets it go on after the fault. */
  async #beginUpgrade(): Promise<void> {
    await this.#faultedNode.node.userShell('rm -f ~/verdict ~/upgrade-ended');
    const { end, text } = await this.#requests.ask('POST', '/upgrade/start');
    assert.equal(end, 202, text);
    this.#hasUpgradeBegun = true;
    await until('the upgrade is half-way', async () => {
      const { run } = await read<{ run: { percent?: number } }>(this.#requests, '/upgrade');
      return run.percent === 50;
    });
  }

  #answersWereFine({ requestsMayHang, mayGo }: Fault): void {
    const isFine = ({ method, end }: CompletedRequest): boolean => {
      if (end === 'cut') return mayGo === 'all';
      if (end === 'hung') return requestsMayHang === true;
      return STATUSES[method].includes(end);
    };
    const failed = this.#requests.takeCompleted().filter((completed) => !isFine(completed));
    assert.deepEqual(failed, []);
  }

  #nobodyElseWentAway(mayGo: ReadonlySet<string>, eventsBefore: number): void {
    const gone = this.#streams.backendStatesSince(eventsBefore).filter(({ state }) => state !== 'up');
    const others = gone.filter(({ backend }) => !mayGo.has(backend));
    assert.deepEqual(others, []);
  }

  async #onlyExpectedThreadsDied(
    { threads = [] }: Fault,
    restartsBefore: Readonly<Record<string, number>>,
  ): Promise<void> {
    const restarts = Object.entries(await this.#restarts());
    const died = restarts.filter(([name, count]) => count !== restartsBefore[name]);
    assert.deepEqual(died.map(([name]) => name).sort(), [...new Set<string>(threads)].sort());
  }

  async #restarts(): Promise<Record<string, number>> {
    const { backends } = await read<Health>(this.#requests, '/health');
    return Object.fromEntries(Object.entries(backends).map(([name, { restarts }]) => [name, restarts]));
  }

  #pid(): Promise<number> {
    return this.#faultedNode.pidOf('user', 'tonearm.service');
  }

  /** Requests a garbage collection first, because memory that V8 has not collected yet is no leak. */
  async #usage(): Promise<Usage> {
    await this.#faultedNode.sabotage('collect');
    const pid = await this.#pid();
    const output = await this.#faultedNode.node.shell(
      `awk '/^VmRSS|^Threads/ { print $2 }' /proc/${pid}/status; ls /proc/${pid}/fd | wc -l`,
    );
    const [residentKb = 0, threads = 0, descriptors = 0] = output.trim().split('\n').map(Number);
    return { pid, residentMb: Math.round(residentKb / 1024), threads, descriptors };
  }
}
