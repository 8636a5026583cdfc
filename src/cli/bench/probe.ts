// Measures for `tonearm bench`, in a thread of its own, how fast the codec, the sound server and the bench's
// service are. The codec decodes and encodes the records of streams. On the sound server, the probe creates
// one corked stream. The stream ends when the probe's connection ends.

import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { findServer, readMachineId } from '../../actors/audio/server-address.js';
import { cookiePaths, readCookie } from '../../actors/audio/server-files.js';
import { kindOfServer } from '../../actors/audio/server-kind.js';
import { Link } from '../../actors/dial.js';
import { systemClock, within } from '../../host/clock.js';
import { homeDirectory } from '../../host/user-directories.js';
import { errorText } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import {
  type Reply,
  type RequestArgs,
  type RequestName,
  SIMPLE_STREAM,
} from '../../protocol/pulse/commands.js';
import { describeClosed } from '../../protocol/pulse/outcome.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import { type Figures, type Measured, quantile } from './report.js';
import { FULL_VOLUMES, SAMPLE_SPEC, STEREO, sampleWork } from './sample-list.js';

export interface ProbeTask {
  /** The service's port on 127.0.0.1. */
  readonly port: number;
  /** Roughly the time for all measurements together, including the one at rest (bench.ts). */
  readonly seconds: number;
  /** How many listeners join the first one for the last measurement. */
  readonly listeners: number;
}

const ANSWER_WITHIN_MS = 2_000;
const PIPELINED_REQUESTS = 32;
const SAMPLES_MAX = 10_000;
/** How many milliseconds each measurement takes for each second of the requested time. */
const REQUESTS_MS_PER_SECOND = 100;
const CHANGES_MS_PER_SECOND = 200;
const CODEC_MS_PER_SECOND = 50;
/** The first calls are slow, because V8 has compiled nothing yet. So the warm-ups are not counted. */
const CHANGES_WARM_UP_MS_PER_SECOND = 50;
const CODEC_WARM_UP_MS_PER_SECOND = 25;
/**
 * The pause between changes. No timer's period is a multiple of it, so changes do not coincide with a timer.
 */
const CHANGE_PAUSE_MS = 7.3;
/** A listener searches only the newest characters, up to this number. One event of a busy node has fewer. */
const TAIL_CHARS = 64 * 1024;
/** `SinkInfo.state` of a suspended output. */
const SUSPENDED = 2;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Calls `action` for about `forMs`, but once at least, and SAMPLES_MAX times at most. Returns the results.
 */
async function repeatFor<T>(forMs: number, action: () => T | Promise<T>): Promise<readonly T[]> {
  const end = performance.now() + forMs;
  const results: T[] = [];
  do {
    results.push(await action());
  } while (performance.now() < end && results.length < SAMPLES_MAX);
  return results;
}

/** The milliseconds that each call takes. */
function timeCalls(forMs: number, action: () => unknown): Promise<readonly number[]> {
  return repeatFor(forMs, async () => {
    const begun = performance.now();
    await action();
    return performance.now() - begun;
  });
}

/** Rejects with the reason why there is no connection. */
async function dialServer(): Promise<Link> {
  const cookie = await readCookie(cookiePaths(process.env, homeDirectory()));
  const session = {
    cookie,
    clientProps: { 'application.name': 'tonearm bench' },
    authDeadlineMs: ANSWER_WITHIN_MS,
    requestDeadlineMs: ANSWER_WITHIN_MS,
    pendingMax: PIPELINED_REQUESTS,
  };
  const { env } = process;
  const uid = process.getuid?.() ?? 0;
  const found = await findServer({ env, uid, home: homeDirectory(), machineId: readMachineId() });
  if (!found.ok) throw new Error(found.error);
  let firstProblem = '';
  for (const path of found.value.paths) {
    const dialled = await new Promise<Result<Link, string>>((resolve) => {
      const opened: Link = new Link(
        { path, connectDeadlineMs: ANSWER_WITHIN_MS, session },
        {
          onReady: () => resolve(success(opened)),
          onEvent: () => undefined,
          onClosed: (reason) => resolve(failed(describeClosed(reason))),
        },
      );
    });
    if (dialled.ok) return dialled.value;
    // The first path is the likeliest one, so its problem is reported.
    firstProblem ||= dialled.error;
  }
  throw new Error(firstProblem);
}

