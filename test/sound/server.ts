// Runs a private PulseAudio or PipeWire for a test: starts, freezes, restarts and ends the server, and makes
// its sinks, sources and streams. servers.ts says how each kind is started.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary-folder.js';
import { Hopeless, until } from '../until.js';
import { loadNullSink, type SinkSpec } from './null-sink.js';
import { type Listed, list, pactl } from './pactl.js';
import { type Environment, type Program, startProgram } from './program.js';
import { StreamClient } from './streams.js';

const LOG_TAIL_CHARS = 2000;

export type Kind = 'pulseaudio' | 'pipewire';

export interface PlayOptions {
  /** `application.name`. */
  readonly app?: string;
  /** `media.name`. */
  readonly name?: string;
  readonly sink?: string;
  readonly props?: Readonly<Record<string, string>>;
  /**
   * The path of a file of 16-bit little-endian stereo samples at 8000 Hz. Without it the stream is silent
   * and has no end.
   */
  readonly samples?: string;
}

export type Playing = Awaited<ReturnType<SoundServer['play']>>;

/** How one kind of server is started. */
export interface Recipe {
  readonly kind: Kind;
  /**
   * Starts the server's processes by `start`, so that they end with the test. The last process must hold the
   * socket, because `kill`, `freeze` and `thaw` act on the last process.
   */
  bringUp(directory: string, start: (...command: readonly string[]) => void): Promise<void> | void;
}

function environment(directory: string, socketPath: string): Environment {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    // Numbers in pactl's JSON follow the locale.
    LC_ALL: 'C.UTF-8',
    HOME: directory,
    XDG_RUNTIME_DIR: directory,
    TMPDIR: directory,
    PULSE_SERVER: `unix:${socketPath}`,
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${directory}/bus`,
    // Nothing listens there, so that a private server does not use the machine's own services.
    DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${directory}/no-system-bus`,
  };
}

export class SoundServer {
  readonly kind: Kind;
  /** The runtime and home directory of the server and its clients, with mode 0700. */
  readonly directory = temporaryFolder();
  readonly socketPath = join(this.directory, 'pulse/native');
  /** The environment of programs that connect to this server. */
  readonly env = environment(this.directory, this.socketPath);
  readonly #recipe: Recipe;
  readonly #sinks: Map<string, SinkSpec>;
  readonly #log = join(this.directory, 'log');
  /** The processes of the server, in the order in which they were started. */
  #programs: Program[] = [];
  /** The processes of pacat, which play or capture. */
  readonly #pacats = new Set<Program>();
  readonly #streamClients = new Set<StreamClient>();

  private constructor(recipe: Recipe, sinks: readonly SinkSpec[]) {
    this.kind = recipe.kind;
    this.#recipe = recipe;
    this.#sinks = new Map(sinks.map((sink) => [sink.name, sink]));
  }

  /** Brings a server up in a directory of its own. Leaves nothing behind when it fails. */
  static async start(recipe: Recipe, sinks: readonly SinkSpec[]): Promise<SoundServer> {
    const server = new SoundServer(recipe, sinks);
    try {
      await server.#bringUp();
      return server;
    } catch (error) {
      const log = server.#logTail();
      await server.stop();
      throw new Error(`${recipe.kind} did not come up\n${log}`, { cause: error });
    }
  }

  /** Runs pactl on this server and returns its output. Rejects when pactl fails. */
  pactl(...args: readonly string[]): Promise<string> {
    return pactl(this.env, ...args);
  }

  sinks(): Promise<readonly Listed[]> {
    return list(this.env, 'sinks');
  }

  sinkInputs(): Promise<readonly Listed[]> {
    return list(this.env, 'sink-inputs');
  }

  /** Adds a null sink and waits until it is listed. A restart makes this sink again. */
  async addSink(name: string, description = name): Promise<void> {
    const sink = { name, description };
    this.#sinks.set(name, sink);
    await loadNullSink(this.env, sink);
  }

