// Publishes each record whose JSON text has changed. It must not talk to the sound server. view.ts and
// input-record.ts decide what a record contains.

import type { PortRecord, ProfileRecord } from '../../protocol/actor/schemas.js';
import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { ServerInfo, SinkInfo } from '../../protocol/pulse/records.js';
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
import { NO_WISHES, type WishSettings, wishFor } from './wishes.js';

/**
 * A record whose JSON has more UTF-16 units than this is shortened. Such a record has long lists, or texts
 * with many control characters. JSON writes most control characters as six units (`\u0001`).
 */
const JSON_MAX_UNITS = 16 * 1024;
/**
 * A list in a shortened record has at most this much JSON. The active port or profile is kept even beyond
 * this. The record may still be longer than `JSON_MAX_UNITS`, but it fits into a line of the stream
 * (`LINE_MAX_BYTES` in gateway/events/line-length.ts).
 */
const LIST_MAX_BYTES = 64 * 1024;

/**
 * The fields that can make a record long. `active_port` and `active_profile` name the items that a shortened
 * record keeps in any case.
 */
interface ShortenableRecord {
  readonly props?: object | undefined;
  readonly ports?: readonly PortRecord[] | undefined;
  readonly active_port?: string | undefined;
  readonly profiles?: readonly ProfileRecord[] | undefined;
  readonly active_profile?: string | undefined;
}

type RecordReceiver = Pick<Publisher, 'put' | 'drop' | 'log'>;

type ListedCollection = 'audio.clients' | 'audio.outputs' | 'audio.inputs' | 'audio.cards';

interface PublishedRecord {
  /** The record's id as text. It is kept, so that it is not made anew for each change. */
  readonly key: string;
  readonly name: string;
  readonly json: string;
}

