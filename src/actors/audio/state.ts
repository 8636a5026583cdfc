// The sound server as last read: its info, sinks and sink inputs by index, with its cards (cards.ts) and
// inputs (sources.ts), and which published records have changed. Pure: no socket, no clock. It outlives a
// connection if the server lives on, so that names and balances are kept.

import type { SoundServerKind } from '../../protocol/actor/schemas.js';
import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { ServerInfo, SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { type Balance, loudestOf, rememberBalance } from '../../protocol/pulse/volume.js';
import { Cards } from './cards.js';
import { add, ChangedRecords } from './changed-records.js';
import { isStandIn, playsForGroup } from './group-names.js';
import { byId, type KnownRecord, keepOnly } from './known-records.js';
import { VolumeLimits } from './limits.js';
import { isFilter } from './masters.js';
import { ClientNames, preferredName } from './names.js';
import { kindOfServer } from './server-kind.js';
import { Sources } from './sources.js';
import { NO_WISHES, type OutputWishes } from './wishes.js';

/** Named as the events name them. */
export type RecordKind = 'sink' | 'sink-input' | 'card' | 'source';

/** A stream with the name that clients know it by. */
export interface KnownInput extends KnownRecord<SinkInputInfo> {
  readonly name: string;
}

/** `SinkInfo.state` of a sink that is awake: running or idle. Other sinks sleep or are being created. */
const AWAKE: readonly (number | undefined)[] = [0, 1];

export class SoundState {
  #serverInfo: ServerInfo | undefined;
  readonly #sinks = new Map<number, KnownRecord<SinkInfo>>();
  readonly #inputs = new Map<number, KnownInput>();
  readonly sinks: ReadonlyMap<number, KnownRecord<SinkInfo>> = this.#sinks;
  readonly inputs: ReadonlyMap<number, KnownInput> = this.#inputs;
  readonly cards = new Cards((card) => this.#cardChanged(card));
  readonly sources = new Sources(() => {
    this.#changed.sources = true;
  });
  /**
   * By sink, the volume that a command set, and the volume that the server then reported: a mixer may have
   * coarser steps.
   */
  readonly #requested = new Map<number, { readonly raw: number; readonly reported: number }>();
  /** Sinks that have been awake in this life of the server, and those that could not be woken. */
  readonly #awake = new Set<number>();
  #names = new ClientNames();
  #changed = new ChangedRecords();
  /** PulseAudio until the server's info has been read. */
  kind: SoundServerKind = 'pulseaudio';
  readonly limits: VolumeLimits;

  constructor(wishes: OutputWishes = NO_WISHES) {
    this.limits = new VolumeLimits(wishes, this);
  }

  get server(): ServerInfo | undefined {
    return this.#serverInfo;
  }

  /**
   * To be called when a connection begins, before anything is put. `cookie` comes from the server's info. It
   * is a random number that stays the same as long as the server gives no index twice
   * (docs/development/what-we-learnt.md, "PulseAudio and PipeWire"). With another cookie all old state is
   * dropped.
   */
  enterLife(cookie: number): void {
    if (this.#serverInfo?.cookie === cookie) return;
    this.#serverInfo = undefined;
    this.#sinks.clear();
    this.#inputs.clear();
    this.cards.clear();
    this.sources.clear();
    this.#requested.clear();
    this.#awake.clear();
    this.#names = new ClientNames();
  }

  putServer(info: ServerInfo): void {
    this.#serverInfo = info;
    this.kind = kindOfServer(info);
    this.#changed.server = true;
    // The default may have moved, which changes both the old and the new one. Sinks are few, so all are
    // marked.
    for (const index of this.#sinks.keys()) add(this.#changed.sinks, index);
    this.#changed.sources = true;
  }

  putSink(info: SinkInfo): void {
    if (isStandIn(info)) return;
    const known = this.#sinks.get(info.index);
    if (known === undefined && this.#sinks.size >= RECORDS_MAX) return;
    // The index now belongs to another sink, as the removal of the old one was missed. The new one inherits
    // nothing.
    if (known !== undefined && known.info.name !== info.name) this.remove('sink', info.index);
    const balance = rememberBalance(this.#sinks.get(info.index)?.balance, info.volume);
    this.#sinks.set(info.index, { info, balance });
    if (AWAKE.includes(info.state)) this.#awake.add(info.index);
    add(this.#changed.sinks, info.index);
    this.#changed.server = true;
    if (known?.info.name === info.name) return;
    this.#changed.sinksCameOrWent = true;
    this.#inputsChangeOf(info.index, info.ownerModule);
    this.#filtersChange();
  }

  putInput(info: SinkInputInfo): void {
    const before = this.#inputs.get(info.index);
    if (before === undefined && this.#inputs.size >= RECORDS_MAX) return;
    // Equal lists of properties are the same object (text-cache.ts).
    const isNamedSo = before?.info.name === info.name && before?.info.props === info.props;
    const name = isNamedSo
      ? before.name
      : this.#names.assign(info.index, preferredName(info.name, info.props));
    this.#inputs.set(info.index, { info, name, balance: rememberBalance(before?.balance, info.volume) });
    add(this.#changed.inputs, info.index);
    // It may be the stream of a filter. Then the filter has another master now.
    if (info.client !== undefined || before?.info.sink === info.sink) return;
    this.#filtersChange();
    // It may be the one by which an input is heard.
    this.#changed.sources = true;
  }

  /** Stores the balance of a sink or source as it was set, because silent channels do not show it. */
  putBalance({ of, index = -1 }: { readonly of: string; readonly index?: number }, balance: Balance): void {
    if (of === 'source') this.sources.putBalance(index, balance);
    const known = of === 'sink' ? this.#sinks.get(index) : undefined;
    if (known !== undefined) this.#sinks.set(index, { ...known, balance });
  }

  remove(of: RecordKind, index: number): void {
    if (of === 'sink-input') {
      this.#names.release(index);
      if (this.#inputs.get(index)?.info.client === undefined) this.#changed.sources = true;
      if (this.#inputs.delete(index)) add(this.#changed.inputs, index);
    } else if (of === 'source') this.sources.remove(index);
    else if (of === 'card') this.cards.remove(index);
    else if (this.#sinks.delete(index)) {
      this.#awake.delete(index);
      this.#requested.delete(index);
      add(this.#changed.sinks, index);
      this.#changed.server = true;
      this.#changed.sinksCameOrWent = true;
      this.#inputsChangeOf(index);
      this.#filtersChange();
    }
  }

  /**
   * Replaces all sinks by a list, except the records in `past`, which were removed after the list was made.
   */
  replaceSinks(list: readonly SinkInfo[], past: ReadonlySet<number>): void {
    const live = keepOnly(list, past, this.#sinks, (index) => this.remove('sink', index));
    for (const info of live) this.putSink(info);
  }

  /**
   * Works like `replaceSinks`, but in the order of ids: the older of two streams of one name gets that name
   * without a number.
   */
  replaceInputs(list: readonly SinkInputInfo[], past: ReadonlySet<number>): void {
    const live = keepOnly(list, past, this.#inputs, (index) => this.remove('sink-input', index));
    live.sort((a, b) => a.index - b.index);
    // All names that streams no longer use are freed before any stream gets a new one. So a freed name goes
    // to the first stream of the list that has it.
    for (const { index, name, props } of live) this.#names.vacate(index, preferredName(name, props));
    for (const info of live) this.putInput(info);
  }

  /** To be called when the sink has been read after its volume was set. */
  putRequested(sink: number, raw: number): void {
    const known = this.#sinks.get(sink);
    if (known !== undefined) this.#requested.set(sink, { raw, reported: loudestOf(known.info.volume) });
  }

  /**
   * Returns where a step begins: at the volume that the last command set, unless the volume has changed
   * since. Otherwise small steps would not move a mixer that has coarse ones.
   */
  stepsFrom({ index, volume }: SinkInfo): readonly number[] {
    const requested = this.#requested.get(index);
    return requested !== undefined && requested.reported === loudestOf(volume) ? [requested.raw] : volume;
  }

  /**
   * The default sink, if it exists: servers name placeholders (`@DEFAULT_SINK@`, `@NONE@`) while there is
   * none.
   */
  defaultSink(): KnownRecord<SinkInfo> | undefined {
    return this.#sinkNamed(this.#serverInfo?.defaultSink);
  }

  /** By id, else by exact name: a name made of digits is found unless it is also an id. */
  findSink(ref: string): KnownRecord<SinkInfo> | undefined {
    return byId(this.#sinks, ref) ?? this.#sinkNamed(ref);
  }

  /** By id, else by unique name. */
  findInput(ref: string): KnownInput | undefined {
    const input = byId(this.#inputs, ref) ?? this.#inputs.get(this.#names.idOf(ref) ?? -1);
    return input && this.client(input.info.index);
  }

  /** The stream that clients see; the streams by which a group plays at its outputs are none. */
  client(index: number): KnownInput | undefined {
    const input = this.#inputs.get(index);
    return input !== undefined && playsForGroup(this.#sinks, input.info) ? undefined : input;
  }

  /**
   * True if the sink was never known to be awake in this life of the server and no attempt to wake it has
   * failed.
   */
  mayWake(index: number): boolean {
    return this.#sinks.has(index) && !this.#awake.has(index);
  }

  /** Records that the sink could not be woken: each further attempt would take as long. */
  letSleep(index: number): void {
    if (this.#sinks.has(index)) this.#awake.add(index);
  }

  takeChanged(): Readonly<ChangedRecords> {
    const taken = this.#changed;
    this.#changed = new ChangedRecords();
    return taken;
  }

  #sinkNamed(name: string | undefined): KnownRecord<SinkInfo> | undefined {
    for (const sink of this.#sinks.values()) if (sink.info.name === name) return sink;
    return undefined;
  }

  #cardChanged(card: number): void {
    add(this.#changed.cards, card);
    this.#changed.sources = true;
    for (const { info } of this.#sinks.values()) if (info.card === card) add(this.#changed.sinks, info.index);
  }

  /** Filters have the volume limit of their master. */
  #filtersChange(): void {
    for (const { info } of this.#sinks.values()) {
      if (!isFilter(info)) continue;
      add(this.#changed.sinks, info.index);
      this.#changed.server = true;
    }
  }

  /** `module`: the one that made the sink, and maybe streams by which it plays. */
  #inputsChangeOf(sink: number, module?: number): void {
    for (const { info } of this.#inputs.values())
      if (info.sink === sink || (module !== undefined && info.ownerModule === module))
        add(this.#changed.inputs, info.index);
  }
}
