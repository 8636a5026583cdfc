// What has been published, and publishing only what differs from it: one JSON text per changed record, encoded once.
// It may not talk to the server and decides nothing about the records' content (view.ts does).

import type { Collection } from '../../protocol/actor/collections.js';
import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Publisher } from '../runtime.js';
import type { HeldRecord, SoundState } from './state.js';
import { audioServerRecord, clientRecord, kindOfServer, outputRecord, ShownProps } from './view.js';
import { NO_WISHES, type OutputWishes, wishFor } from './wishes.js';

/**
 * UTF-16 units of a record's JSON. What the codec keeps of a stream takes no more, but in control characters, of which JSON makes
 * six each: such a record is told without its properties.
 */
const JSON_MAX_UNITS = 16 * 1024;

type Sink = Pick<Publisher, 'put' | 'drop' | 'log'>;

export class SoundPublisher {
  readonly #publish: Sink;
  readonly #wishes: OutputWishes;
  readonly #texts = new Map<string, string>();
  readonly #shown = new ShownProps();
  /** What each client was last called. */
  readonly #names = new Map<number, string>();
  /** Of what as many are known as may be, or half of them have not gone since. */
  readonly #full = new Set<'outputs' | 'streams'>();

  constructor(publish: Sink, wishes: OutputWishes = NO_WISHES) {
    this.#publish = publish;
    this.#wishes = wishes;
  }

  /** Nothing is published any more: leaving `up` has removed it all. */
  forget(): void {
    this.#texts.clear();
    this.#names.clear();
  }

  /**
   * Publishes what the state says has changed. Removals go first, so that a name is free before it is given again; a client
   * with another name is removed under its old one, by which others know it (docs/http-api.md, "Names of clients").
   */
  update(state: SoundState): void {
    const { server } = state;
    if (server === undefined) return;
    const { server: serverChanged, sinks, inputs } = state.takeChanged();
    for (const id of inputs) {
      this.#dropUnlessCalled(id, state.inputs.has(id) ? state.nameOfInput(id) : undefined);
    }
    for (const id of sinks) if (!state.sinks.has(id)) this.#drop('audio.outputs', id);
    const kind = kindOfServer(server);
    const defaultSink = state.defaultSink();
    if (serverChanged) {
      this.#put('audio.kind', '', kind);
      this.#put('audio.server', '', audioServerRecord(server, defaultSink));
    }
    for (const id of sinks) this.#putOutput(state.sinks.get(id), defaultSink);
    for (const id of inputs) {
      const info = state.inputs.get(id)?.info;
      if (info === undefined) continue;
      const output = info.sink === undefined ? undefined : state.sinks.get(info.sink)?.info.name;
      const name = state.nameOfInput(id) ?? '';
      this.#names.set(id, name);
      this.#put('audio.clients', String(id), clientRecord(info, { kind, name, output }, this.#shown));
    }
    this.#tellFull('outputs', state.sinks.size);
    this.#tellFull('streams', state.inputs.size);
  }

  #tellFull(what: 'outputs' | 'streams', known: number): void {
    if (known <= RECORDS_MAX / 2) this.#full.delete(what);
    if (known < RECORDS_MAX || this.#full.has(what)) return;
    this.#full.add(what);
    this.#publish.log('warn', `as many ${what} as can be shown are there: any more are left out`, {
      shown: RECORDS_MAX,
    });
  }

  #putOutput(sink: HeldRecord<SinkInfo> | undefined, defaultSink: HeldRecord<SinkInfo> | undefined): void {
    if (sink === undefined) return;
    const { index, name } = sink.info;
    const around = { isDefault: index === defaultSink?.info.index, wish: wishFor(this.#wishes, name) };
    this.#put('audio.outputs', String(index), outputRecord(sink, around, this.#shown));
  }

  #put(collection: Collection, key: string, record: object | string): void {
    const json = jsonOf(record);
    const id = `${collection} ${key}`;
    if (this.#texts.get(id) === json) return;
    this.#texts.set(id, json);
    this.#publish.put(collection, key, json);
  }

  #dropUnlessCalled(id: number, name: string | undefined): void {
    if (this.#names.get(id) === name) return;
    this.#names.delete(id);
    this.#drop('audio.clients', id);
  }

  #drop(collection: Collection, id: number): void {
    if (this.#texts.delete(`${collection} ${id}`)) this.#publish.drop(collection, String(id));
  }
}

function jsonOf(record: object | string): string {
  const json = JSON.stringify(record);
  if (json.length <= JSON_MAX_UNITS || typeof record === 'string' || !('props' in record)) return json;
  return JSON.stringify({ ...record, props: {} });
}
