// Keeps what was last read of the sound server, and collects which records may differ from the published
// ones. Pure. The state outlives a connection, so that names and balances are kept. It does not outlive a
// life of the server (`enterLife`).

import type { SoundServerKind } from '../../protocol/actor/schemas.js';
import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { ServerInfo, SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { type ChannelParts, rememberChannelParts } from '../../protocol/pulse/volume.js';
import { UniqueNames } from '../unique-names.js';
import { Cards } from './cards.js';
import { addOnce, type ChangedRecords, noChanges } from './changed-records.js';
import { isAwake } from './device-states.js';
import { absentIndices, findById, type KnownRecord, presentRecords } from './known-records.js';
import { VolumeLimits } from './limits.js';
import { isStandIn, playsForGroup } from './marks.js';
import { isFilter } from './masters.js';
import { preferredName } from './names.js';
import { RequestedVolumes } from './requested-volumes.js';
import { kindOfServer } from './server-kind.js';
import { Sources } from './sources.js';
import { NO_WISHES, type WishSettings } from './wishes.js';

/** The kinds have the same names as in events (`FACILITIES` in protocol/pulse/subscription.ts). */
export type RecordKind = 'sink' | 'sink-input' | 'card' | 'source';

/** A sink input, which this file also calls a stream. `name` is the unique name in its published record. */
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
  /** The requested volumes of the sinks; `sources` has those of the sources. */
  readonly requestedVolumes = new RequestedVolumes();
  /** The indices of the sinks that have been awake in this life of the server, or that cannot be woken. */
  readonly #doneWaking = new Set<number>();
  #names = new UniqueNames();
  #changed: ChangedRecords = noChanges();
  /** `pulseaudio` until the server's info has been read. */
  kind: SoundServerKind = 'pulseaudio';
  readonly limits: VolumeLimits;
  /**
   * True while group-keeper.ts makes a group with stand-ins. Afterwards it stays true until the default sink
   * and the sinks of all streams are known again, or until group-keeper.ts has waited long enough. A sink
   * that is a stand-in is never known, because `putSink` leaves it out.
   */
  hasStandIns = false;
  /** The name of the default sink that was last known before the newest reading of the server's info. */
  #defaultBefore: string | undefined;
  /** Called with each reading of a sink. A fade sets this callback for the time of a step. */
  onSinkRead: ((info: SinkInfo) => void) | undefined;

  constructor(wishes: WishSettings = NO_WISHES) {
    this.limits = new VolumeLimits(wishes, this);
  }

  /**
   * To be called when a connection begins, before anything is put. `cookie` is a random number in the
   * server's info. A life of the server lasts as long as this number stays the same. In another life the
   * server may give the same indices to other records (docs/development/what-we-learnt.md, "PulseAudio and
   * PipeWire"), so all records, names and balances are dropped.
   */
  enterLife(cookie: number): void {
    if (this.server?.cookie === cookie) return;
    this.server = undefined;
    this.#sinks.clear();
    this.#sinkInputs.clear();
    this.cards.clear();
    this.sources.clear();
    this.requestedVolumes.clear();
    this.#doneWaking.clear();
    this.#defaultBefore = undefined;
    this.#names = new UniqueNames();
  }

  putServer(info: ServerInfo): void {
    this.#defaultBefore = this.defaultSink()?.info.name ?? this.#defaultBefore;
    this.server = info;
    this.kind = kindOfServer(info);
    this.#changed.haveServerOrSinksChanged = true;
    // If the default has changed, the records of two sinks change. All sinks are marked as changed, because
    // sinks are few.
    for (const index of this.#sinks.keys()) addOnce(this.#changed.sinks, index);
    this.#changed.mayInputsHaveChanged = true;
  }

  putSink(info: SinkInfo): void {
    if (isStandIn(info)) return;
    const atIndex = this.#sinks.get(info.index);
    if (atIndex === undefined && this.#sinks.size >= RECORDS_MAX) return;
    const isSameSink = atIndex?.info.name === info.name;
    const before = isSameSink ? atIndex : undefined;
    // If another sink was at this index, the event of its removal was missed.
    if (!isSameSink) this.#removeSink(info.index);
    this.#sinks.set(info.index, { info, balance: rememberChannelParts(before?.balance, info.volume) });
    // `onSinkRead` may call `hasNotBeenAwake`, which must know of this reading.
    if (isAwake(info.state)) this.#doneWaking.add(info.index);
    this.onSinkRead?.(info);
    addOnce(this.#changed.sinks, info.index);
    // The sink may be the default, whose name and volume are also in the server's record.
    this.#changed.haveServerOrSinksChanged = true;
    if (before !== undefined) return;
    this.#changed.haveSinksComeOrGone = true;
    this.#markSinkInputsOf(info.index, info.ownerModule);
    this.#markFilters();
  }

  putSinkInput(info: SinkInputInfo): void {
    const before = this.#sinkInputs.get(info.index);
    if (before === undefined && this.#sinkInputs.size >= RECORDS_MAX) return;
    // Equal lists of properties are usually one object (text-cache.ts). If they are two objects, the name is
    // computed again, which does no harm.
    const keepsName = before?.info.name === info.name && before?.info.props === info.props;
    const name = keepsName
      ? before.name
      : this.#names.assign(info.index, preferredName(info.name, info.props));
    this.#sinkInputs.set(info.index, {
      info,
      name,
      balance: rememberChannelParts(before?.balance, info.volume),
    });
    addOnce(this.#changed.sinkInputs, info.index);
    const isPlayedByProgram = info.client !== undefined;
    const playsToSameSink = before?.info.sink === info.sink;
    if (isPlayedByProgram || playsToSameSink) return;
    // The stream may be that of a filter or a loopback. If a filter's stream plays to another sink than
    // before, the filter has another master. If a loopback's stream does, its input is heard at another
    // output.
    this.#markFilters();
    this.#changed.mayInputsHaveChanged = true;
  }

  /** Stores a balance that a command has set, because silent channels do not show it. */
  putBalance(device: { readonly kind: string; readonly index?: number }, balance: ChannelParts): void {
    const { kind, index } = device;
    if (index === undefined) return;
    if (kind === 'source') this.sources.putBalance(index, balance);
    const sink = kind === 'sink' ? this.#sinks.get(index) : undefined;
    if (sink !== undefined) this.#sinks.set(index, { ...sink, balance });
  }

  remove(kind: RecordKind, index: number): void {
    if (kind === 'sink-input') this.#removeSinkInput(index);
    else if (kind === 'source') this.sources.remove(index);
    else if (kind === 'card') this.cards.remove(index);
    else this.#removeSink(index);
  }

  #removeSinkInput(index: number): void {
    this.#names.release(index);
    const isPlayedByProgram = this.#sinkInputs.get(index)?.info.client !== undefined;
    // The stream may be that of a loopback, by which an input was heard.
    if (!isPlayedByProgram) this.#changed.mayInputsHaveChanged = true;
    if (this.#sinkInputs.delete(index)) addOnce(this.#changed.sinkInputs, index);
  }

  #removeSink(index: number): void {
    if (!this.#sinks.delete(index)) return;
    this.#doneWaking.delete(index);
    this.requestedVolumes.delete(index);
    addOnce(this.#changed.sinks, index);
    this.#changed.haveServerOrSinksChanged = true;
    this.#changed.haveSinksComeOrGone = true;
    this.#markSinkInputsOf(index);
    this.#markFilters();
  }

  /**
   * `removed` has the indices of the sinks that were removed while `list` was read. These sinks are not put
   * back.
   */
  replaceSinks(list: readonly SinkInfo[], removed: ReadonlySet<number>): void {
    const present = presentRecords(list, removed);
    for (const index of absentIndices(this.#sinks, present)) this.remove('sink', index);
    for (const info of present) this.putSink(info);
  }

  /**
   * Puts the streams in the order of their indices, so the oldest one first. If several streams prefer the
   * same name, the first one gets it, and the later ones get it with a number.
   */
  replaceSinkInputs(list: readonly SinkInputInfo[], removed: ReadonlySet<number>): void {
    const present = presentRecords(list, removed).sort((a, b) => a.index - b.index);
    for (const index of absentIndices(this.#sinkInputs, present)) this.remove('sink-input', index);
    // Each stream whose preferred name has changed gives up its old name first. Otherwise an older stream
    // that now prefers the old name of a newer stream would get this name with a number.
    for (const { index, name, props } of present) this.#names.vacate(index, preferredName(name, props));
    for (const info of present) this.putSinkInput(info);
  }

  /** To be called when the device has been read again after a command set its loudest channel to `raw`. */
  putRequestedVolume(kind: 'sink' | 'source', index: number, raw: number): void {
    const isSink = kind === 'sink';
    const device = isSink ? this.#sinks.get(index) : this.sources.get(index);
    const requestedVolumes = isSink ? this.requestedVolumes : this.sources.requestedVolumes;
    if (device !== undefined) requestedVolumes.put(device.info, raw);
  }

  /**
   * Finds the known sink that the server names as its default. Undefined if there is none, for instance if
   * the server names a placeholder (`@DEFAULT_SINK@`, `@NONE@`). But if there is none while `hasStandIns` is
   * true, the result is the last known default. The server may then name a stand-in, or may lack a default
   * after the removal of a stand-in.
   */
  defaultSink(): KnownRecord<SinkInfo> | undefined {
    const sink = this.#sinkNamed(this.server?.defaultSink);
    return sink === undefined && this.hasStandIns ? this.#sinkNamed(this.#defaultBefore) : sink;
  }

  /** Finds a sink by id, else by exact name. */
  findSink(ref: string): KnownRecord<SinkInfo> | undefined {
    return findById(this.#sinks, ref) ?? this.#sinkNamed(ref);
  }

  /** Finds a stream by id, else by unique name. Undefined for a stream by which a group plays. */
  findClient(ref: string): KnownSinkInput | undefined {
    const index = findById(this.#sinkInputs, ref)?.info.index ?? this.#names.idOf(ref);
    return index === undefined ? undefined : this.client(index);
  }

  /** Undefined for a stream by which a group plays at its outputs, and for an unknown index. */
  client(index: number): KnownSinkInput | undefined {
    const stream = this.#sinkInputs.get(index);
    return stream !== undefined && playsForGroup(this.#sinks, stream.info) ? undefined : stream;
  }

  /** True if a known sink has not been awake in this life of the server. False after `giveUpWaking`. */
  hasNotBeenAwake(index: number): boolean {
    return this.#sinks.has(index) && !this.#doneWaking.has(index);
  }

  /** To be called when the sink has failed to wake. Otherwise each command would wait for it again. */
  giveUpWaking(index: number): void {
    if (this.#sinks.has(index)) this.#doneWaking.add(index);
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

  /** Marks the card, its outputs and all inputs. The records of outputs and inputs contain a card's name. */
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
      // The publisher updates outputs only if this flag is true, or if a card has changed.
      this.#changed.haveServerOrSinksChanged = true;
    }
  }

  /**
   * Marks the streams that play to the sink, because their records name the sink. `module` is the module
   * that made a new sink. If this sink is a group, it plays by the streams of the same module. Such a stream
   * may have been published as a client before the sink was known, so it is marked, too.
   */
  #markSinkInputsOf(sink: number, module?: number): void {
    for (const { info } of this.#sinkInputs.values()) {
      const isOfModule = module !== undefined && info.ownerModule === module;
      if (info.sink === sink || isOfModule) addOnce(this.#changed.sinkInputs, info.index);
    }
  }
}
