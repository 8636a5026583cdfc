// A node for one group of tests: a private sound server, a daemon on it that has only the audio backend, and one consumer
// of the stream that has watched from the start.

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import type { EventConsumer } from '../consumer/consumer.js';
import type { SoundServer } from '../sound/server.js';
import { type ServerOptions, SOUND_SERVERS } from '../sound/servers.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { Daemon } from './daemon.js';

export const AUDIO_ONLY = 'systemd: {enabled: false}\n';

export interface Output {
  readonly id: number;
  readonly name: string;
  readonly muted: boolean;
  readonly volume: number;
  readonly default: boolean;
  readonly balance: number;
  readonly state: string;
}

export interface Client {
  readonly id: number;
  readonly name: string;
  readonly app: string;
  readonly muted: boolean;
  readonly volume?: number;
  readonly corked: boolean;
  readonly output?: string;
  readonly props?: Readonly<Record<string, string>>;
}

export interface Audio {
  readonly kind: string;
  readonly server: { readonly default_sink: string; readonly volume: number; readonly muted: boolean };
  readonly outputs: readonly Output[];
  readonly clients: readonly Client[];
}

export class AudioNode {
  readonly sound: SoundServer;
  readonly daemon: Daemon;
  readonly stream: EventConsumer;

  private constructor(sound: SoundServer, daemon: Daemon, stream: EventConsumer) {
    this.sound = sound;
    this.daemon = daemon;
    this.stream = stream;
  }

  static async start(sound: SoundServer): Promise<AudioNode> {
    const daemon = await Daemon.start({ env: sound.env, config: AUDIO_ONLY });
    await daemon.backend('audio', 'up');
    return new AudioNode(sound, daemon, await daemon.events('?snapshot=1'));
  }

  audio(): Promise<Audio> {
    return this.daemon.read('/audio');
  }

  async output(name: string): Promise<Output> {
    const found = (await this.audio()).outputs.find((output) => output.name === name);
    assert.ok(found, `output ${name}`);
    return found;
  }

  async client(id: number): Promise<Client> {
    const found = (await this.audio()).clients.find((client) => client.id === id);
    assert.ok(found, `client ${id}`);
    return found;
  }

  /** POSTs and demands a 202 with an empty body. */
  async change(path: string, body?: unknown): Promise<void> {
    const answer = await this.daemon.post(path, body);
    assert.deepEqual([answer.status, answer.text], [202, ''], `POST ${path}`);
  }

  /**
   * Repeats `move` until the stream plays to `output`: PipeWire 0.3.65 accepts a move and now and then forgets it, when the
   * stream is young and the machine busy (measured; pactl then shows the old sink, too).
   */
  async moves(id: number, output: string, move: () => Promise<unknown>): Promise<void> {
    await until(`stream ${id} plays to ${output}`, async () => {
      await move();
      return until('the move is seen', async () => (await this.client(id)).output === output, 1000);
    });
  }

  /** Waits until the audio record satisfies `condition`. */
  settles(what: string, condition: (audio: Audio) => boolean): Promise<boolean> {
    return until(what, async () => condition(await this.audio()));
  }

  /** Waits until what the stream has told equals what the routes say. */
  async streamTellsTheTruth(): Promise<void> {
    await until('the stream has told the true state', async () => {
      const { outputs, clients } = await this.audio();
      const byKey = (records: readonly { id: number }[]): object[] =>
        [...records].sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
      const told = this.stream.model.state();
      assert.deepEqual(told['outputs'], byKey(outputs));
      assert.deepEqual(told['clients'], byKey(clients));
      return true;
    });
  }

  /** The events of the stream from now on. */
  mark(): () => readonly { readonly type: string; readonly data: string }[] {
    const from = this.stream.events.length;
    return () => this.stream.events.slice(from);
  }

  async stop(): Promise<void> {
    await this.daemon.stop();
    await this.sound.stop();
  }
}

/** Declares a group of tests for each kind of sound server; `node` gives the started node within a test. */
export function onEachSoundServer(
  what: string,
  declare: (node: () => AudioNode, kind: SoundServer['kind']) => void,
  options: ServerOptions = {},
): void {
  for (const { kind, start } of SOUND_SERVERS) {
    const skip = lacks({
      programs: ['pulseaudio', 'pipewire', 'pipewire-pulse', 'wireplumber', 'pactl', 'pacat'],
    });
    describe(`${what} on ${kind}`, { skip }, () => {
      let started: AudioNode | undefined;
      before(async () => {
        started = await AudioNode.start(await start(options));
      });
      after(() => started?.stop());
      declare(() => {
        assert.ok(started, 'the node has been started');
        return started;
      }, kind);
    });
  }
}
