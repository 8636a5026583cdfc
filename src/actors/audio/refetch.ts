// Decides what to read after the server's events. Pure: it holds what is dirty and what is under way, and says what
// to ask next; the asking is done elsewhere. Events are hints only (PipeWire drops and merges them), never data.

/** More records than this, dirty or being read, are read as one list, which costs about as much. Per kind. */
export const BURST_MAX_RECORDS = 16;

/** Removals remembered while a list is under way; beyond it the list is read again instead. */
export const REMOVALS_MAX_RECORDS = 4096;

export type RecordKind = 'sink' | 'input';

/** What is read: records, or the server's info, of which there is one and no list. */
export type ReadKind = RecordKind | 'server';

/** One request for reading; without an index, of all there is of the kind. */
export interface Read {
  readonly of: ReadKind;
  readonly index?: number;
}

/**
 * The reads of one kind. A list and single reads never overlap: replies may come out of order (PipeWire), and an
 * old single one behind a new list would undo it. An event that comes while its record is being read asks for no more: both servers
 * write what they say of it in the order in which they know it, so that the reply is newer.
 */
export class Refetch {
  readonly #of: ReadKind;
  readonly #dirty = new Set<number>();
  readonly #underWay = new Set<number>();
  /** Removed since the reads under way began: what those answer about them is the past. */
  readonly #removed = new Set<number>();
  #list: 'unwanted' | 'wanted' | 'under way' = 'unwanted';
  #listAgain = false;
  #held: number | undefined;

  constructor(of: ReadKind) {
    this.#of = of;
  }

  /** Everything: at connect, once a minute, and after anything odd. */
  markAll(): void {
    if (this.#list === 'under way') this.#listAgain = true;
    else this.#list = 'wanted';
    this.#dirty.clear();
  }

  /** An event says that the record has changed. */
  changed(index: number): void {
    const isBeingRead = this.#underWay.has(index) && !this.#removed.has(index);
    if (!isBeingRead) this.mark(index);
  }

  /** This record is not read by itself for now: a command changes it, and has it read when it is done. */
  hold(index: number | undefined): void {
    this.#held = index;
  }

  /** To be read, by a request that begins after this call. */
  mark(index: number): void {
    if (this.#list === 'wanted' || this.#listAgain) return;
    this.#dirty.add(index);
    if (this.#dirty.size + this.#underWay.size > BURST_MAX_RECORDS) this.markAll();
  }

  markRemoved(index: number): void {
    this.#dirty.delete(index);
    if (this.#list !== 'under way' && !this.#underWay.has(index)) return;
    if (this.#removed.size < REMOVALS_MAX_RECORDS) this.#removed.add(index);
    else this.markAll();
  }

  /** What to ask now. Each read that is handed out must be settled, however it ends. */
  take(): readonly Read[] {
    if (this.#list === 'under way') return [];
    if (this.#list === 'wanted') {
      if (this.#underWay.size > 0) return [];
      this.#list = 'under way';
      return [{ of: this.#of }];
    }
    const reads: Read[] = [];
    for (const index of this.#dirty) {
      if (this.#underWay.has(index) || index === this.#held) continue;
      this.#dirty.delete(index);
      this.#underWay.add(index);
      reads.push({ of: this.#of, index });
    }
    return reads;
  }

  /** True when the reply may be believed; false when the record was removed meanwhile. */
  settleOne(index: number): boolean {
    this.#underWay.delete(index);
    return !this.#removed.delete(index);
  }

  /** Answers with the records that were removed meanwhile, which the list must not bring back. */
  settleList(): ReadonlySet<number> {
    const past = new Set(this.#removed);
    this.#removed.clear();
    this.#list = this.#listAgain ? 'wanted' : 'unwanted';
    this.#listAgain = false;
    return past;
  }
}
