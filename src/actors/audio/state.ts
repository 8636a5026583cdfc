// Keeps what was last read of the sound server: its info, sinks and sink inputs by index, cards (cards.ts)
// and sources (sources.ts). It also collects which published records have changed. Pure: no socket, no
// clock. The state outlives a connection if the server lives on, so that names and balances are kept.

import type { SoundServerKind } from '../../protocol/actor/schemas.js';
import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { ServerInfo, SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { type Balance, loudestOf, rememberBalance } from '../../protocol/pulse/volume.js';
import { UniqueNames } from '../unique-names.js';
import { Cards } from './cards.js';
import { addOnce, type ChangedRecords, noChanges } from './changed-records.js';
import { isAwake } from './device-states.js';
import { findById, type KnownRecord, removeUnlisted } from './known-records.js';
import { VolumeLimits } from './limits.js';
import { isStandIn, playsForGroup } from './marks.js';
import { isFilter } from './masters.js';
import { preferredName } from './names.js';
import { kindOfServer } from './server-kind.js';
import { Sources } from './sources.js';
import { NO_WISHES, type OutputWishes } from './wishes.js';

/** The names are those of the server's events (`Facility` in protocol/pulse/subscription.ts). */
export type RecordKind = 'sink' | 'sink-input' | 'card' | 'source';

/** A stream with the name that clients know it by. */
export interface KnownSinkInput extends KnownRecord<SinkInputInfo> {
  readonly name: string;
}

export class SoundState {
  /** Undefined until the server's info has been read. */
  server: ServerInfo | undefined;
  readonly #sinks = new Map<number, KnownRecord<SinkInfo>>();
  readonly #sinkInputs = new Map<number, KnownSinkInput>();
  readonly sinks: ReadonlyMap<number, KnownRecord<SinkInfo>> = this.#sinks;
  readonly sinkInputs: ReadonlyMap<number, KnownSinkInput> = this.#sinkInputs;
  readonly cards = new Cards((card) => this.#cardChanged(card));
  readonly sources = new Sources(() => {
    this.#changed.mayInputsHaveChanged = true;
  });
  /**
   * By the index of a sink: the volume that a command set, and the volume that the server then reported. The
   * two differ if the mixer has coarser steps.
   */
  readonly #requested = new Map<number, { readonly raw: number; readonly reported: number }>();
  /**
   * Sinks that no command needs to wake: they have been awake in this life of the server, or cannot be woken.
   */
  readonly #awake = new Set<number>();
  #names = new UniqueNames();
  #changed: ChangedRecords = noChanges();
  /** `pulseaudio` until the server's info has been read. */
  kind: SoundServerKind = 'pulseaudio';
  readonly limits: VolumeLimits;
  /** Called with each reading of a sink. A fade sets this for the time of a step. */
  onSinkRead: ((info: SinkInfo) => void) | undefined;

  constructor(wishes: OutputWishes = NO_WISHES) {
    this.limits = new VolumeLimits(wishes, this);
  }

  /**
   * To be called when a connection begins, before anything is put. `cookie` comes from the server's info: a
   * random number that stays the same as long as the server gives no index twice
   * (docs/development/what-we-learnt.md, "PulseAudio and PipeWire"). With another cookie the old indices mean
   * nothing, so the whole state is dropped.
   */
  enterLife(cookie: number): void {
    if (this.server?.cookie === cookie) return;
    this.server = undefined;
    this.#sinks.clear();
    this.#sinkInputs.clear();
    this.cards.clear();
    this.sources.clear();
    this.#requested.clear();
    this.#awake.clear();
    this.#names = new UniqueNames();
  }

  putServer(info: ServerInfo): void {
    this.server = info;
    this.kind = kindOfServer(info);
    this.#changed.hasServerChanged = true;
    // Another default changes the records of the old and the new default sink. Sinks are few, so all are
    // marked.
    for (const index of this.#sinks.keys()) addOnce(this.#changed.sinks, index);
    this.#changed.mayInputsHaveChanged = true;
  }

  putSink(info: SinkInfo): void {
    if (isStandIn(info)) return;
    const atIndex = this.#sinks.get(info.index);
    if (atIndex === undefined && this.#sinks.size >= RECORDS_MAX) return;
    const before = atIndex?.info.name === info.name ? atIndex : undefined;
    // If another sink was at this index, its removal was missed. The new sink inherits nothing from it.
    if (atIndex !== undefined && before === undefined) this.remove('sink', info.index);
    this.#sinks.set(info.index, { info, balance: rememberBalance(before?.balance, info.volume) });
    this.onSinkRead?.(info);
    if (isAwake(info.state)) this.#awake.add(info.index);
    addOnce(this.#changed.sinks, info.index);
    this.#changed.hasServerChanged = true;
    if (before !== undefined) return;
    this.#changed.haveSinksComeOrGone = true;
    this.#markSinkInputsOf(info.index, info.ownerModule);
    this.#markFilters();
  }

  putSinkInput(info: SinkInputInfo): void {
    const before = this.#sinkInputs.get(info.index);
    if (before === undefined && this.#sinkInputs.size >= RECORDS_MAX) return;
    // Equal lists of properties are the same object (text-cache.ts).
    const keepsName = before?.info.name === info.name && before?.info.props === info.props;
    const name = keepsName
      ? before.name
      : this.#names.assign(info.index, preferredName(info.name, info.props));
    this.#sinkInputs.set(info.index, { info, name, balance: rememberBalance(before?.balance, info.volume) });
    addOnce(this.#changed.sinkInputs, info.index);
    // A stream without a client may be that of a filter, or the one by which an input is heard. If the
    // stream plays to another sink now, the filter has another master, or the input is heard elsewhere.
    if (info.client !== undefined || before?.info.sink === info.sink) return;
    this.#markFilters();
    this.#changed.mayInputsHaveChanged = true;
  }

  /** Stores the balance of a sink or source as it was set, because silent channels do not show it. */
  putBalance({ of, index = -1 }: { readonly of: string; readonly index?: number }, balance: Balance): void {
    if (of === 'source') this.sources.putBalance(index, balance);
    const sink = of === 'sink' ? this.#sinks.get(index) : undefined;
    if (sink !== undefined) this.#sinks.set(index, { ...sink, balance });
  }

  remove(of: RecordKind, index: number): void {
    if (of === 'sink-input') {
      this.#names.release(index);
      if (this.#sinkInputs.get(index)?.info.client === undefined) this.#changed.mayInputsHaveChanged = true;
      if (this.#sinkInputs.delete(index)) addOnce(this.#changed.sinkInputs, index);
    } else if (of === 'source') this.sources.remove(index);
    else if (of === 'card') this.cards.remove(index);
    else if (this.#sinks.delete(index)) {
      this.#awake.delete(index);
      this.#requested.delete(index);
      addOnce(this.#changed.sinks, index);
      this.#changed.hasServerChanged = true;
      this.#changed.haveSinksComeOrGone = true;
      this.#markSinkInputsOf(index);
      this.#markFilters();
    }
  }

  /**
   * Replaces all sinks by the list of a reply. `removed` has the indices that were removed while the list was
   * read: they are left out.
   */
  replaceSinks(list: readonly SinkInfo[], removed: ReadonlySet<number>): void {
    const present = removeUnlisted(list, removed, this.#sinks, (index) => this.remove('sink', index));
    for (const info of present) this.putSink(info);
  }

  /**
   * Works like `replaceSinks`, but in the order of ids: the older of two streams of one name gets that name
   * without a number.
   */
  replaceSinkInputs(list: readonly SinkInputInfo[], removed: ReadonlySet<number>): void {
    const removeOne = (index: number): void => this.remove('sink-input', index);
    const present = removeUnlisted(list, removed, this.#sinkInputs, removeOne);
    present.sort((a, b) => a.index - b.index);
    // All names that streams no longer use are freed before any stream gets a new one. So a freed name goes
    // to the first stream of the list that prefers it.
    for (const { index, name, props } of present) this.#names.vacate(index, preferredName(name, props));
    for (const info of present) this.putSinkInput(info);
  }

  /**
   * To be called when the sink has been read again after a command set its volume to `raw`, in the server's
   * unit.
   */
  putRequested(index: number, raw: number): void {
    const sink = this.#sinks.get(index)?.info;
    if (sink !== undefined) this.#requested.set(index, { raw, reported: loudestOf(sink.volume) });
  }

  /**
   * Returns the raw volumes from which a step begins: the one that the last command set, or those of the
   * channels if the volume has changed since that command. If steps began at the reported volume, small ones
   * would never move a mixer whose own steps are coarser.
   */
  stepStart({ index, volume }: SinkInfo): readonly number[] {
    const requested = this.#requested.get(index);
    return requested !== undefined && requested.reported === loudestOf(volume) ? [requested.raw] : volume;
  }

  /**
   * The default sink, if it exists: servers name placeholders (`@DEFAULT_SINK@`, `@NONE@`) while there is
   * none.
   */
  defaultSink(): KnownRecord<SinkInfo> | undefined {
    return this.#sinkNamed(this.server?.defaultSink);
  }

  /**
   * Finds a sink by id, else by exact name. A name made of digits is found only if no sink has it as its id.
   */
  findSink(ref: string): KnownRecord<SinkInfo> | undefined {
    return findById(this.#sinks, ref) ?? this.#sinkNamed(ref);
  }

  /** By id, else by unique name. */
  findClient(ref: string): KnownSinkInput | undefined {
    const stream = findById(this.#sinkInputs, ref) ?? this.#sinkInputs.get(this.#names.idOf(ref) ?? -1);
    return stream && this.client(stream.info.index);
  }

  /**
   * The stream as a client of the interface; undefined for the streams by which a group plays at its
   * outputs, and for an unknown index.
   */
  client(index: number): KnownSinkInput | undefined {
    const stream = this.#sinkInputs.get(index);
    return stream !== undefined && playsForGroup(this.#sinks, stream.info) ? undefined : stream;
  }

  /**
   * True if the sink has never been awake in this life of the server, as far as known, and no attempt to wake
   * it has failed.
   */
  mayWake(index: number): boolean {
    return this.#sinks.has(index) && !this.#awake.has(index);
  }

  /**
   * Keeps commands from waking the sink again after a failure, because each further attempt would take as
   * long.
   */
  letSleep(index: number): void {
    if (this.#sinks.has(index)) this.#awake.add(index);
  }

  /** Returns the changes since the last call. */
  takeChanged(): Readonly<ChangedRecords> {
    const changed = this.#changed;
    this.#changed = noChanges();
    return changed;
  }

  #sinkNamed(name: string | undefined): KnownRecord<SinkInfo> | undefined {
    for (const sink of this.#sinks.values()) if (sink.info.name === name) return sink;
    return undefined;
  }

  #cardChanged(card: number): void {
    addOnce(this.#changed.cards, card);
    this.#changed.mayInputsHaveChanged = true;
    for (const { info } of this.#sinks.values())
      if (info.card === card) addOnce(this.#changed.sinks, info.index);
  }

  /** Marks the filters, because the record of a filter has the volume limit of its master. */
  #markFilters(): void {
    for (const { info } of this.#sinks.values()) {
      if (!isFilter(info)) continue;
      addOnce(this.#changed.sinks, info.index);
      this.#changed.hasServerChanged = true;
    }
  }

  /** Marks the streams that play to the sink, and those of its `module`, by which the sink itself plays. */
  #markSinkInputsOf(sink: number, module?: number): void {
    for (const { info } of this.#sinkInputs.values())
      if (info.sink === sink || (module !== undefined && info.ownerModule === module))
        addOnce(this.#changed.sinkInputs, info.index);
  }
}
