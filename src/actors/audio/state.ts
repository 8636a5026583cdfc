// The sound server as last read: its info, sinks and sink inputs by index, and which of the published records have
// changed. Pure: no socket, no clock. It outlives a connection to a server that lives on, so that names and balances do.

import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { ServerInfo, SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { loudestOf } from '../../protocol/pulse/volume.js';
import { ClientNames, wantedName } from './names.js';
import type { RecordKind } from './refetch.js';
import { NO_WISHES, type OutputWishes, wishFor } from './wishes.js';

/** Channels as parts of the loudest one, each 0..1. */
export type Balance = readonly number[];

/** Raw channels of a balance whose loudest one is given. */
export function channelsOf(balance: Balance, loudest: number): number[] {
  return balance.map((part) => Math.round(part * loudest));
}

/**
 * What to remember of a target's balance after its channels were seen. Silence says nothing about balance, so the
 * memory survives it; and it also survives our own rounding, or quiet volumes would wear it away.
 */
export function rememberBalance(
  before: Balance | undefined,
  channels: readonly number[],
): Balance | undefined {
  const loudest = loudestOf(channels);
  const known = before?.length === channels.length ? before : undefined;
  if (loudest === 0) return known;
  if (known !== undefined && channelsOf(known, loudest).every((raw, at) => raw === channels[at]))
    return known;
  return channels.map((raw) => raw / loudest);
}

/** A record with what must outlive its next reading: the balance, which silence would lose. */
export interface HeldRecord<R> {
  readonly info: R;
  readonly balance: Balance | undefined;
}

export interface Changed {
  readonly server: boolean;
  readonly sinks: ReadonlySet<number>;
  readonly inputs: ReadonlySet<number>;
}

/** `SinkInfo.state` of a sink that is awake: running or idle. Others sleep, or are being made. */
const AWAKE: readonly (number | undefined)[] = [0, 1];

interface Leveled {
  readonly index: number;
  readonly volume: readonly number[];
}

function hold<R extends Leveled>(records: Map<number, HeldRecord<R>>, info: R): void {
  const before = records.get(info.index)?.balance;
  records.set(info.index, { info, balance: rememberBalance(before, info.volume) });
}

/** An id as clients write it: decimal, without leading zeros. */
function asId(ref: string): number | undefined {
  return /^(?:0|[1-9]\d{0,9})$/.test(ref) ? Number(ref) : undefined;
}

export class SoundState {
  #serverInfo: ServerInfo | undefined;
  readonly #sinkMap = new Map<number, HeldRecord<SinkInfo>>();
  readonly #inputMap = new Map<number, HeldRecord<SinkInputInfo>>();
  /** Sinks that have been seen awake in this life of the server, and those that could not be woken. */
  readonly #awake = new Set<number>();
  #names = new ClientNames();
  #changed = { server: false, sinks: new Set<number>(), inputs: new Set<number>() };

  readonly #wishes: OutputWishes;

  constructor(wishes: OutputWishes = NO_WISHES) {
    this.#wishes = wishes;
  }

  /** The most that commands may set a sink's volume to, 0..1; undefined: there is no limit. */
  volumeLimitOf({ name }: SinkInfo): number | undefined {
    return wishFor(this.#wishes, name).volumeLimit;
  }

  get server(): ServerInfo | undefined {
    return this.#serverInfo;
  }

  get sinks(): ReadonlyMap<number, HeldRecord<SinkInfo>> {
    return this.#sinkMap;
  }

  get inputs(): ReadonlyMap<number, HeldRecord<SinkInputInfo>> {
    return this.#inputMap;
  }

  /**
   * To be called when a connection begins, before anything is put. `cookie`: of the server's info, a random number of its life,
   * the same as long as it gives no index twice (PulseAudio 16 and 17; PipeWire 0.3.65 and 1.4, where it is the core's, and
   * a pipewire-pulse that is started anew goes on counting: measured). Another life shares nothing with the one before.
   */
  enterLife(cookie: number): void {
    if (this.#serverInfo?.cookie === cookie) return;
    this.#serverInfo = undefined;
    this.#sinkMap.clear();
    this.#inputMap.clear();
    this.#awake.clear();
    this.#names = new ClientNames();
  }

  putServer(info: ServerInfo): void {
    this.#serverInfo = info;
    this.#changed.server = true;
    // The default may have moved: both the old and the new one change. Sinks are few.
    for (const index of this.#sinkMap.keys()) this.#changed.sinks.add(index);
  }

  putSink(info: SinkInfo): void {
    const known = this.#sinkMap.get(info.index);
    if (known === undefined && this.#sinkMap.size >= RECORDS_MAX) return;
    hold(this.#sinkMap, info);
    if (AWAKE.includes(info.state)) this.#awake.add(info.index);
    this.#changed.sinks.add(info.index);
    this.#changed.server = true;
    if (known?.info.name !== info.name) this.#inputsChangeOf(info.index);
  }

  putInput(info: SinkInputInfo): void {
    if (!this.#inputMap.has(info.index) && this.#inputMap.size >= RECORDS_MAX) return;
    hold(this.#inputMap, info);
    this.#names.assign(info.index, wantedName(info.name, info.props));
    this.#changed.inputs.add(info.index);
  }

  /** What a sink's channels are to one another, as they were set: silent ones do not show it. */
  putBalance(sink: number, balance: Balance): void {
    const held = this.#sinkMap.get(sink);
    if (held !== undefined) this.#sinkMap.set(sink, { ...held, balance });
  }

  remove(of: RecordKind, index: number): void {
    if (of === 'input') {
      this.#names.release(index);
      if (this.#inputMap.delete(index)) this.#changed.inputs.add(index);
    } else if (this.#sinkMap.delete(index)) {
      this.#awake.delete(index);
      this.#changed.sinks.add(index);
      this.#changed.server = true;
      this.#inputsChangeOf(index);
    }
  }

  /** Takes a whole list for the truth, but for the records in `past`, which were removed after it was made. */
  replaceSinks(list: readonly SinkInfo[], past: ReadonlySet<number>): void {
    const live = list.filter((info) => !past.has(info.index));
    this.#removeOthers('sink', this.#sinkMap, live);
    for (const info of live) this.putSink(info);
  }

  /** As `replaceSinks`. In the order of the ids, so that of two streams of one name the older one has it to itself. */
  replaceInputs(list: readonly SinkInputInfo[], past: ReadonlySet<number>): void {
    const live = list.filter((info) => !past.has(info.index)).sort((a, b) => a.index - b.index);
    this.#removeOthers('input', this.#inputMap, live);
    // All at once: a name that nobody holds by the end of this list is free for whoever comes first in it.
    for (const { index, name, props } of live) this.#names.vacate(index, wantedName(name, props));
    for (const info of live) this.putInput(info);
  }

  /** The default sink, if there is one that exists: servers name ghosts (`@DEFAULT_SINK@`, `@NONE@`) while there is none. */
  defaultSink(): HeldRecord<SinkInfo> | undefined {
    return this.#sinkNamed(this.#serverInfo?.defaultSink);
  }

  nameOfInput(index: number): string | undefined {
    return this.#names.nameOf(index);
  }

  /** By id, else by exact name: a name that consists of digits is reachable unless it is also somebody's id. */
  findSink(ref: string): HeldRecord<SinkInfo> | undefined {
    const id = asId(ref);
    return (id === undefined ? undefined : this.#sinkMap.get(id)) ?? this.#sinkNamed(ref);
  }

  /** By id, else by the unique name. */
  findInput(ref: string): HeldRecord<SinkInputInfo> | undefined {
    const id = asId(ref);
    const byId = id === undefined ? undefined : this.#inputMap.get(id);
    if (byId !== undefined) return byId;
    const named = this.#names.idOf(ref);
    return named === undefined ? undefined : this.#inputMap.get(named);
  }

  /** Whether no reading in this life of the server has shown the sink awake, and nobody has tried to wake it in vain. */
  mayWake(index: number): boolean {
    return this.#sinkMap.has(index) && !this.#awake.has(index);
  }

  /** The sink could not be woken: each further attempt would take as long. */
  letSleep(index: number): void {
    if (this.#sinkMap.has(index)) this.#awake.add(index);
  }

  /** What changed since the last call. */
  takeChanged(): Changed {
    const taken = this.#changed;
    this.#changed = { server: false, sinks: new Set(), inputs: new Set() };
    return taken;
  }

  #sinkNamed(name: string | undefined): HeldRecord<SinkInfo> | undefined {
    if (name === undefined) return undefined;
    for (const sink of this.#sinkMap.values()) if (sink.info.name === name) return sink;
    return undefined;
  }

  #inputsChangeOf(sink: number): void {
    for (const { info } of this.#inputMap.values())
      if (info.sink === sink) this.#changed.inputs.add(info.index);
  }

  #removeOthers(
    of: RecordKind,
    known: ReadonlyMap<number, unknown>,
    live: readonly { readonly index: number }[],
  ): void {
    const indices = new Set(live.map((info) => info.index));
    for (const index of [...known.keys()]) if (!indices.has(index)) this.remove(of, index);
  }
}
