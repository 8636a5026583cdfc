// Starts the audio backend on the sound server of a test, and records what the backend publishes.

import { dirname } from 'node:path';
import type { TestContext } from 'node:test';
import { AudioBackend } from '../../../src/actors/audio/backend.js';
import { TIMING, type Timing } from '../../../src/actors/audio/timing.js';
import { systemClock } from '../../../src/host/clock.js';
import type {
  AudioServerRecord,
  CardRecord,
  ClientRecord,
  InputRecord,
  OutputRecord,
} from '../../../src/protocol/actor/schemas.js';
import type { AudioSettings } from '../../../src/protocol/actor/settings.js';
import { until } from '../../until.js';
import { Recorder } from '../recorder.js';
import { type Handler, scriptedServer } from './scripted-server.js';

/** The options of a test that waits for a sound server. The test fails after `timeout` ms. */
export const DEADLINE = { timeout: 60_000 };

class AudioRecorder extends Recorder {
  /** The data of each `audio.level` event, in order. */
  readonly levels: string[] = [];
  /** The time of each of these events, in ms. */
  readonly levelTimesMs: number[] = [];

  override level(json: string): void {
    super.level(json);
    this.levels.push(json);
    this.levelTimesMs.push(performance.now());
  }

  get server(): AudioServerRecord | undefined {
    return this.newest('audio.server');
  }

  outputs(): readonly OutputRecord[] {
    return this.all('audio.outputs');
  }

  output(name: string): OutputRecord | undefined {
    return this.outputs().find((output) => output.name === name);
  }

  client(ref: string | number): ClientRecord | undefined {
    return this.clients().find(({ id, name }) => ref === id || ref === name);
  }

  inputs(): readonly InputRecord[] {
    return this.all('audio.inputs');
  }

  input(name: string): InputRecord | undefined {
    return this.inputs().find((input) => input.name === name);
  }

  clients(): readonly ClientRecord[] {
    return this.all('audio.clients');
  }

  cards(): readonly CardRecord[] {
    return this.all('audio.cards');
  }
}

interface BackendOptions {
  readonly timing?: Partial<Timing> | undefined;
  /** The home of the user whom the backend serves. */
  readonly home?: string;
  readonly settings?: Partial<AudioSettings> | undefined;
}

/** The default settings, except that clients can read the sound server's cookie. */
export const AUDIO_SETTINGS: AudioSettings = {
  enabled: true,
  actsByItself: true,
  serveCookie: true,
  apiPort: 8018,
  outputs: {},
  groups: {},
  listen: {},
  listenLatency: 100,
};

/** Starts the backend on the sound server at this socket. The backend runs until the test ends. */
export function startBackend(t: TestContext, socketPath: string, options: BackendOptions = {}) {
  const { timing, home = '/nowhere', settings } = options;
  const recorder = new AudioRecorder();
  const env = { PULSE_SERVER: `unix:${socketPath}`, XDG_RUNTIME_DIR: dirname(socketPath) };
  // The `uid` has no effect, because `XDG_RUNTIME_DIR` is set. The `machineId` has no effect either, because
  // `PULSE_SERVER` does not name a machine.
  const context = { env, uid: 0, home, machineId: undefined };
  const allSettings = { ...AUDIO_SETTINGS, ...settings };
  const backend = new AudioBackend(allSettings, context, recorder, systemClock, { ...TIMING, ...timing });
  t.after(() => backend.stop());
  return { backend, recorder };
}

/** Starts a backend on a scripted server, and waits until the backend is up. */
export async function startOnScriptedServer(t: TestContext, handler?: Handler, options?: BackendOptions) {
  const server = await scriptedServer(t, handler);
  const { backend, recorder } = startBackend(t, server.socketPath, options);
  await until('the backend is up', () => recorder.isUp);
  return { backend, recorder, server };
}
