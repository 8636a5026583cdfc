// Starts a private sound server and a daemon, for one test or a group of tests. By default the daemon has
// only the audio backend. `AudioNode` also has a consumer of the event stream, so that a test can compare the
// state from the events with the answers to `GET /audio`.

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type * as schemas from '../../src/protocol/actor/schemas.js';
import type { EventConsumer } from '../consumer/consumer.js';
import { NameModel } from '../consumer/state-model.js';
import type { SoundServer } from '../sound/server.js';
import { SOUND_SERVERS, startPulseAudio } from '../sound/servers.js';
import { until } from '../until.js';
import { Daemon, type DaemonOptions, type Ending } from './daemon.js';

export type Audio = schemas.AudioRecord;
export type Client = schemas.ClientRecord;
export type Output = schemas.OutputRecord;

/** The daemon enables only audio and systemd by default. */
export const AUDIO_ONLY = 'systemd: {enabled: false}\n';

export interface AudioOptions extends DaemonOptions {
  /** Starts the sound server. By default this is `startPulseAudio`. */
  readonly startSound?: (() => Promise<SoundServer>) | undefined;
}

interface SoundAndDaemon {
  readonly sound: SoundServer;
  readonly daemon: Daemon;
}

/**
 * Starts a sound server and a daemon that uses it, by default with the audio backend only. Resolves when
 * that backend is up. Sound server and daemon are stopped when `t` ends.
 */
export async function startAudio(t: Ending, options: AudioOptions = {}): Promise<SoundAndDaemon> {
  const sound = await (options.startSound ?? startPulseAudio)();
  let daemon: Daemon | undefined;
  t.after(async () => {
    await daemon?.stop();
    await sound.stop();
  });
  daemon = await Daemon.start({ config: AUDIO_ONLY, ...options, env: { ...sound.env, ...options.env } });
  await daemon.untilBackend('audio', 'up');
  return { sound, daemon };
}

/** Like `startAudio`, for all tests of a group. The returned object is empty until the first test begins. */
export function audioForAll(options?: AudioOptions): SoundAndDaemon {
  const soundAndDaemon = {} as SoundAndDaemon;
  const cleanups: (() => Promise<void>)[] = [];
  const ending: Ending = { after: (end) => cleanups.push(end) };
  before(async () => Object.assign(soundAndDaemon, await startAudio(ending, options)));
  after(() => Promise.all(cleanups.map((end) => end())));
  return soundAndDaemon;
}

type Identified = { readonly id: number };

export const byId = (records: Iterable<Identified>): readonly Identified[] =>
  [...records].sort((one, other) => one.id - other.id);

/** True if the record has all `values`. */
export const hasValues = (record: object, values: object): boolean =>
  isDeepStrictEqual({ ...record, ...values }, record);

export class AudioNode {
  readonly sound: SoundServer;
  readonly daemon: Daemon;
  /** Consumes the event stream of the daemon. */
  readonly stream: EventConsumer;

  constructor({ sound, daemon }: SoundAndDaemon, stream: EventConsumer) {
    this.sound = sound;
    this.daemon = daemon;
    this.stream = stream;
  }

  audio(): Promise<Audio> {
    return this.daemon.read('/audio');
  }

  async output(name: string): Promise<Output> {
    const { outputs } = await this.audio();
    return outputs.find((output) => output.name === name) ?? assert.fail(`there is no output ${name}`);
  }

  /** POSTs and demands a 202 with an empty body. */
  async change(path: string, body?: unknown): Promise<void> {
    const answer = await this.daemon.post(path, body);
    assert.deepEqual([answer.status, answer.text], [202, ''], `POST ${path}`);
  }

  /**
   * Repeats `move` until the client plays to `output`. When a client is new and the machine is busy,
   * PipeWire 0.3.65 sometimes accepts a move but does not carry it out. Then pactl, too, lists the old sink.
   */
  async untilMoved(id: number, output: string, move: () => Promise<unknown>): Promise<void> {
    await until(`client ${id} plays to ${output}`, async () => {
      await move();
      // If the client does not play there within a second, `untilClient` throws, and `until` tries again.
      return this.untilClient(id, { output }, 1000);
    });
  }

  /** Waits until `GET /audio` fulfils `isExpected`; `what` says in words what is expected. */
  untilAudio(what: string, isExpected: (audio: Audio) => boolean, deadlineMs?: number): Promise<boolean> {
    return until(what, async () => isExpected(await this.audio()), deadlineMs);
  }

  /** Waits until the output is listed with these values. */
  untilOutput(name: string, values: Partial<Output>): Promise<boolean> {
    const isListed = ({ outputs }: Audio): boolean =>
      outputs.some((output) => hasValues(output, { name, ...values }));
    return this.untilAudio(`${name} is ${JSON.stringify(values)}`, isListed);
  }

  /** Waits until the client is listed, with these values. */
  untilClient(id: number, values: Partial<Client> = {}, deadlineMs?: number): Promise<boolean> {
    const isListed = ({ clients }: Audio): boolean =>
      clients.some((client) => hasValues(client, { id, ...values }));
    return this.untilAudio(`${id} is ${JSON.stringify(values)}`, isListed, deadlineMs);
  }

  /**
   * Waits until the stream's events describe the same outputs and clients as `GET /audio`. Both models of the
   * consumer must agree: `model`, which knows records by id, and `names`, which knows records by name.
   */
  async streamAgrees(): Promise<void> {
    await until('the events describe the same outputs and clients as GET /audio', async () => {
      const { outputs, clients } = await this.audio();
      const expectedNames = new NameModel();
      expectedNames.apply({ type: 'audio.output.updated', data: JSON.stringify(outputs) });
      expectedNames.apply({ type: 'audio.updated', data: JSON.stringify(clients) });
      const { model, names } = this.stream;
      assert.deepEqual(byId(model.known.outputs.values()), byId(outputs));
      assert.deepEqual(byId(model.known.clients.values()), byId(clients));
      assert.deepEqual(names.state(), expectedNames.state());
      return true;
    });
  }

  /** Returns a function that lists the events that have come since the call of `collectEvents`. */
  collectEvents(): () => readonly { readonly type: string; readonly data: string }[] {
    const from = this.stream.events.length;
    return () => this.stream.events.slice(from);
  }
}

/** Declares a group of tests for each kind of sound server; `node` gives the started node within a test. */
export function onEachSoundServer(what: string, declare: (node: () => AudioNode) => void): void {
  for (const { kind, skip, start: startSound } of SOUND_SERVERS) {
    describe(`${what} on ${kind}`, { skip }, () => {
      const soundAndDaemon = audioForAll({ startSound });
      let started: AudioNode | undefined;
      before(async () => {
        started = new AudioNode(soundAndDaemon, await soundAndDaemon.daemon.events('?snapshot=1'));
      });
      declare(() => started ?? assert.fail('the node has not been started'));
    });
  }
}
