// Reads the sound server's records over one connection, and decides when they may be published. refetch.ts
// decides what is to be read after an event.

import { type Clock, Timers } from '../../host/clock.js';
import type { RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError } from '../../protocol/pulse/outcome.js';
import type { SubscriptionEvent } from '../../protocol/pulse/subscription.js';
import type { Link } from '../dial.js';
import {
  LIST_READS,
  type ListRead,
  READ_KINDS,
  RECORD_READS,
  type ReadKind,
  type ReadRequest,
  type ReadWaiter,
  ReadWaiters,
  type RecordRead,
  Refetch,
} from './refetch.js';
import type { RecordKind, SoundState } from './state.js';

/**
 * When the default output has changed, or a sink has come or gone, PipeWire links streams of sound to other
 * sinks within this time. Afterwards the list of these streams is read once more, because PipeWire sends no
 * event of a stream that does not run while it is linked (docs/development/what-we-learnt.md, "PulseAudio and
 * PipeWire").
 */
const RELINK_MS = 500;

interface ReadingEvents {
  /** Called after each reply and each removal. `isConsistent` is true if the state may be published. */
  onReply(isConsistent: boolean): void;
  /** Called for each failed read, except when the server refuses a read of a single record. */
  onFailed(command: RequestName, error: RequestError): void;
}

