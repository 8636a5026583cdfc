// Answers the commands for cookie, network and sleep, which need more than requests to the sound server.

import { join } from 'node:path';
import type { Clock } from '../../host/clock.js';
import { SharedWork } from '../../host/turns.js';
import { runtimeDirectory } from '../../host/user-directories.js';
import type { Answer, AudioCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { success } from '../../protocol/actor/result.js';
import type { AudioSettings } from '../../protocol/actor/settings.js';
import { fileIdentity } from '../path-watch.js';
import type { BackendLink } from '../runtime.js';
import type { SoundConnection } from './connection.js';
import type { ServerContext } from './server-address.js';
import { readCookie } from './server-files.js';
import type { SoundCommand } from './setting-plan.js';
import type { Sleep } from './sleep.js';
import type { SoundState } from './state.js';

interface DaemonCommandParts {
  readonly settings: AudioSettings;
  readonly context: ServerContext;
  readonly state: SoundState;
  readonly clock: Clock;
  readonly node: BackendLink;
  readonly cookiePaths: readonly string[];
  readonly commandMs: number;
  /** Returns the connection that is up, and the path of its socket; undefined while no connection is up. */
  readonly liveConnection: () => { readonly connection: SoundConnection; readonly path: string } | undefined;
}

const NOT_CONNECTED = failure('unavailable', 'Not connected');

type SleepCommand = Extract<AudioCommand, { readonly do: 'sleep' | 'sleep/stop' }>;

export class DaemonCommands {
  readonly #parts: DaemonCommandParts;
  readonly #sleepPath: string;
  readonly #sharedNetworkAnswer = new SharedWork(() => this.#newNetworkAnswer());
  /**
   * Loaded with the first command for sleep, or already at the start if there is a file at `#sleepPath`. An
   * earlier thread or process has left this file. The file contains a sleep, or outputs whose volumes must be
   * put back.
   */
  #loadedSleep: Promise<Sleep> | undefined;

  constructor(parts: DaemonCommandParts) {
    const { settings, context, node } = parts;
    this.#parts = parts;
    this.#sleepPath = join(runtimeDirectory(context.env, context.uid), 'tonearm/sleep.json');
    // The record `audio.sleep` must be published at the start. If `Sleep` is loaded here, it publishes this
    // record itself. `tonearm bench` sets `actsByItself` to false, because the file belongs to the running
    // daemon.
    const mustRecallSleep = settings.actsByItself && fileIdentity(this.#sleepPath) !== undefined;
    if (mustRecallSleep) void this.#loadSleep();
    else node.put('audio.sleep', '', '{"active":false}');
  }

  async cookie(): Promise<Answer> {
    const { settings, cookiePaths } = this.#parts;
    const bytes = settings.serveCookie ? await readCookie(cookiePaths) : undefined;
    if (bytes !== undefined) return success({ bytes });
    return failure('no-cookie', 'There is no cookie file of the right size');
  }

  /**
   * Commands that come while an answer is being made share the next answer. Otherwise each command would send
   * a request of its own, and the requests could exceed the bound of pending requests.
   */
  network(): Promise<Answer> {
    return this.#sharedNetworkAnswer.run();
  }

  async #newNetworkAnswer(): Promise<Answer> {
    const { settings, commandMs, liveConnection } = this.#parts;
    const { networkAnswer } = await import('./network.js');
    const live = liveConnection();
    if (live === undefined) return NOT_CONNECTED;
    return networkAnswer(live.connection, live.path, settings, commandMs);
  }

  async sleep(command: SleepCommand): Promise<Answer> {
    const sleep = await this.#loadSleep();
    return command.do === 'sleep' ? sleep.start(command.minutes, command.fade) : sleep.stop();
  }

  /**
   * To be called when the backend stops, before its connection is closed, because a volume that a fade has
   * lowered may have to be put back.
   */
  async leave(): Promise<void> {
    const sleep = await this.#loadedSleep;
    await sleep?.leave();
  }

  #loadSleep(): Promise<Sleep> {
    this.#loadedSleep ??= this.#newSleep();
    return this.#loadedSleep;
  }

  /** Uses the present connection, because a sleep may outlast several connections. */
  async #run(command: SoundCommand): Promise<Answer> {
    const live = this.#parts.liveConnection();
    return live === undefined ? NOT_CONNECTED : live.connection.executor.run(command);
  }

  async #newSleep(): Promise<Sleep> {
    const { state, clock, node } = this.#parts;
    const { Sleep } = await import('./sleep.js');
    const sleep = new Sleep({
      path: this.#sleepPath,
      state,
      clock,
      node,
      run: (command) => this.#run(command),
    });
    await sleep.recall();
    return sleep;
  }
}
