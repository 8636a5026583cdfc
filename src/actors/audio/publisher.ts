// Publishes the records that differ from what was published before, each as one JSON text. It must not talk
// to the server, and does not decide what a record contains (view.ts and input-record.ts do).

import type { PortRecord, ProfileRecord } from '../../protocol/actor/schemas.js';
import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { ServerInfo } from '../../protocol/pulse/records.js';
import type { Publisher } from '../runtime.js';
import { firstWithin } from '../text.js';
import type { ChangedRecords } from './changed-records.js';
import { inputRecord } from './input-record.js';
import { listenInputOf } from './marks.js';
import { OutputLabels } from './output-labels.js';
import { SOURCES_MAX_RECORDS } from './sources.js';
import type { SoundState } from './state.js';
import {
  audioServerRecord,
  cardRecord,
  clientRecord,
  outputLabel,
  outputRecord,
  PropertyCache,
} from './view.js';
import { NO_WISHES, type OutputWishes, wishFor } from './wishes.js';

/**
 * A record whose JSON has more UTF-16 units is shortened. Such a record has long lists, or control
 * characters, which take six units each.
 */
const JSON_MAX_UNITS = 16 * 1024;
/**
 * The ports of a shortened record have at most this much JSON, and so have its profiles. With the rest of
 * the record, they fit into a line of the event stream.
 */
const LIST_MAX_BYTES = 64 * 1024;

/** The fields that can make a record long; and the name of the active port or profile, which must stay. */
interface LongRecord {
  readonly props?: object | undefined;
  readonly ports?: readonly PortRecord[] | undefined;
  readonly active_port?: string | undefined;
  readonly profiles?: readonly ProfileRecord[] | undefined;
  readonly active_profile?: string | undefined;
}

type RecordReceiver = Pick<Publisher, 'put' | 'drop' | 'log'>;

/** The collections of records that come and go. */
type ListedCollection = 'audio.clients' | 'audio.outputs' | 'audio.inputs' | 'audio.cards';

/** A record's name and text, as they were published. */
interface PublishedRecord {
  /** Its id as text. */
  readonly key: string;
  readonly name: string;
  readonly json: string;
}

