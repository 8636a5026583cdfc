// Publishes records that differ from what was published before: one JSON text per changed record, encoded once.
// It must not talk to the server and does not decide the records' content (view.ts does).

import type { Collection } from '../../protocol/actor/collections.js';
import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Publisher } from '../runtime.js';
import type { HeldRecord, SoundState } from './state.js';
import {
  audioServerRecord,
  cardRecord,
  clientRecord,
  kindOfServer,
  outputRecord,
  ShownProps,
} from './view.js';
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
  /** The published name of each client and output. */
  readonly #names = new Map<string, string>();
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
   * Publishes the state's changes. Removals go first, so that a name is free before it is given again; what has another name under the
   * same id is first removed under its old one, by which others know it (docs/http-api.md, "Names of clients").
   */
  update(state: SoundState): void {
    const { server } = state;
    if (server === undefined) return;
    const { server: serverChanged, sinks, inputs, cards } = state.takeChanged();
    for (const id of inputs) {
      this.#dropUnlessCalled('audio.clients', id, state.inputs.has(id) ? state.nameOfInput(id) : undefined);
    }
    for (const id of sinks) this.#dropUnlessCalled('audio.outputs', id, state.sinks.get(id)?.info.name);
    for (const id of cards) this.#dropUnlessCalled('audio.cards', id, state.nameOfCard(id));
    const kind = kindOfServer(server);
    const defaultSink = state.defaultSink();
    if (serverChanged) {
      this.#put('audio.kind', '', kind);
      this.#put('audio.server', '', audioServerRecord(server, defaultSink));
    }
    for (const id of cards) {
      const [info, name] = [state.cards.get(id), state.nameOfCard(id)];
      if (info !== undefined && name !== undefined)
        this.#putNamed('audio.cards', id, name, cardRecord(info, name));
    }
    for (const id of sinks) this.#putOutput(state, state.sinks.get(id), defaultSink);
    for (const id of inputs) {
      const info = state.inputs.get(id)?.info;
      if (info === undefined) continue;
      const output = info.sink === undefined ? undefined : state.sinks.get(info.sink)?.info.name;
      const name = state.nameOfInput(id) ?? '';
      this.#putNamed('audio.clients', id, name, clientRecord(info, { kind, name, output }, this.#shown));
    }
    this.#logFull('outputs', state.sinks.size);
    this.#logFull('streams', state.inputs.size);
  }

  #logFull(what: 'outputs' | 'streams', known: number): void {
    if (known <= RECORDS_MAX / 2) this.#full.delete(what);
    if (known < RECORDS_MAX || this.#full.has(what)) return;
    this.#full.add(what);
    this.#publish.log('warn', `too many ${what}: some are left out`, {
      shown: RECORDS_MAX,
    });
  }

  #putOutput(
    state: SoundState,
    sink: HeldRecord<SinkInfo> | undefined,
    defaultSink: HeldRecord<SinkInfo> | undefined,
  ): void {
    if (sink === undefined) return;
    const { index, name } = sink.info;
    const around = {
      isDefault: index === defaultSink?.info.index,
      card: state.nameOfCard(sink.info.card),
      wish: wishFor(this.#wishes, name),
    };
    this.#putNamed('audio.outputs', index, name, outputRecord(sink, around, this.#shown));
  }

  #putNamed(collection: Collection, id: number, name: string, record: object): void {
    this.#names.set(`${collection} ${id}`, name);
    this.#put(collection, String(id), record);
  }

  #put(collection: Collection, key: string, record: object | string): void {
    const json = jsonOf(record);
    const id = `${collection} ${key}`;
    if (this.#texts.get(id) === json) return;
    this.#texts.set(id, json);
    this.#publish.put(collection, key, json);
  }

  #dropUnlessCalled(collection: Collection, id: number, name: string | undefined): void {
    const place = `${collection} ${id}`;
    if (this.#names.get(place) === name) return;
    this.#names.delete(place);
    if (this.#texts.delete(place)) this.#publish.drop(collection, String(id));
  }
}

function jsonOf(record: object | string): string {
  const json = JSON.stringify(record);
  if (json.length <= JSON_MAX_UNITS || typeof record === 'string' || !('props' in record)) return json;
  return JSON.stringify({ ...record, props: {} });
}