export class Reading {
  readonly #state: SoundState;
  readonly #events: ReadingEvents;
  readonly #refetchByKind: { readonly [K in ReadKind]: Refetch } = {
    server: new Refetch('server'),
    sink: new Refetch('sink'),
    'sink-input': new Refetch('sink-input'),
    card: new Refetch('card'),
    source: new Refetch('source'),
  };
  readonly #refetches = Object.values(this.#refetchByKind);
  /** The kinds whose whole list must still be read before anything is published. */
  readonly #unreadKinds = new Set(READ_KINDS);
  /**
   * A joint read reads everything before the next publication, because streams, the default output and cards
   * are published together with the sinks. A joint read is due when sinks have come or gone, or when a card
   * switches its profile. It begins when the first reading and any earlier joint read have ended.
   */
  #isJointReadDue = false;
  readonly #waiters = new ReadWaiters();
  /**
   * Waiters whose read has ended, or whose record is gone. They are resolved when the records are published.
   */
  readonly #unpublishedWaiters: ReadWaiter[] = [];
  /** True while a card switches its profile. An event of a card then means that sinks come or go. */
  isSwitching = false;
  readonly #timers: Timers<'relink'>;
  /** Undefined before the subscription is confirmed, and after the end. */
  #link: Link | undefined;
  #hasEnded = false;

  constructor(state: SoundState, clock: Clock, events: ReadingEvents) {
    this.#state = state;
    this.#timers = new Timers(clock);
    this.#events = events;
  }

  /** To be called when the subscription is confirmed. Reads everything. */
  begin(link: Link): void {
    this.#link = link;
    this.readAll();
  }

  /** To be called when the connection has ended. Resolves all calls of `readAgain`. */
  end(): void {
    this.#hasEnded = true;
    this.#timers.cancelAll();
    this.#link = undefined;
    this.#waiters.end();
    this.#resolveUnpublished();
  }

  /** Reads everything. This also shows whether the server still answers. */
  readAll(): void {
    for (const refetch of this.#refetches) refetch.markList();
    this.requestDue();
  }

  /**
   * Reads everything in a joint read, during which nothing is published. If the first reading or an earlier
   * joint read is under way, that reading ends first, and its records may be published.
   */
  readAllTogether(): void {
    this.#isJointReadDue = true;
    this.requestDue();
  }

  /** To be followed by `requestDue` after the last event of a burst. */
  readonly onEvent = ({ facility, type, index }: SubscriptionEvent): void => {
    const hasSinkComeOrGone = facility === 'sink' && type !== 'change';
    if (facility === 'server' || hasSinkComeOrGone) this.#readStreamsAfterRelink();
    if (facility === 'server') this.#refetchByKind.server.markList();
    if (!isRecordKind(facility)) return;
    // A monitor changes whenever its sink does. It is never in the state, so it is not read. Any other source
    // is read even if the state lacks it, because its first reading may have failed: PipeWire may announce a
    // source that cannot be read yet.
    if (facility === 'source' && type === 'change' && this.#isMonitor(index)) return;
    const isPartOfSwitch = facility === 'card' && this.isSwitching;
    if (isPartOfSwitch || hasSinkComeOrGone) this.#isJointReadDue = true;
    // Without an index, the event does not say which record has changed.
    if (index === undefined) this.#refetchByKind[facility].markList();
    else if (type === 'remove') this.#onRemoved(facility, index);
    else this.#refetchByKind[facility].onChanged(index);
  };

  #readStreamsAfterRelink(): void {
    if (this.#state.kind !== 'pipewire') return;
    this.#timers.set('relink', RELINK_MS, () => {
      this.#refetchByKind['sink-input'].markList();
      this.requestDue();
    });
  }

  /**
   * Delays single reads of the record until `readAgain` or `release`, because a command changes the record.
   */
  hold({ kind, index }: ReadRequest): void {
    this.#refetchByKind[kind].hold(index);
  }

  /**
   * Ends the delay by `hold`. No index is needed, because `hold` delays the reads of at most one record of
   * each kind. To be followed by `requestDue`.
   */
  release({ kind }: ReadRequest): void {
    this.#refetchByKind[kind].release();
  }

  /**
   * Reads the record again, or the whole list if there is no index. Resolves when this read has ended and its
   * result is published, when the removal of the record is published, or when the connection has ended.
   */
  readonly readAgain = (read: ReadRequest): Promise<void> => {
    if (this.#hasEnded) return Promise.resolve();
    const endOfRead = this.#waiters.add(read);
    const refetch = this.#refetchByKind[read.kind];
    refetch.release();
    if (read.index === undefined) refetch.markList();
    else refetch.markRecord(read.index);
    this.requestDue();
    return endOfRead;
  };

  readonly requestDue = (): void => {
    // Events may come before the subscription is confirmed. Then nothing is requested, because everything is
    // read after the confirmation.
    const link = this.#link;
    if (link === undefined) return;
    if (this.#isJointReadDue && this.#unreadKinds.size === 0) {
      this.#isJointReadDue = false;
      for (const kind of READ_KINDS) this.#unreadKinds.add(kind);
      for (const refetch of this.#refetches) refetch.markList();
    }
    for (const refetch of this.#refetches) {
      for (const { kind, index } of refetch.takeDue()) {
        // The server's info never has an index. The check of `kind` is for the compiler.
        if (kind === 'server' || index === undefined) this.#readList(link, kind);
        else this.#readRecord(link, kind, index);
      }
    }
  };

  #readList<K extends ReadKind>(link: Link, kind: K): void {
    const { command, put }: ListRead<K> = LIST_READS[kind];
    const waiters = this.#waiters.take({ kind });
    link.request(command, {}, (result) => {
      const removed = this.#refetchByKind[kind].settleList();
      if (result.ok) put(this.#state, result.value, removed);
      else this.#events.onFailed(command, result.error);
      this.#afterReply(waiters, result.ok ? kind : undefined);
    });
  }

  #readRecord<K extends RecordKind>(link: Link, kind: K, index: number): void {
    const { command, put }: RecordRead<K> = RECORD_READS[kind];
    const waiters = this.#waiters.take({ kind, index });
    link.request(command, { index }, (result) => {
      const isReplyValid = this.#refetchByKind[kind].settleRecord(index);
      if (!result.ok) this.#onRecordFailed(command, kind, index, result.error);
      else if (isReplyValid) put(this.#state, result.value);
      this.#afterReply(waiters);
    });
  }

  #onRecordFailed(command: RequestName, kind: RecordKind, index: number, error: RequestError): void {
    // NOENTITY means that the record is gone. PipeWire also sends it for a record that is not ready yet
    // (docs/development/what-we-learnt.md, "PulseAudio and PipeWire"). After any other refusal, the whole
    // list is read instead of the record.
    if (error.kind === 'server' && error.name === 'NOENTITY') this.#state.remove(kind, index);
    else if (error.kind === 'server') this.#refetchByKind[kind].markList();
    else this.#events.onFailed(command, error);
  }

  #onRemoved(kind: RecordKind, index: number): void {
    this.#refetchByKind[kind].onRemoved(index);
    this.#state.remove(kind, index);
    // This call drops the property lists of the record from the link's cache. The cache may also lose the
    // lists of a record of another kind with this index. The next reading of that record takes longer then,
    // but has the same result.
    this.#link?.forget(index);
    this.#afterReply(this.#waiters.take({ kind, index }));
  }

  /**
   * `listKind` is the kind whose whole list has been read; undefined after any other reply, and after a
   * removal.
   */
  #afterReply(waiters: readonly ReadWaiter[], listKind?: ReadKind): void {
    this.#unpublishedWaiters.push(...waiters);
    if (this.#hasEnded) {
      this.#resolveUnpublished();
      return;
    }
    // The state may be published in two cases: if this reply completes the lists, or if they were complete
    // before and no joint read is due. The first case does not wait for a joint read that is due. Otherwise
    // nothing would be published while sinks come and go without end.
    const wereListsComplete = this.#unreadKinds.size === 0;
    if (listKind !== undefined) this.#unreadKinds.delete(listKind);
    const areListsComplete = this.#unreadKinds.size === 0;
    const completesLists = areListsComplete && !wereListsComplete;
    const mayPublish = completesLists || !this.#isJointReadDue;
    const isConsistent = areListsComplete && mayPublish;
    this.#events.onReply(isConsistent);
    if (isConsistent && this.#unpublishedWaiters.length > 0) this.#resolveUnpublished();
  }

  #resolveUnpublished(): void {
    for (const { resolve } of this.#unpublishedWaiters.splice(0)) resolve();
  }

  #isMonitor(source: number | undefined): boolean {
    if (source === undefined) return false;
    // A source in the state is no monitor, even if a sink names it as its monitor. PipeWire has such a sink
    // for a device of the class Audio/Duplex, which is a sink and a source with the same index.
    if (this.#state.sources.get(source) !== undefined) return false;
    for (const { info } of this.#state.sinks.values()) if (info.monitorSource === source) return true;
    return false;
  }
}

function isRecordKind(facility: SubscriptionEvent['facility']): facility is RecordKind {
  return Object.hasOwn(RECORD_READS, facility);
}
