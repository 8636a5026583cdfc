// Publishes records that differ from what was published before: one JSON text per changed record, encoded once.
// It must not talk to the server and does not decide the records' content (view.ts does).

import type { Collection } from '../../protocol/actor/collections.js';
import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Publisher } from '../runtime.js';
import type { HeldRecord, SoundState } from './state.js';
import { audioServerRecord, clientRecord, kindOfServer, outputRecord, ShownProps } from './view.js';
import { NO_WISHES, type OutputWishes, wishFor } from './wishes.js';

/**
 * UTF-16 units of a record's JSON. The codec's bounds keep a stream's record below it, unless it is full of control characters, which
 * JSON writes as six each: such a record is published without its properties.
 */
const JSON_MAX_UNITS = 16 * 1024;

type Sink = Pick<Publisher, 'put' | 'drop' | 'log'>;

export class SoundPublisher {
  readonly #publish: Sink;
  readonly #wishes: OutputWishes;
  readonly #texts = new Map<string, string>();
  readonly #shown = new ShownProps();
  /** The published name of each client. */
  readonly #names = new Map<number, string>();
  /** Kinds that hit RECORDS_MAX; cleared once half are gone. */
  readonly #full = new Set<'outputs' | 'streams'>();

  constructor(publish: Sink, wishes: OutputWishes = NO_WISHES) {
    this.#publish = publish;
    this.#wishes = wishes;
  }

  /** Forgets what was published: leaving `up` has removed all of it. */
  forget(): void {
    this.#texts.clear();
    this.#names.clear();
  }

  /**
   * Publishes the state's changes. Removals go first, so that a name is free before it is given again; a renamed client is first
   * removed under its old name, by which others know it (docs/http-api.md, "Names of clients").
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