export class SoundPublisher {
  readonly #publish: RecordReceiver;
  readonly #wishes: OutputWishes;
  readonly #publishedRecords: Readonly<Record<ListedCollection, Map<number, PublishedRecord>>> = {
    'audio.clients': new Map(),
    'audio.outputs': new Map(),
    'audio.inputs': new Map(),
    'audio.cards': new Map(),
  };
  #publishedKind: string | undefined;
  #publishedServer: string | undefined;
  readonly #propertyCache = new PropertyCache();
  readonly #labels = new OutputLabels();
  /**
   * Kinds that have reached their bound, which is logged only once. Outputs and streams leave the set when
   * at most half of the bound is left, and inputs when none is left out any more.
   */
  readonly #loggedFull = new Set<'outputs' | 'inputs' | 'streams'>();

  constructor(publish: RecordReceiver, wishes: OutputWishes = NO_WISHES) {
    this.#publish = publish;
    this.#wishes = wishes;
  }

  /** To be called when the connection is lost, because the status `connecting` removes all records. */
  forget(): void {
    this.#publishedKind = undefined;
    this.#publishedServer = undefined;
    this.#labels.clear();
    for (const published of Object.values(this.#publishedRecords)) published.clear();
  }

  /**
   * Publishes the changes, and returns them. Removals go first, because another record may have the name of a
   * removed one (docs/http-api.md, "Names of clients"). Undefined until the server's info has been read.
   */
  update(state: SoundState): Readonly<ChangedRecords> | undefined {
    const { server } = state;
    if (server === undefined) return undefined;
    const changed = state.takeChanged();
    for (const id of changed.sinkInputs) this.#dropUnlessNamed('audio.clients', id, state.client(id)?.name);
    if (changed.hasServerChanged || changed.cards.length > 0)
      this.#updateServerCardsAndOutputs(state, server, changed);
    if (changed.mayInputsHaveChanged) this.#updateInputs(state, server);
    const { kind } = state;
    for (const id of changed.sinkInputs) {
      const client = state.client(id);
      if (client === undefined) continue;
      const { info, name } = client;
      const output = info.sink === undefined ? undefined : state.sinks.get(info.sink)?.info.name;
      this.#put('audio.clients', id, name, clientRecord(info, { kind, name, output }, this.#propertyCache));
    }
    this.#logFull('streams', state.sinkInputs.size);
    return changed;
  }

  /**
   * Updates server, cards and outputs together, because they change seldom, and a change of one changes the
   * records of the others.
   */
  #updateServerCardsAndOutputs(
    state: SoundState,
    server: ServerInfo,
    changed: Readonly<ChangedRecords>,
  ): void {
    for (const id of changed.sinks)
      this.#dropUnlessNamed('audio.outputs', id, state.sinks.get(id)?.info.name);
    for (const id of changed.cards) this.#dropUnlessNamed('audio.cards', id, state.cards.nameOf(id));
    const defaultSink = state.defaultSink();
    if (changed.hasServerChanged)
      this.#putServer(JSON.stringify(state.kind), JSON.stringify(audioServerRecord(server, defaultSink)));
    for (const id of changed.cards) {
      const info = state.cards.get(id);
      const name = state.cards.nameOf(id);
      if (info !== undefined && name !== undefined)
        this.#put('audio.cards', id, name, cardRecord(info, name));
    }
    for (const id of this.#outputsToCompare(state, changed.sinks)) {
      const sink = state.sinks.get(id);
      if (sink === undefined) continue;
      const { name, card } = sink.info;
      const surroundings = {
        label: this.#labels.of(id),
        isDefault: id === defaultSink?.info.index,
        card: state.cards.nameOf(card),
        wish: wishFor(this.#wishes, name),
        volumeLimit: state.limits.ofSink(sink.info),
      };
      this.#put('audio.outputs', id, name, outputRecord(sink, surroundings, this.#propertyCache));
    }
    this.#logFull('outputs', state.sinks.size);
  }

  /** Encodes all inputs, because they are few and change seldom, and publishes those that differ. */
  #updateInputs(state: SoundState, { defaultSource }: ServerInfo): void {
    const { sources } = state;
    for (const id of [...this.#publishedRecords['audio.inputs'].keys()])
      this.#dropUnlessNamed('audio.inputs', id, sources.byId(id)?.info.name);
    for (const source of sources.all) {
      const { index, name, card } = source.info;
      const surroundings = {
        isDefault: name === defaultSource,
        card: state.cards.nameOf(card),
        listen: listenOutputsOf(state, name),
      };
      this.#put('audio.inputs', index, name, inputRecord(source, surroundings, this.#propertyCache));
    }
    this.#logLeftOut(sources.leftOutCount);
  }

  #logLeftOut(leftOutCount: number): void {
    if (leftOutCount === 0) this.#loggedFull.delete('inputs');
    if (leftOutCount === 0 || this.#loggedFull.has('inputs')) return;
    this.#loggedFull.add('inputs');
    this.#publish.log('warn', 'too many inputs: some are left out', { most: SOURCES_MAX_RECORDS });
  }

  /**
   * Returns the outputs whose records may differ. If a label came, went or changed, these are all outputs,
   * because outputs that share a label show their names behind it.
   */
  #outputsToCompare({ sinks }: SoundState, changed: readonly number[]): Iterable<number> {
    const relabelled = changed.filter((id) => {
      const info = sinks.get(id)?.info;
      if (info === undefined) return this.#labels.set(id, undefined);
      const label = outputLabel(info, wishFor(this.#wishes, info.name));
      return this.#labels.set(id, { name: info.name, label });
    });
    return relabelled.length > 0 ? new Set([...changed, ...sinks.keys()]) : changed;
  }

  #logFull(what: 'outputs' | 'streams', count: number): void {
    if (count <= RECORDS_MAX / 2) this.#loggedFull.delete(what);
    if (count < RECORDS_MAX || this.#loggedFull.has(what)) return;
    this.#loggedFull.add(what);
    this.#publish.log('warn', `too many ${what}: some are left out`, { most: RECORDS_MAX });
  }

  #putServer(kind: string, server: string): void {
    if (kind !== this.#publishedKind) this.#publish.put('audio.kind', '', kind);
    if (server !== this.#publishedServer) this.#publish.put('audio.server', '', server);
    this.#publishedKind = kind;
    this.#publishedServer = server;
  }

  #put(collection: ListedCollection, id: number, name: string, record: LongRecord): void {
    const published = this.#publishedRecords[collection];
    const whole = JSON.stringify(record);
    const json = whole.length > JSON_MAX_UNITS ? JSON.stringify(shortened(record)) : whole;
    const before = published.get(id);
    if (before?.json === json) return;
    const key = before?.key ?? String(id);
    published.set(id, { key, name, json });
    this.#publish.put(collection, key, json);
  }

  /** Drops a record that is gone (`name` is undefined), or that has another name now. */
  #dropUnlessNamed(collection: ListedCollection, id: number, name: string | undefined): void {
    const published = this.#publishedRecords[collection];
    const before = published.get(id);
    if (before === undefined || before.name === name) return;
    published.delete(id);
    this.#publish.drop(collection, before.key);
  }
}

/** The names of the outputs at which an input is heard, sorted, each once. */
function listenOutputsOf({ sinkInputs, sinks }: SoundState, input: string): readonly string[] {
  const names = [...sinkInputs.values()]
    .filter(({ info }) => listenInputOf(info) === input)
    .flatMap(({ info }) => sinks.get(info.sink ?? -1)?.info.name ?? []);
  return [...new Set(names)].sort();
}

/**
 * Returns the record without its properties, and with only the first of its ports or profiles and the active
 * one.
 */
function shortened({ props, ports, profiles, ...rest }: LongRecord): LongRecord {
  const { active_port: port, active_profile: profile } = rest;
  return {
    ...rest,
    ...(props !== undefined && { props: {} }),
    ...(ports && { ports: firstWithin(ports, LIST_MAX_BYTES, ({ name }) => name === port) }),
    ...(profiles && { profiles: firstWithin(profiles, LIST_MAX_BYTES, ({ name }) => name === profile) }),
  };
}