  /**
   * Adds a source, which the daemon calls an input. The source has two channels. It has the sound of the sink
   * `sink`, or is silent if `sink` is absent. A restart does not make the source again.
   */
  async addInput(name: string, sink?: string): Promise<void> {
    const silentModule =
      this.kind === 'pulseaudio'
        ? ['module-null-source', `source_name=${name}`]
        : ['module-null-sink', 'media.class=Audio/Source/Virtual', `sink_name=${name}`];
    const soundingModule = ['module-remap-source', `source_name=${name}`, `master=${sink}.monitor`];
    await this.pactl('load-module', ...(sink === undefined ? silentModule : soundingModule));
    await until(`input ${name} is listed`, async () => (await this.#inputNames()).includes(name));
  }

  async removeInput(name: string): Promise<void> {
    await this.#unload(name);
    await until(`input ${name} is gone`, async () => !(await this.#inputNames()).includes(name));
  }

  async removeSink(name: string): Promise<void> {
    this.#sinks.delete(name);
    await this.#unload(name);
    await until(`sink ${name} is gone`, async () => !(await this.#sinkNames()).includes(name));
  }

  /**
   * Plays a stream by pacat. Without `samples` the stream is silent. Resolves when the server lists the
   * stream, and rejects if pacat ends before.
   */
  async play({ samples = '/dev/zero', ...options }: PlayOptions = {}) {
    const flags = [
      '--playback',
      '--raw',
      '--format=s16le',
      '--rate=8000',
      '--channels=2',
      ...(options.app === undefined ? [] : [`--client-name=${options.app}`]),
      ...(options.name === undefined ? [] : [`--stream-name=${options.name}`]),
      ...(options.sink === undefined ? [] : [`--device=${options.sink}`]),
      ...Object.entries(options.props ?? {}).map(([key, value]) => `--property=${key}=${value}`),
    ];
    const player = startProgram('pacat', flags, { env: this.env, log: this.#log, stdin: samples });
    this.#pacats.add(player);
    const streamOfPlayer = async (): Promise<Listed | undefined> =>
      (await this.sinkInputs()).find((each) => each.properties['application.process.id'] === `${player.pid}`);
    const { index: id } = await until('the stream of pacat is listed', async () => {
      if (!player.alive()) throw new Hopeless(`pacat has ended\n${this.#logTail()}`);
      return streamOfPlayer();
    });
    /** Ends the player and waits until the stream is gone. */
    const stop = async (): Promise<void> => {
      await player.end();
      this.#pacats.delete(player);
      await until('the stream of pacat is gone', async () => (await streamOfPlayer()) === undefined);
    };
    return { id, pid: player.pid, stop };
  }

  /**
   * Captures a source by pacat. Resolves when the server lists the capture, and rejects if pacat ends
   * before.
   */
  async capture(source: string) {
    const flags = ['--record', '--raw', `--device=${source}`, '/dev/null'];
    const program = startProgram('pacat', flags, { env: this.env, log: this.#log });
    this.#pacats.add(program);
    await until(`${source} is captured`, async () => {
      if (!program.alive()) throw new Hopeless(`pacat has ended\n${this.#logTail()}`);
      const captures = await list(this.env, 'source-outputs');
      return captures.some(({ properties }) => properties['application.process.id'] === `${program.pid}`);
    });
    /** Ends the program. */
    const stop = async (): Promise<void> => {
      await program.end();
      this.#pacats.delete(program);
    };
    return { stop };
  }

  /**
   * Wakes an output by a short stream. PipeWire 1.4 does not apply a setting of a virtual output that has
   * never been awake, though pactl reports success.
   */
  async wake(sink: string): Promise<void> {
    await (await this.play({ sink })).stop();
  }

  /**
   * Opens a connection for silent streams (streams.ts). All of its streams together need only one socket.
   */
  async streams(application = 'streams'): Promise<StreamClient> {
    const client = await StreamClient.connect(this.socketPath, application);
    this.#streamClients.add(client);
    return client;
  }

  /** Ends the process that holds the socket. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    await this.#programs.at(-1)?.end(signal);
  }

  /** Makes the server hang: its socket stays open, and it answers nothing. */
  freeze(): void {
    this.#programs.at(-1)?.signal('SIGSTOP');
  }

  thaw(): void {
    this.#programs.at(-1)?.signal('SIGCONT');
  }

  /**
   * Ends the server, its pacat processes and its stream clients. Starts the server again with its sinks, and
   * waits until the server answers.
   */
  async restart(): Promise<void> {
    await this.#end();
    await this.#bringUp();
  }

  /** Ends everything and removes the directory. */
  async stop(): Promise<void> {
    await this.#end();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #bringUp(): Promise<void> {
    await this.#recipe.bringUp(this.directory, (command = '', ...args) => {
      this.#programs.push(startProgram(command, args, { env: this.env, log: this.#log }));
    });
    await until('the sound server answers', async () => {
      const dead = this.#programs.find((program) => !program.alive());
      if (dead !== undefined) throw new Hopeless(`${dead.name} has ended`);
      // pactl fails until the server answers, and after a failure `until` tries again.
      return this.pactl('info');
    });
    for (const sink of this.#sinks.values()) await loadNullSink(this.env, sink);
    const [first] = this.#sinks.keys();
    if (first === undefined) return;
    await until('the first sink can be made the default', async () => {
      // PipeWire refuses this command until WirePlumber has made the place where the default is kept.
      await this.pactl('set-default-sink', first);
      return true;
    });
    // `set-default-sink` may succeed before PipeWire has chosen the sink.
    await until('the default is chosen', async () => (await this.pactl('get-default-sink')).trim() === first);
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#streamClients].map((client) => client.close()));
    this.#streamClients.clear();
    await Promise.all([...this.#pacats].map((pacat) => pacat.end('SIGKILL')));
    this.#pacats.clear();
    for (const program of this.#programs.toReversed()) await program.end();
    this.#programs = [];
  }

  /** Unloads the module that has made a sink or source. */
  async #unload(name: string): Promise<void> {
    const modules = await this.pactl('list', 'short', 'modules');
    const nameArgument = new RegExp(`(?:sink|source)_name=${name}(?:\\s|$)`);
    const line = modules.split('\n').find((module) => nameArgument.test(module));
    if (line === undefined) throw new Error(`no module made ${name}`);
    await this.pactl('unload-module', line.split('\t')[0] ?? '');
  }

  async #inputNames(): Promise<readonly string[]> {
    const lines = (await this.pactl('list', 'short', 'sources')).split('\n');
    return lines.map((line) => line.split('\t')[1] ?? '');
  }

  async #sinkNames(): Promise<readonly (string | undefined)[]> {
    return (await this.sinks()).map((sink) => sink.name);
  }

  #logTail(): string {
    return readFileSync(this.#log, 'utf8').slice(-LOG_TAIL_CHARS);
  }
}
