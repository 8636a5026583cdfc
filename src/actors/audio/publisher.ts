// Publishes records that differ from what was published before: one JSON text per changed record, encoded
// once. It must not talk to the server and does not decide the records' content (view.ts does).

import type { PortRecord, ProfileRecord } from '../../protocol/actor/schemas.js';
import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { ServerInfo } from '../../protocol/pulse/records.js';
import type { Publisher } from '../runtime.js';
import { firstWithin } from '../text.js';
import type { ChangedRecords } from './changed-records.js';
import { inputRecord } from './input-record.js';
import { inputOf } from './listen-names.js';
import { OutputLabels } from './output-labels.js';
import { SOURCES_MAX_RECORDS } from './sources.js';
import type { SoundState } from './state.js';
import {
  audioServerRecord,
  ClientProps,
  cardRecord,
  clientRecord,
  outputLabel,
  outputRecord,
} from './view.js';
import { NO_WISHES, type OutputWishes, wishFor } from './wishes.js';

/**
 * UTF-16 units of a record's JSON. A longer record has long lists, or control characters, which take six
 * units each. It is shortened.
 */
const JSON_MAX_UNITS = 16 * 1024;
/**
 * The JSON of a shortened record's ports, or profiles. With the rest of the record it fits into a line of the
 * event stream.
 */
const LIST_MAX_BYTES = 64 * 1024;

/** The fields that can make a record long, and what names the active one of a list. */
interface Listing {
  readonly props?: object | undefined;
  readonly ports?: readonly PortRecord[] | undefined;
  readonly active_port?: string | undefined;
  readonly profiles?: readonly ProfileRecord[] | undefined;
  readonly active_profile?: string | undefined;
}

type Sink = Pick<Publisher, 'put' | 'drop' | 'log'>;

/** The collections of records that come and go. */
type Named = 'audio.clients' | 'audio.outputs' | 'audio.inputs' | 'audio.cards';

/** A record's name and text, as they were published. */
interface PublishedRecord {
  /** Its id as text. */
  readonly key: string;
  readonly name: string;
  readonly json: string;
}

