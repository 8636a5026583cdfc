// The built daemon as a test holds it: started on a free port with a configuration of its own, asked over HTTP, ended in
// any way. It knows the daemon from outside only.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EventConsumer } from '../consumer/consumer.js';
import { Conformance } from '../gateway/openapi-conformance.js';
import { type Environment, type Program, startProgram } from '../sound/program.js';
import { freePort } from '../tools/free-port.js';
import { until } from '../until.js';

/** The shipped bundle, as `npm run build` leaves it beside the compiled tests. */
export const ENTRY = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
/** Enough for the slowest answer of the contract (10 s), and then some. */
const ANSWER_DEADLINE_MS = 20_000;

export interface DaemonOptions {
  /** Added to the environment, such as a sound server's. */
  readonly env?: Environment;
  /** Sections of the configuration, in YAML; `api.port` is set for you. */
  readonly config?: string;
  /** Extra keys below `api`, in YAML flow style, such as `sse: {maxClients: 2}`. */
  readonly api?: string;
  /** Another build than the shipped one. */
  readonly entry?: string;
  /** Arguments of Node itself. */
  readonly nodeArguments?: readonly string[];
  /** A program that becomes Node once it has changed something about itself, and its arguments, such as `prlimit`. */
  readonly launcher?: readonly string[];
  /** How long its start may take, in ms; as long as a condition may, unless given. */
  readonly startMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  json(): unknown;
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

  /** Resolves when it answers. */
  static async start({
    env = {},
    config = '',
    api = '',
    nodeArguments = [],
    launcher = [],
    entry = ENTRY,
    startMs,
  }: DaemonOptions = {}): Promise<Daemon> {
    const directory = mkdtempSync(join(tmpdir(), 'tonearm-daemon-'));
    const port = await freePort();
    const extra = api === '' ? '' : `, ${api}`;
    writeFileSync(join(directory, 'config.yaml'), `api: {port: ${port}${extra}}\n${config}`);
    const whole: Environment = {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: directory,
      XDG_RUNTIME_DIR: directory,
      ...env,
    };
    const daemon = new Daemon(port, directory, () =>
      launch(directory, whole, [...launcher, process.execPath, ...nodeArguments, entry]),
    );
    process.once('exit', daemon.#lastResort);
    await daemon.#answers(startMs);
    return daemon;
  }

  get pid(): number {
    return this.#program.pid;
  }

  get log(): string {
    return readFileSync(join(this.directory, 'log'), 'utf8');
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('GET', path, undefined, headers);
  }

  /** `body` is sent as JSON; without one, none is sent. */
  post(path: string, body?: unknown): Promise<Answer> {
    return this.send('POST', path, body);
  }

  /** Every answer is checked against the daemon's own OpenAPI document. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const typed = text === undefined ? {} : { 'Content-Type': 'application/json' };
    const answer = await send(this.port, method, path, text, { ...typed, ...headers });
    this.#conformance ??= new Conformance(
      (await send(this.port, 'GET', '/openapi.json', undefined, {})).text,
    );
    this.#conformance.check(method, path, answer);
    return answer;
  }

  /** The parsed body of a GET that must be 200. */
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

  /** Waits until the backend's state is the given one. */
  async backend(name: string, state: string): Promise<void> {
    await until(`${name} is ${state}`, async () => {
      const health = await this.read<Health>('/health');
      return health.backends[name]?.state === state;
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#program.signal(signal);
  }

  alive(): boolean {
    return this.#program.alive();
  }

  /** Ends it with `signal`, and starts it again with the same configuration and port. */
  async restart(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.#program.end(signal);
    this.#program = this.#launch();
    await this.#answers();
  }

  async stop(): Promise<void> {
    for (const stream of this.#streams) stream.close();
    await this.#program.end();
    process.off('exit', this.#lastResort);
    rmSync(this.directory, { recursive: true, force: true });
  }

  readonly #lastResort = (): void => {
    this.#program.signal('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  };

  async #answers(withinMs?: number): Promise<void> {
    await until(
      `the daemon answers\n${this.log}`,
      async () => {
        if (!this.#program.alive()) throw new Error(`the daemon has ended\n${this.log}`);
        return (await this.get('/server')).status === 200;
      },
      withinMs,
    );
  }
}

export interface Health {
  readonly status: string;
  readonly backends: Readonly<
    Record<string, { readonly state: string; readonly restarts: number; readonly detail?: string }>
  >;
  readonly streams: { readonly open: number; readonly closed_slow: number };
}

function launch(directory: string, env: Environment, node: readonly string[]): Program {
  const [program = '', ...before] = node;
  const args = [...before, '--allow-root', '--config', join(directory, 'config.yaml')];
  return startProgram(program, args, { env, log: join(directory, 'log') });
}

function send(
  port: number,
  method: string,
  path: string,
  body: string | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, host: '127.0.0.1', method, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const status = incoming.statusCode ?? 0;
        resolve({ status, headers: incoming.headers, text, json: (): unknown => JSON.parse(text) });
      });
    });
    outgoing.setTimeout(ANSWER_DEADLINE_MS, () =>
      outgoing.destroy(new Error(`${method} ${path}: no answer`)),
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
