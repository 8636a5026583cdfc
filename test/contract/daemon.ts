// Runs the built daemon for a test, on a free port and with a configuration of its own. The methods of
// `Daemon` send requests and signals, and end or restart the process. This file uses none of the daemon's
// code.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EventConsumer } from '../consumer/consumer.js';
import { Conformance } from '../gateway/openapi-conformance.js';
import { type Environment, type Program, startProgram } from '../sound/program.js';
import { freePort } from '../tools/free-port.js';
import { type HttpAnswer, send } from '../tools/http.js';
import { Hopeless, until } from '../until.js';

/** The shipped bundle. `npm run build` makes it together with the compiled tests. */
export const ENTRY = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
/** A configuration in which no backend is enabled. */
export const NO_BACKENDS = 'systemd: {enabled: false}\npulseaudio: {enabled: false}\n';
/** Matches every `detail`, and also a missing one. */
const ANY_DETAIL = /(?:)/;
/** Arguments of Node that make threads hang or end on SIGUSR2, see saboteur.ts. */
export const SABOTEUR = [`--import=${new URL('../node/faults/saboteur.js', import.meta.url).href}`];

export interface DaemonOptions {
  /** Variables to add to the environment, such as those of a sound server. */
  readonly env?: Environment;
  /** Sections of the configuration besides `api`, in YAML. */
  readonly config?: string;
  /** Keys below `api` besides `port`, in YAML flow style, such as `sse: {maxClients: 2}`. */
  readonly api?: string;
  /** The `main.js` of another build than the shipped one. */
  readonly entry?: string;
  /** Arguments of Node itself. */
  readonly nodeArguments?: readonly string[];
  /** A program with its arguments, such as `prlimit`, that changes its process and then executes Node. */
  readonly launcher?: readonly string[];
  /** The daemon must answer within this time, in ms; by default within the deadline of `until`. */
  readonly startMs?: number;
}

/** A test, or a group of tests. `after` registers a function that runs when the test or group ends. */
export interface Ending {
  after(end: () => Promise<void>): void;
}

export class Daemon {
  readonly port: number;
  readonly directory: string;
  readonly #launch: () => Program;
  readonly #streams = new Set<EventConsumer>();
  #conformance: Conformance | undefined;
  #program: Program;

  private constructor(port: number, directory: string, launch: () => Program) {
    this.port = port;
    this.directory = directory;
    this.#launch = launch;
    this.#program = launch();
  }

  /** Starts a daemon, and resolves when it answers. With `t`, the daemon ends when `t` ends. */
  static async start(options: DaemonOptions = {}, t?: Ending): Promise<Daemon> {
    const directory = mkdtempSync(join(tmpdir(), 'tonearm-daemon-'));
    const port = await freePort();
    const extraApi = options.api === undefined ? '' : `, ${options.api}`;
    const config = join(directory, 'config.yaml');
    writeFileSync(config, `api: {port: ${port}${extraApi}}\n${options.config ?? ''}`);
    const daemon = new Daemon(port, directory, () => launchDaemon(directory, config, options));
    process.once('exit', daemon.#killAtExit);
    t?.after(() => daemon.stop());
    await daemon.#untilAnswering(options.startMs);
    return daemon;
  }

  get pid(): number {
    return this.#program.pid;
  }

  get log(): string {
    return readFileSync(join(this.directory, 'log'), 'utf8');
  }

  /** The resident memory of the process, in MB. */
  get memoryMb(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024);
  }

  get(path: string, headers?: Environment): Promise<HttpAnswer> {
    return this.send('GET', path, undefined, headers);
  }

  /** Sends `body` as JSON, or no body if it is undefined. */
  post(path: string, body?: unknown): Promise<HttpAnswer> {
    return this.send('POST', path, body);
  }

  /** Sends a request, and checks the answer against the daemon's own OpenAPI document. */
  async send(method: string, path: string, body?: unknown, headers?: Environment): Promise<HttpAnswer> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const contentType = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const request = { method, path, ...json, headers: { ...contentType, ...headers } };
    const answer = await send(this.port, request);
    this.#conformance ??= Conformance.of((await send(this.port, { path: '/openapi.json' })).text);
    this.#conformance.check(method, path, answer);
    return answer;
  }

  /** Sends a GET, and returns the parsed body. The status must be 200. */
  async read<T>(path: string): Promise<T> {
    const answer = await this.get(path);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as T;
  }

  async events(query = ''): Promise<EventConsumer> {
    const consumer = await EventConsumer.open(`http://127.0.0.1:${this.port}/events${query}`);
    this.#streams.add(consumer);
    return consumer;
  }

  health(): Promise<Health> {
    return this.read('/health');
  }

  /** Waits until the backend has this state, and a `detail` that the pattern matches. */
  async untilBackend(name: string, state: string, detailPattern = ANY_DETAIL): Promise<void> {
    await until(`${name} is ${state} ${detailPattern}`, async () => {
      const backend = (await this.health()).backends[name];
      return backend?.state === state && detailPattern.test(backend.detail ?? '');
    });
  }

  /** Waits until exactly this number of event streams is open. */
  async untilStreamsOpen(count: number): Promise<void> {
    await until(`${count} streams are open`, async () => (await this.health()).streams.open === count);
  }

  signal(signal: NodeJS.Signals): void {
    this.#program.signal(signal);
  }

  /** Waits for the end of the process. Resolves with its exit status, or with the signal that ended it. */
  status(): Promise<number | NodeJS.Signals | null> {
    return this.#program.status();
  }

  isAlive(): boolean {
    return this.#program.alive();
  }

  /** Ends the daemon with `signal`, and starts it again with the same configuration and port. */
  async restart(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.end(signal);
    await this.resume();
  }

  /** Ends the process, and keeps the directory, so that `resume` can start the daemon again. */
  end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    return this.#program.end(signal);
  }

  /** Starts the daemon again after `end`, with the same configuration and port. */
  async resume(): Promise<void> {
    this.#program = this.#launch();
    await this.#untilAnswering();
  }

  /** Closes the streams that the test has opened, ends the daemon for good, and removes its directory. */
  async stop(): Promise<void> {
    for (const stream of this.#streams) stream.close();
    await this.#program.end();
    process.off('exit', this.#killAtExit);
    rmSync(this.directory, { recursive: true, force: true });
  }

  readonly #killAtExit = (): void => {
    this.#program.signal('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  };

  async #untilAnswering(withinMs?: number): Promise<void> {
    const isAnswering = async (): Promise<boolean> => {
      if (!this.#program.alive()) throw new Hopeless('the daemon has ended');
      return (await this.get('/server')).status === 200;
    };
    await until('the daemon answers', isAnswering, withinMs).catch((cause: Error) => {
      throw new Error(`${cause.message}\n${this.log}`, { cause });
    });
  }
}

export interface BackendHealth {
  readonly state: string;
  readonly restarts: number;
  readonly detail?: string;
}

export interface Health {
  readonly status: string;
  readonly backends: Readonly<Record<string, BackendHealth>>;
  readonly streams: { readonly open: number; readonly closed_slow: number };
}

function launchDaemon(directory: string, config: string, options: DaemonOptions): Program {
  const { env = {}, nodeArguments = [], launcher = [], entry = ENTRY } = options;
  const [program = '', ...args] = [...launcher, process.execPath, ...nodeArguments, entry];
  const basicEnv = {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: directory,
    XDG_RUNTIME_DIR: directory,
  };
  return startProgram(program, [...args, '--allow-root', '--config', config], {
    env: { ...basicEnv, ...env },
    log: join(directory, 'log'),
  });
}