export class SoundPublisher {
  readonly #receiver: RecordReceiver;
  readonly #wishes: WishSettings;
  readonly #publishedRecords: Readonly<Record<ListedCollection, Map<number, PublishedRecord>>> = {
    'audio.clients': new Map(),
    'audio.outputs': new Map(),
    'audio.inputs': new Map(),
    'audio.cards': new Map(),
  };
  #publishedKindJson: string | undefined;
  #publishedServerJson: string | undefined;
  readonly #propertyCache = new PropertyCache();
  readonly #labels = new OutputLabels();
  /**
   * A kind that was logged as full is in this set, and is not logged again before it leaves the set.
   * `outputs` and `streams` leave it when at most half of their places are taken, `inputs` when no input is
   * left out.
   */
  readonly #kindsLoggedAsFull = new Set<'outputs' | 'inputs' | 'streams'>();

  constructor(receiver: RecordReceiver, wishes: WishSettings = NO_WISHES) {
    this.#receiver = receiver;
    this.#wishes = wishes;
  }

  /**
   * To be called when the connection is lost. The journal then drops clients, outputs, inputs and cards, so
   * the next connection must publish all of them.
   */
  forget(): void {
    this.#publishedKindJson = undefined;
    this.#publishedServerJson = undefined;
    this.#labels.clear();
    for (const published of Object.values(this.#publishedRecords)) published.clear();
  }

  /**
   * Publishes and returns the changes; undefined until the server's info has been read. In each collection
   * removals are published first, because a new record may have the name of a removed one (docs/http-api.md,
   * "Names of clients").
   */
  update(state: SoundState): Readonly<ChangedRecords> | undefined {
    const { server } = state;
    if (server === undefined) return undefined;
    const changed = state.takeChanged();
    for (const id of changed.sinkInputs)
      this.#dropIfGoneOrRenamed('audio.clients', id, state.client(id)?.name);
    if (changed.haveServerOrSinksChanged || changed.cards.length > 0)
      this.#updateServerCardsAndOutputs(state, server, changed);
    if (changed.mayInputsHaveChanged) this.#updateInputs(state, server);
    const { kind } = state;
    for (const id of changed.sinkInputs) {
      const client = state.client(id);
      if (client === undefined) continue;
      const { info, name } = client;
      const output = info.sink === undefined ? undefined : state.sinks.get(info.sink)?.info.name;
      // The stream may play to a stand-in. Or its stand-in was removed, and PipeWire has not moved the stream
      // to an output yet. The stream is published when it has an output, or when `hasStandIns` is false
      // again.
      if (output === undefined && state.hasStandIns) continue;
      this.#put('audio.clients', id, name, clientRecord(info, { kind, name, output }, this.#propertyCache));
    }
    this.#logIfFull('streams', state.sinkInputs.size);
    return changed;
  }

  /** Publishes server, cards and outputs together, because a change of one can affect the others. */
  #updateServerCardsAndOutputs(
    state: SoundState,
    server: ServerInfo,
    changed: Readonly<ChangedRecords>,
  ): void {
    for (const id of changed.sinks)
      this.#dropIfGoneOrRenamed('audio.outputs', id, state.sinks.get(id)?.info.name);
    for (const id of changed.cards) this.#dropIfGoneOrRenamed('audio.cards', id, state.cards.nameOf(id));
    const defaultSink = state.defaultSink();
    if (changed.haveServerOrSinksChanged)
      this.#putServer(JSON.stringify(state.kind), JSON.stringify(audioServerRecord(server, defaultSink)));
    for (const id of changed.cards) {
      const info = state.cards.get(id);
      const name = state.cards.nameOf(id);
      if (info !== undefined && name !== undefined)
        this.#put('audio.cards', id, name, cardRecord(info, name));
    }
    for (const id of this.#updateLabels(state, changed.sinks)) {
      const sink = state.sinks.get(id);
      if (sink === undefined) continue;
      const { name, card } = sink.info;
      const surroundings = {
        label: this.#labels.uniqueLabel(id),
        isDefault: id === defaultSink?.info.index,
        card: state.cards.nameOf(card),
        wish: wishFor(this.#wishes, name),
        volumeLimit: state.limits.ofSink(sink.info),
      };
      this.#put('audio.outputs', id, name, outputRecord(sink, surroundings, this.#propertyCache));
    }
    this.#logIfFull('outputs', state.sinks.size);
  }

  /** Compares all inputs with their published records, because inputs are few and change seldom. */
  #updateInputs(state: SoundState, { defaultSource }: ServerInfo): void {
    const { sources } = state;
    for (const id of [...this.#publishedRecords['audio.inputs'].keys()])
      this.#dropIfGoneOrRenamed('audio.inputs', id, sources.get(id)?.info.name);
    // If several inputs have the default's name, the first one is the default. The same holds for outputs.
    const defaultInput = sources.all.find(({ info }) => info.name === defaultSource);
    for (const source of sources.all) {
      const { index, name, card } = source.info;
      const surroundings = {
        isDefault: source === defaultInput,
        card: state.cards.nameOf(card),
        listen: listenOutputsOf(state, name),
      };
      this.#put('audio.inputs', index, name, inputRecord(source, surroundings, this.#propertyCache));
    }
    this.#logIfLeftOut(sources.leftOutCount);
  }

  #logIfLeftOut(leftOutCount: number): void {
    if (leftOutCount === 0) {
      this.#kindsLoggedAsFull.delete('inputs');
      return;
    }
    if (this.#kindsLoggedAsFull.has('inputs')) return;
    this.#kindsLoggedAsFull.add('inputs');
    this.#receiver.log('warn', 'too many inputs: some are left out', { most: SOURCES_MAX_RECORDS });
  }

  /**
   * Updates the labels of the changed outputs. Returns the ids of all outputs whose records may differ from
   * what was published: the changed outputs, or every output if a label has changed, because outputs may
   * share a label.
   */
  #updateLabels({ sinks }: SoundState, changedIds: readonly number[]): Iterable<number> {
    let hasLabelChanged = false;
    for (const id of changedIds) if (this.#updateLabel(id, sinks.get(id)?.info)) hasLabelChanged = true;
    return hasLabelChanged ? new Set([...changedIds, ...sinks.keys()]) : changedIds;
  }

  /** Returns true if the unique labels of other outputs may have changed, too. */
  #updateLabel(id: number, info: SinkInfo | undefined): boolean {
    if (info === undefined) return this.#labels.set(id, undefined);
    const label = outputLabel(info, wishFor(this.#wishes, info.name));
    return this.#labels.set(id, { name: info.name, label });
  }

  #logIfFull(kind: 'outputs' | 'streams', count: number): void {
    if (count <= RECORDS_MAX / 2) this.#kindsLoggedAsFull.delete(kind);
    if (count < RECORDS_MAX || this.#kindsLoggedAsFull.has(kind)) return;
    this.#kindsLoggedAsFull.add(kind);
    this.#receiver.log('warn', `there is room for no more ${kind}: further ones are left out`, {
      most: RECORDS_MAX,
    });
  }

  #putServer(kindJson: string, serverJson: string): void {
    if (kindJson !== this.#publishedKindJson) this.#receiver.put('audio.kind', '', kindJson);
    if (serverJson !== this.#publishedServerJson) this.#receiver.put('audio.server', '', serverJson);
    this.#publishedKindJson = kindJson;
    this.#publishedServerJson = serverJson;
  }

  #put(collection: ListedCollection, id: number, name: string, record: ShortenableRecord): void {
    const published = this.#publishedRecords[collection];
    const fullJson = JSON.stringify(record);
    const json = fullJson.length > JSON_MAX_UNITS ? JSON.stringify(shortenedRecord(record)) : fullJson;
    const before = published.get(id);
    if (before?.json === json) return;
    const key = before?.key ?? String(id);
    published.set(id, { key, name, json });
    this.#receiver.put(collection, key, json);
  }

  /**
   * `name` is the record's present name; undefined if the record is gone. A renamed record is dropped before
   * it is put, so that clients learn that the old name is gone.
   */
  #dropIfGoneOrRenamed(collection: ListedCollection, id: number, name: string | undefined): void {
    const published = this.#publishedRecords[collection];
    const before = published.get(id);
    if (before === undefined || before.name === name) return;
    published.delete(id);
    this.#receiver.drop(collection, before.key);
  }
}

/** The sorted names of the outputs at which the input is heard. Each name is there once. */
function listenOutputsOf({ sinkInputs, sinks }: SoundState, input: string): readonly string[] {
  const names = new Set<string>();
  for (const { info } of sinkInputs.values()) {
    if (listenInputOf(info) !== input || info.sink === undefined) continue;
    const output = sinks.get(info.sink);
    if (output !== undefined) names.add(output.info.name);
  }
  return [...names].sort();
}

/** Removes the properties. Keeps the first ports and profiles, and the active ones. */
function shortenedRecord({ props, ports, profiles, ...others }: ShortenableRecord): ShortenableRecord {
  const isActivePort = ({ name }: PortRecord): boolean => name === others.active_port;
  const isActiveProfile = ({ name }: ProfileRecord): boolean => name === others.active_profile;
  return {
    ...others,
    props: props === undefined ? undefined : {},
    ports: ports && firstWithin(ports, LIST_MAX_BYTES, isActivePort),
    profiles: profiles && firstWithin(profiles, LIST_MAX_BYTES, isActiveProfile),
  };
}