function ask<C extends RequestName>(link: Link, command: C, args: RequestArgs<C>): Promise<Reply<C>> {
  return new Promise((resolve, reject) => {
    link.request(command, args, (result) => {
      if (result.ok) resolve(result.value);
      else reject(new Error(`the sound server did not carry out ${command}: ${result.error.kind}`));
    });
  });
}

/**
 * Opens a corked stream, which plays nothing and keeps no output awake. Prefers an output that is awake
 * already, because PulseAudio wakes a suspended one for a moment when a stream begins. Returns the stream's
 * index.
 */
async function openSilentStream(link: Link): Promise<number> {
  const sinks = await ask(link, 'GET_SINK_INFO_LIST', {});
  const sink: SinkInfo | undefined = sinks.find(({ state }) => state !== SUSPENDED) ?? sinks[0];
  if (sink === undefined) throw new Error('the sound server has no output');
  const reply = await ask(link, 'CREATE_PLAYBACK_STREAM', {
    ...SIMPLE_STREAM,
    sampleSpec: SAMPLE_SPEC,
    channelMap: STEREO,
    sink: sink.index,
    corked: true,
    targetLength: undefined,
    prebuffering: undefined,
    minimumRequest: undefined,
    syncId: 0,
    volume: FULL_VOLUMES,
    noMove: true,
    adjustLatency: false,
    props: { 'media.name': 'tonearm bench' },
    noInhibitAutoSuspend: true,
  });
  return reply.stream;
}

