// The audio backend on a sound server, and what it has published.

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

/** A test that never ends must fail. */
export const DEADLINE = { timeout: 60_000 };

class AudioRecorder extends Recorder {
  /** The data of each `audio.level`, in order, and its time in ms. */
  readonly levels: string[] = [];
  readonly levelsAt: number[] = [];

  override level(json: string): void {
    super.level(json);
    this.levels.push(json);
    this.levelsAt.push(performance.now());
  }

  get server(): AudioServerRecord | undefined {
    return this.one('audio.server');
  }

  outputs(): readonly OutputRecord[] {
    return this.all('audio.outputs');
  }

  output(name: string): OutputRecord | undefined {
    return this.outputs().find((each) => each.name === name);
  }

  client(ref: string | number): ClientRecord | undefined {
    const clients = this.all<ClientRecord>('audio.clients');
    return clients.find(({ id, name }) => ref === id || ref === name);
  }

  inputs(): readonly InputRecord[] {
    return this.all('audio.inputs');
  }

  input(name: string): InputRecord | undefined {
    return this.inputs().find((each) => each.name === name);
  }

  clients(): readonly ClientRecord[] {
    return this.all('audio.clients');
  }

  cards(): readonly CardRecord[] {
    return this.all('audio.cards');
  }
}

/** Starts the backend until the test ends; the path is that of the server's socket. */
export function backed(
  t: TestContext,
  socketPath: string,
  timing: Partial<Timing> = {},
  home = '/nowhere',
  settings: Partial<AudioSettings> = {},
) {
  const recorder = new AudioRecorder();
  const flush = () => undefined;
  const env = { PULSE_SERVER: `unix:${socketPath}`, XDG_RUNTIME_DIR: dirname(socketPath) };
  const context = { env, uid: 0, home, machineId: undefined, flush };
  const all: AudioSettings = {
    enabled: true,
    serveCookie: true,
    apiPort: 8018,
    outputs: {},
    groups: {},
    listen: {},
    listenLatency: 100,
    ...settings,
  };
  const backend = new AudioBackend(all, context, recorder, systemClock, { ...TIMING, ...timing });
  t.after(() => backend.stop());
  return { backend, recorder };
}

/** A backend that is up, on a scripted server. */
export async function connected(
  t: TestContext,
  handler?: Handler,
  timing?: Partial<Timing>,
  home?: string,
  settings?: Partial<AudioSettings>,
) {
  const server = await scriptedServer(t, handler);
  const { backend, recorder } = backed(t, server.socketPath, timing, home, settings);
  await until('the backend is up', () => recorder.up);
  return { backend, recorder, server };
}