export class SoundPublisher {
  readonly #publish: Sink;
  readonly #wishes: OutputWishes;
  readonly #published: Readonly<Record<Named, Map<number, PublishedRecord>>> = {
    'audio.clients': new Map(),
    'audio.outputs': new Map(),
    'audio.inputs': new Map(),
    'audio.cards': new Map(),
  };
  #kind: string | undefined;
  #server: string | undefined;
  readonly #clientProps = new ClientProps();
  readonly #labels = new OutputLabels();
  /** Kinds that hit their bound; cleared once half are gone, inputs once none is left out. */
  readonly #full = new Set<'outputs' | 'inputs' | 'streams'>();

  constructor(publish: Sink, wishes: OutputWishes = NO_WISHES) {
    this.#publish = publish;
    this.#wishes = wishes;
  }

  /** Forgets what was published: leaving `up` has removed all of it. */
  forget(): void {
    this.#kind = undefined;
    this.#server = undefined;
    this.#labels.clear();
    for (const published of Object.values(this.#published)) published.clear();
  }

  /**
   * Publishes the changes, and returns them. Removals go first, under the old names, which are free from then
   * on (docs/http-api.md, "Names of clients").
   */
  update(state: SoundState): Readonly<ChangedRecords> | undefined {
    const { server } = state;
    if (server === undefined) return undefined;
    const changed = state.takeChanged();
    for (const id of changed.inputs) this.#dropUnlessCalled('audio.clients', id, state.client(id)?.name);
    if (changed.server || changed.cards.length > 0) this.#updateAround(state, server, changed);
    if (changed.sources) this.#updateInputs(state, server);
    const kind = state.kind;
    for (const id of changed.inputs) {
      const input = state.client(id);
      if (input === undefined) continue;
      const { info, name } = input;
      const output = info.sink === undefined ? undefined : state.sinks.get(info.sink)?.info.name;
      this.#put('audio.clients', id, name, clientRecord(info, { kind, name, output }, this.#clientProps));
    }
    if (state.inputs.size >= RECORDS_MAX || this.#full.size > 0) this.#logFull('streams', state.inputs.size);
    return changed;
  }

  /** The server, cards and outputs, which seldom change, and change each other. */
  #updateAround(state: SoundState, server: ServerInfo, changed: Readonly<ChangedRecords>): void {
    for (const id of changed.sinks)
      this.#dropUnlessCalled('audio.outputs', id, state.sinks.get(id)?.info.name);
    for (const id of changed.cards) this.#dropUnlessCalled('audio.cards', id, state.cards.nameOf(id));
    const defaultSink = state.defaultSink();
    if (changed.server)
      this.#putServer(JSON.stringify(state.kind), JSON.stringify(audioServerRecord(server, defaultSink)));
    for (const id of changed.cards) {
      const info = state.cards.get(id);
      const name = state.cards.nameOf(id);
      if (info !== undefined && name !== undefined)
        this.#put('audio.cards', id, name, cardRecord(info, name));
    }
    for (const id of this.#labelled(state, changed.sinks)) {
      const sink = state.sinks.get(id);
      if (sink === undefined) continue;
      const { name, card } = sink.info;
      const around = {
        label: this.#labels.of(id),
        isDefault: id === defaultSink?.info.index,
        card: state.cards.nameOf(card),
        wish: wishFor(this.#wishes, name),
        volumeLimit: state.limits.of(sink.info),
      };
      this.#put('audio.outputs', id, name, outputRecord(sink, around, this.#clientProps));
    }
    this.#logFull('outputs', state.sinks.size);
  }

  /** Inputs are few, and change seldom: all of them are encoded, and those that differ are published. */
  #updateInputs(state: SoundState, { defaultSource }: ServerInfo): void {
    const { sources } = state;
    for (const id of [...this.#published['audio.inputs'].keys()])
      this.#dropUnlessCalled('audio.inputs', id, sources.byId(id)?.info.name);
    for (const source of sources.all) {
      const { index, name, card } = source.info;
      const listen = outputsOf(state, name);
      const around = { isDefault: name === defaultSource, card: state.cards.nameOf(card), listen };
      this.#put('audio.inputs', index, name, inputRecord(source, around, this.#clientProps));
    }
    this.#logLeftOut(sources.leftOut);
  }

  #logLeftOut(leftOut: number): void {
    if (leftOut === 0) this.#full.delete('inputs');
    if (leftOut === 0 || this.#full.has('inputs')) return;
    this.#full.add('inputs');
    this.#publish.log('warn', 'too many inputs: some are left out', { most: SOURCES_MAX_RECORDS });
  }

  /** The outputs whose records may differ: all of them where a label came, went or changed. */
  #labelled({ sinks }: SoundState, changed: readonly number[]): Iterable<number> {
    const relabelled = changed.filter((id) => {
      const info = sinks.get(id)?.info;
      if (info === undefined) return this.#labels.set(id, undefined);
      const label = outputLabel(info, wishFor(this.#wishes, info.name));
      return this.#labels.set(id, { name: info.name, label });
    });
    return relabelled.length > 0 ? new Set([...changed, ...sinks.keys()]) : changed;
  }

  #logFull(what: 'outputs' | 'streams', known: number): void {
    if (known <= RECORDS_MAX / 2) this.#full.delete(what);
    if (known < RECORDS_MAX || this.#full.has(what)) return;
    this.#full.add(what);
    this.#publish.log('warn', `too many ${what}: some are left out`, { most: RECORDS_MAX });
  }

  #putServer(kind: string, server: string): void {
    if (kind !== this.#kind) this.#publish.put('audio.kind', '', kind);
    if (server !== this.#server) this.#publish.put('audio.server', '', server);
    this.#kind = kind;
    this.#server = server;
  }

  #put(collection: Named, id: number, name: string, record: Listing): void {
    const published = this.#published[collection];
    const whole = JSON.stringify(record);
    const json = whole.length > JSON_MAX_UNITS ? JSON.stringify(shortened(record)) : whole;
    const before = published.get(id);
    if (before?.json === json) return;
    const key = before?.key ?? String(id);
    published.set(id, { key, name, json });
    this.#publish.put(collection, key, json);
  }

  #dropUnlessCalled(collection: Named, id: number, name: string | undefined): void {
    const published = this.#published[collection];
    const before = published.get(id);
    if (before === undefined || before.name === name) return;
    published.delete(id);
    this.#publish.drop(collection, before.key);
  }
}

/** The names of the outputs at which an input is heard, in their order. */
function outputsOf({ inputs, sinks }: SoundState, input: string): readonly string[] {
  const names = [...inputs.values()]
    .filter(({ info }) => inputOf(info) === input)
    .flatMap(({ info }) => sinks.get(info.sink ?? -1)?.info.name ?? []);
  return [...new Set(names)].sort();
}

/**
 * The record without properties, and with the first of its ports or profiles; the active one is always among
 * them.
 */
function shortened({ props, ports, profiles, ...rest }: Listing): Listing {
  const { active_port: port, active_profile: profile } = rest;
  return {
    ...rest,
    ...(props !== undefined && { props: {} }),
    ...(ports && { ports: firstWithin(ports, LIST_MAX_BYTES, ({ name }) => name === port) }),
    ...(profiles && { profiles: firstWithin(profiles, LIST_MAX_BYTES, ({ name }) => name === profile) }),
  };
}
