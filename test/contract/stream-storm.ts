// Any number of real changes at the sound server: volumes of sinks and streams, streams that appear, are renamed and end. The seed
// determines the changes; each step resolves when the sound server has applied it.

import type { SeededRandom } from '../seeded-random.js';
import type { SoundServer } from '../sound/server.js';
import type { Stream, StreamClient } from '../sound/streams.js';
import { Mixer } from './stream-mixer.js';

const STREAMS_MAX = 12;

export class Storm {
  readonly #random: SeededRandom;
  readonly #mixer: Mixer;
  readonly #client: StreamClient;
  readonly #sinks: readonly number[];
  #streams: Stream[] = [];
  #titles = 0;

  private constructor(random: SeededRandom, mixer: Mixer, client: StreamClient, sinks: readonly number[]) {
    this.#random = random;
    this.#mixer = mixer;
    this.#client = client;
    this.#sinks = sinks;
  }

  static async over(sound: SoundServer, random: SeededRandom): Promise<Storm> {
    const sinks = (await sound.sinks()).map(({ index }) => index);
    return new Storm(random, await Mixer.connect(sound.socketPath), await sound.streams('storm'), sinks);
  }

  /** One change. */
  async step(): Promise<void> {
    const random = this.#random;
    const stream = this.#streams[random.below(STREAMS_MAX)];
    const sink = this.#sinks[random.below(this.#sinks.length)] ?? 0;
    const level = random.below(100) / 100;
    if (stream === undefined) await this.#mixer.setSinkVolume(sink, level);
    else await this.#mixer.setStreamVolume(stream.id, level);
    if (random.chance(0.08)) await stream?.rename(this.#title());
    if (random.chance(0.08) && this.#streams.length < STREAMS_MAX) await this.#open();
    if (random.chance(0.08) && stream !== undefined) await this.#end(stream);
  }

  async close(): Promise<void> {
    this.#mixer.close();
    await this.#client.close();
  }

  /** Some streams share a title, so that names are assigned anew. */
  #title(): string {
    this.#titles += 1;
    return `song ${this.#titles % 7}`;
  }

  async #open(): Promise<void> {
    const props = { 'media.name': this.#title() };
    this.#streams.push(...(await this.#client.open([{ sink: 'kitchen', props }])));
  }

  async #end(stream: Stream): Promise<void> {
    this.#streams = this.#streams.filter((each) => each !== stream);
    await stream.remove();
  }
}