class Listener {
  readonly #socket: Socket;
  #tail = '';
  #awaited: { readonly text: string; readonly onFound: () => void } | undefined;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1' });
    // `waitFor` searches for ASCII texts only, so the bytes need no decoding as UTF-8. latin1 makes one
    // character of each byte.
    this.#socket.setEncoding('latin1').on('data', (text: string) => this.#received(text));
    // If the connection is lost, `waitFor` rejects because of its time-out.
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.write('GET /events?types=audio.updated HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  }

  /**
   * Rejects if `text` was not read in time. The error names the text by `description`. Only one call at a
   * time is allowed.
   */
  async waitFor(text: string, description: string): Promise<void> {
    const found = new Promise<true>((resolve) => {
      this.#awaited = { text, onFound: () => resolve(true) };
    });
    // The text may have come before this call, so the present tail is searched without new characters.
    this.#received('');
    const isLate = (await within(systemClock, ANSWER_WITHIN_MS, found)) === undefined;
    if (isLate) throw new Error(`${description} was not reported within 2 s`);
  }

  close(): void {
    this.#socket.destroy();
  }

  #received(text: string): void {
    this.#tail = (this.#tail + text).slice(-TAIL_CHARS);
    if (this.#awaited === undefined || !this.#tail.includes(this.#awaited.text)) return;
    this.#tail = '';
    this.#awaited.onFound();
    this.#awaited = undefined;
  }
}

/**
 * Renames the stream again and again, because a new name is a change without a sound. `delaysMs` has one
 * value per change: the time until the listener has read the change. `cpuMs` is the CPU time that one change
 * costs the whole process, in which the service and all listeners run.
 */
async function measureChanges(link: Link, streamIndex: number, listener: Listener, forMs: number) {
  const before = process.cpuUsage();
  const delaysMs = await repeatFor(forMs, async () => {
    const begun = performance.now();
    // No name comes twice.
    const name = `tonearm bench ${process.hrtime.bigint()}`;
    const [, readAt] = await Promise.all([
      ask(link, 'SET_PLAYBACK_STREAM_NAME', { stream: streamIndex, name }),
      listener.waitFor(`"${name}"`, 'a change').then(() => performance.now()),
    ]);
    await pause(CHANGE_PAUSE_MS);
    return readAt - begun;
  });
  const { user, system } = process.cpuUsage(before);
  return { delaysMs, cpuMs: (user + system) / 1000 / delaysMs.length };
}

async function measureListeners(link: Link, task: ProbeTask, figures: Figures): Promise<void> {
  const { port, seconds, listeners } = task;
  const openListeners: Listener[] = [];
  const listen = async (): Promise<Listener> => {
    const listener = new Listener(port);
    openListeners.push(listener);
    // Each event stream begins with `server.info`, even if the stream's filter does not name this event.
    await listener.waitFor('server.info', 'the start of an event stream');
    return listener;
  };
  try {
    const streamIndex = await openSilentStream(link);
    const firstListener = await listen();
    await measureChanges(link, streamIndex, firstListener, seconds * CHANGES_WARM_UP_MS_PER_SECOND);
    const alone = await measureChanges(link, streamIndex, firstListener, seconds * CHANGES_MS_PER_SECOND);
    figures.event_to_bytes_ms_p50 = quantile(alone.delaysMs, 0.5);
    figures.event_to_bytes_ms_p99 = quantile(alone.delaysMs, 0.99);
    figures.cpu_ms_per_change = alone.cpuMs;
    await Promise.all(Array.from({ length: listeners }, listen));
    const crowded = await measureChanges(link, streamIndex, firstListener, seconds * CHANGES_MS_PER_SECOND);
    figures.cpu_ms_per_change_crowded = crowded.cpuMs;
  } finally {
    for (const listener of openListeners) listener.close();
  }
}

/** Adds each figure as soon as it is measured, because a later failure must not lose it. */
async function measureServer(task: ProbeTask, measured: Mutable<Measured>): Promise<void> {
  const link = await dialServer();
  const { figures } = measured;
  try {
    const request = (): Promise<Reply<'GET_SERVER_INFO'>> => ask(link, 'GET_SERVER_INFO', {});
    const info = await request();
    measured.server = `${kindOfServer(info)}, ${info.packageName ?? ''} ${info.packageVersion ?? ''}`.trim();
    const roundTripsMs = await timeCalls(task.seconds * REQUESTS_MS_PER_SECOND, request);
    figures.round_trip_ms_p50 = quantile(roundTripsMs, 0.5);
    figures.round_trip_ms_p99 = quantile(roundTripsMs, 0.99);
    const flood = (): Promise<unknown> => Promise.all(Array.from({ length: PIPELINED_REQUESTS }, request));
    const floodsMs = await timeCalls(task.seconds * REQUESTS_MS_PER_SECOND, flood);
    figures.pipelined_requests_per_second = (PIPELINED_REQUESTS * 1000) / quantile(floodsMs, 0.5);
    await measureListeners(link, task, figures);
  } finally {
    link.close({ kind: 'stopped' });
  }
}

async function measureCodec(seconds: number): Promise<Figures> {
  const { decode, encode, streams: streamCount } = sampleWork();
  const perStreamUs = async (work: () => unknown): Promise<number> => {
    await repeatFor(seconds * CODEC_WARM_UP_MS_PER_SECOND, work);
    const callsMs = await timeCalls(seconds * CODEC_MS_PER_SECOND, work);
    const medianMs = quantile(callsMs, 0.5);
    return (medianMs * 1000) / streamCount;
  };
  return { decode_us_per_stream: await perStreamUs(decode), encode_us_per_stream: await perStreamUs(encode) };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

async function probe(task: ProbeTask): Promise<Measured> {
  const measured: Mutable<Measured> = { figures: await measureCodec(task.seconds) };
  try {
    await measureServer(task, measured);
  } catch (error) {
    measured.missing = errorText(error);
  }
  return measured;
}

void probe(workerData as ProbeTask).then((measured) => parentPort?.postMessage(measured));
