// Decides what to read after the server's events. Pure: it holds what is dirty and what is under way, and says what
// to ask next; the asking is done elsewhere. Events are hints only (PipeWire drops and merges them), never data.

/** More records than this, dirty or being read, are read as one list, which costs about as much. Per kind. */
export const BURST_MAX_RECORDS = 16;

/** Removals remembered while a list is under way; beyond it the list is read again instead. */
export const REMOVALS_MAX_RECORDS = 4096;

export type RecordKind = 'sink' | 'input';

/** One request for reading; `list` reads every record of its kind. */
export type Read =
  | { readonly what: 'server' }
  | { readonly what: 'list'; readonly of: RecordKind }
  | { readonly what: 'one'; readonly of: RecordKind; readonly index: number };

/** A read that follows a command: of what it changed, and that is never a list. */
export type AfterRead = Exclude<Read, { readonly what: 'list' }>;

/**
 * The records of one kind. A list and single reads never overlap: replies may come out of order (PipeWire), and an
 * old single one behind a new list would undo it. An event that comes while a record is being read marks it again,
 * because the reply may have been made before the change.
 */
class RecordReads {
  readonly #of: RecordKind;
  readonly #dirty = new Set<number>();
  readonly #underWay = new Set<number>();
  /** Removed since the reads under way began: what those answer about them is the past. */
  readonly #removed = new Set<number>();
  #list: 'unwanted' | 'wanted' | 'under way' = 'unwanted';
  #listAgain = false;

  constructor(of: RecordKind) {
    this.#of = of;
  }

  wantList(): void {
    if (this.#list === 'under way') this.#listAgain = true;
    else this.#list = 'wanted';
    this.#dirty.clear();
  }

  markChanged(index: number): void {
    if (this.#list === 'wanted' || this.#listAgain) return;
    this.#dirty.add(index);
    if (this.#dirty.size + this.#underWay.size > BURST_MAX_RECORDS) this.wantList();
  }

  markRemoved(index: number): void {
    this.#dirty.delete(index);
    if (this.#list !== 'under way' && !this.#underWay.has(index)) return;
    if (this.#removed.size < REMOVALS_MAX_RECORDS) this.#removed.add(index);
    else this.wantList();
  }

  take(): Read[] {
    if (this.#list === 'under way') return [];
    if (this.#list === 'wanted') {
      if (this.#underWay.size > 0) return [];
      this.#list = 'under way';
      return [{ what: 'list', of: this.#of }];
    }
    const ready = [...this.#dirty].filter((index) => !this.#underWay.has(index));
    for (const index of ready) {
      this.#dirty.delete(index);
      this.#underWay.add(index);
    }
    return ready.map((index) => ({ what: 'one', of: this.#of, index }));
  }

  /** True when the reply may be believed. */
  settleOne(index: number): boolean {
    this.#underWay.delete(index);
    return !this.#removed.delete(index);
  }

  /** The records that a list must not bring back. */
  settleList(): ReadonlySet<number> {
    const past = new Set(this.#removed);
    this.#removed.clear();
    this.#list = this.#listAgain ? 'wanted' : 'unwanted';
    this.#listAgain = false;
    return past;
  }
}

export class Refetch {
  readonly #records = { sink: new RecordReads('sink'), input: new RecordReads('input') };
  #serverDirty = false;
  #serverUnderWay = false;

  /** Everything: at connect, once a minute, and after anything odd. */
  markAll(): void {
    this.#serverDirty = true;
    this.#records.sink.wantList();
    this.#records.input.wantList();
  }

  markServer(): void {
    this.#serverDirty = true;
  }

  markChanged(of: RecordKind, index: number): void {
    this.#records[of].markChanged(index);
  }

  markRemoved(of: RecordKind, index: number): void {
    this.#records[of].markRemoved(index);
  }

  markList(of: RecordKind): void {
    this.#records[of].wantList();
  }

  /** What to ask now. Each read that is handed out must be settled, however it ends. */
  take(): readonly Read[] {
    const reads: Read[] = [];
    if (this.#serverDirty && !this.#serverUnderWay) {
      this.#serverDirty = false;
      this.#serverUnderWay = true;
      reads.push({ what: 'server' });
    }
    return [...reads, ...this.#records.sink.take(), ...this.#records.input.take()];
  }

  settleServer(): void {
    this.#serverUnderWay = false;
  }

  /** True when the reply may be believed; false when the record was removed meanwhile. */
  settleOne(of: RecordKind, index: number): boolean {
    return this.#records[of].settleOne(index);
  }

  /** Answers with the records that were removed meanwhile, which the list must not bring back. */
  settleList(of: RecordKind): ReadonlySet<number> {
    return this.#records[of].settleList();
  }
}
