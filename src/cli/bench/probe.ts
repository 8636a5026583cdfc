// The part of `tonearm bench` that speaks to the sound server, in a thread of its own: it times requests, the codec, and the way from a
// change to the bytes that a listener gets. Of the server's it makes one corked stream, which goes with the connection; it changes
// nothing else there, and decides nothing about what its figures mean.

import { connect, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import {
  CookieReader,
  candidatePaths,
  cookiePaths,
  readCookie,
  readMachineId,
} from '../../actors/audio/server-files.js';
import { kindOfServer } from '../../actors/audio/view.js';
import { Link } from '../../actors/dial.js';
import { systemClock, within } from '../../clock.js';
import type { Reply, RequestArgs, RequestName } from '../../protocol/pulse/commands.js';
import { describeClosed } from '../../protocol/pulse/outcome.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import { homeDirectory } from '../../user-directories.js';
import { FULL, SAMPLE_SPEC, STEREO, sampleWork } from './sample-list.js';

/** Of a service on 127.0.0.1; how long all may take; how many listen beside the first one while their cost is measured. */
export interface ProbeTask {
  readonly port: number;
  readonly seconds: number;
  readonly listeners: number;
}

/** `ms`: each one's time. `cpuMs`: of the whole process, this thread's too, for one of them. */
export interface Changes {
  readonly ms: readonly number[];
  readonly cpuMs: number;
}

/** What is absent could not be measured, for the reason in `missing`. */
export interface ProbeFigures {
  /** Microseconds for one stream: its record off the wire; its record as JSON. */
  readonly decodeUs: readonly number[];
  readonly encodeUs: readonly number[];
  readonly server?: string;
  readonly roundTripMs?: readonly number[];
  /** Requests in a second, each time that so many were sent at once. */
  readonly pipelinedPerSecond?: readonly number[];
  /** With one listener, and with `listeners` more. */
  readonly alone?: Changes;
  readonly crowded?: Changes;
  readonly missing?: string;
}

const ANSWER_MS = 2_000;
const COOKIE_MS = 2_000;
const PIPELINED_REQUESTS = 32;
const SAMPLES_MAX = 10_000;
/** Between changes. Not a divisor of any timer's period, so that they do not fall in step with one. */
const EVERY_MS = 7.3;
/** What is kept of what a listener has read: more than one event of a busy node. */
const TAIL_CHARS = 64 * 1024;
/** `SinkInfo.state` of an output that sleeps. */
const SUSPENDED = 2;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `one` again and again for `ms`, at least once. */
async function forTime<T>(ms: number, one: () => T | Promise<T>): Promise<readonly T[]> {
  const end = performance.now() + ms;
  const all: T[] = [];
  do {
    all.push(await one());
  } while (performance.now() < end && all.length < SAMPLES_MAX);
  return all;
}

/** Rejects with why there is no connection. */
async function dialled(): Promise<Link> {
  const paths = cookiePaths(process.env, homeDirectory());
  const cookie = await new CookieReader(() => readCookie(paths), COOKIE_MS).read();
  const session = {
    cookie,
    clientProps: { 'application.name': 'tonearm bench' },
    authDeadlineMs: ANSWER_MS,
    requestDeadlineMs: ANSWER_MS,
    pendingMax: PIPELINED_REQUESTS,
  };
  let problem = '';
  for (const path of candidatePaths(process.env, process.getuid?.() ?? 0, readMachineId())) {
    const link = await new Promise<Link | string>((resolve) => {
      const opened: Link = new Link(
        { path, connectDeadlineMs: ANSWER_MS, session },
        {
          onReady: () => resolve(opened),
          onEvent: () => undefined,
          onClosed: (reason) => resolve(describeClosed(reason)),
        },
      );
    });
    if (typeof link !== 'string') return link;
    problem = link;
  }
  throw new Error(problem);
}

function ask<C extends RequestName>(link: Link, command: C, args: RequestArgs<C>): Promise<Reply<C>> {
  return new Promise((resolve, reject) => {
    link.request(command, args, (result) => {
      if (result.ok) resolve(result.value);
      else reject(new Error(`the sound server did not do ${command}: ${result.error.kind}`));
    });
  });
}

/** Corked, it plays nothing; on an output that is awake, if one is, and it keeps none awake. Answers with its number. */
async function silentStream(link: Link): Promise<number> {
  const sinks = await ask(link, 'GET_SINK_INFO_LIST', {});
  const sink: SinkInfo | undefined = sinks.find(({ state }) => state !== SUSPENDED) ?? sinks[0];
  if (sink === undefined) throw new Error('the sound server has no output');
  const reply = await ask(link, 'CREATE_PLAYBACK_STREAM', {
    sampleSpec: SAMPLE_SPEC,
    channelMap: STEREO,
    sink: sink.index,
    maxLength: undefined,
    corked: true,
    targetLength: undefined,
    prebuffering: undefined,
    minimumRequest: undefined,
    syncId: 0,
    volume: FULL,
    noRemap: false,
    noRemix: false,
    fixFormat: false,
    fixRate: false,
    fixChannels: false,
    noMove: true,
    variableRate: false,
    muted: false,
    adjustLatency: false,
    props: { 'media.name': 'tonearm bench' },
    volumeSet: false,
    earlyRequests: false,
    mutedSet: false,
    noInhibitAutoSuspend: true,
    failOnSuspend: false,
    relativeVolume: false,
    passthrough: false,
    formats: [],
  });
  return reply.stream;
}

/** One that listens to the stream of events. */
class Listener {
  readonly #socket: Socket;
  #tail = '';
  #wanted: { readonly text: string; readonly found: () => void } | undefined;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1' });
    this.#socket.setEncoding('latin1').on('data', (text: string) => this.#take(text));
    // What does not come is noticed by whoever waits for it.
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.write('GET /events?types=audio.updated HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  }

  /** Rejects if `text`, of which one call is waited for at a time, has not been read in time. */
  async reads(text: string): Promise<void> {
    const found = new Promise<true>((resolve) => {
      this.#wanted = { text, found: () => resolve(true) };
    });
    this.#take('');
    if ((await within(systemClock, ANSWER_MS, found)) === undefined) {
      throw new Error('a change was not told within 2 s');
    }
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#tail = (this.#tail + text).slice(-TAIL_CHARS);
    if (this.#wanted === undefined || !this.#tail.includes(this.#wanted.text)) return;
    this.#tail = '';
    this.#wanted.found();
    this.#wanted = undefined;
  }
}

/** The stream is renamed, which is a change like any other and no sound. Every name is another one, also those of two calls. */
async function changes(link: Link, stream: number, listener: Listener, ms: number): Promise<Changes> {
  const before = process.cpuUsage();
  const taken = await forTime(ms, async () => {
    const begun = performance.now();
    const name = `tonearm bench ${process.hrtime.bigint()}`;
    const [, at] = await Promise.all([
      ask(link, 'SET_PLAYBACK_STREAM_NAME', { stream, name }),
      listener.reads(`"${name}"`).then(() => performance.now()),
    ]);
    await pause(EVERY_MS);
    return at - begun;
  });
  const { user, system } = process.cpuUsage(before);
  return { ms: taken, cpuMs: (user + system) / 1000 / taken.length };
}

async function told(link: Link, { port, seconds, listeners }: ProbeTask): Promise<Partial<ProbeFigures>> {
  const open: Listener[] = [];
  const listen = async (count: number): Promise<void> => {
    const more = Array.from({ length: count }, () => new Listener(port));
    open.push(...more);
    await Promise.all(more.map((listener) => listener.reads('server.info')));
  };
  try {
    const stream = await silentStream(link);
    await listen(1);
    const [first] = open;
    if (first === undefined) return {};
    // The first changes are slow: nothing has been compiled yet.
    await changes(link, stream, first, seconds * 50);
    const alone = await changes(link, stream, first, seconds * 200);
    await listen(listeners);
    return { alone, crowded: await changes(link, stream, first, seconds * 200) };
  } finally {
    for (const listener of open) listener.close();
  }
}

/** Fills in as far as it comes. */
async function ofServer(figures: Partial<Mutable<ProbeFigures>>, task: ProbeTask): Promise<void> {
  const link = await dialled();
  try {
    const request = (): Promise<Reply<'GET_SERVER_INFO'>> => ask(link, 'GET_SERVER_INFO', {});
    const timed = async (one: () => Promise<unknown>): Promise<number> => {
      const begun = performance.now();
      await one();
      return performance.now() - begun;
    };
    const info = await request();
    figures.server = `${kindOfServer(info)}, ${info.packageName ?? ''} ${info.packageVersion ?? ''}`.trim();
    figures.roundTripMs = await forTime(task.seconds * 100, () => timed(request));
    const flood = (): Promise<unknown> => Promise.all(Array.from({ length: PIPELINED_REQUESTS }, request));
    const floods = await forTime(task.seconds * 100, () => timed(flood));
    figures.pipelinedPerSecond = floods.map((ms) => (PIPELINED_REQUESTS * 1000) / ms);
    Object.assign(figures, await told(link, task));
  } finally {
    link.close({ kind: 'stopped' });
  }
}

async function codec(seconds: number): Promise<Pick<ProbeFigures, 'decodeUs' | 'encodeUs'>> {
  const { decode, encode, streams } = sampleWork();
  const timed = (one: () => unknown) => (): number => {
    const begun = performance.now();
    one();
    return ((performance.now() - begun) * 1000) / streams;
  };
  // The first rounds are slow: nothing has been compiled yet.
  await forTime(seconds * 25, decode);
  const decodeUs = await forTime(seconds * 50, timed(decode));
  await forTime(seconds * 25, encode);
  return { decodeUs, encodeUs: await forTime(seconds * 50, timed(encode)) };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

async function probe(task: ProbeTask): Promise<ProbeFigures> {
  const figures: Mutable<ProbeFigures> = await codec(task.seconds);
  try {
    await ofServer(figures, task);
  } catch (error) {
    figures.missing = error instanceof Error ? error.message : String(error);
  }
  return figures;
}

void probe(workerData as ProbeTask).then((figures) => parentPort?.postMessage(figures));
