// Decides what to read after the server's events. Pure: it tracks dirty and running reads and returns the next ones; others send the
// requests. Events are only hints (PipeWire drops and merges them), never data.

/** Per kind: above this number of dirty or running records the whole list is read instead, which costs about as much. */
export const BURST_MAX_RECORDS = 16;

/** Removals remembered while a list is being read; beyond this the list is read again instead. */
export const REMOVALS_MAX_RECORDS = 4096;

export type RecordKind = 'sink' | 'input' | 'card';

/** Kinds that can be read: records, or the server's info, which is single and has no list. */
export type ReadKind = RecordKind | 'server';

/** One read request; without an index it reads the whole list. */
export interface ReadRequest {
  readonly of: ReadKind;
  readonly index?: number;
}

/**
 * The reads of one kind. A list and single reads never overlap: replies may come out of order (PipeWire), and an old single one after a
 * new list would undo it. An event that comes while its record is being read needs no further read: both servers send events and
 * replies about a record in order, so the reply is newer.
 */
export class Refetch {
  readonly #of: ReadKind;
  readonly #dirty = new Set<number>();
  readonly #underWay = new Set<number>();
  /** Removed since the running reads began; their replies about these records are outdated. */
  readonly #removed = new Set<number>();
  #list: 'unwanted' | 'wanted' | 'under way' = 'unwanted';
  #listAgain = false;
  #held: number | undefined;

  constructor(of: ReadKind) {
    this.#of = of;
  }

  /** Marks everything: at connect, once a minute, and after anything odd. */
  markAll(): void {
    if (this.#list === 'under way') this.#listAgain = true;
    else this.#list = 'wanted';
    this.#dirty.clear();
  }

  changed(index: number): void {
    const isBeingRead = this.#underWay.has(index) && !this.#removed.has(index);
    if (!isBeingRead) this.mark(index);
  }

  /** Keeps this record from being read for now: a command changes it and reads it when done. */
  hold(index: number | undefined): void {
    this.#held = index;
  }

  /** Has the record read by a request that begins after this call. */
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

  /** Returns the reads to request now. Each of them must be settled, however it ends. */
  take(): readonly ReadRequest[] {
    if (this.#list === 'under way') return [];
    if (this.#list === 'wanted') {
      if (this.#underWay.size > 0) return [];
      this.#list = 'under way';
      return [{ of: this.#of }];
    }
    const reads: ReadRequest[] = [];
    for (const index of this.#dirty) {
      if (this.#underWay.has(index) || index === this.#held) continue;
      this.#dirty.delete(index);
      this.#underWay.add(index);
      reads.push({ of: this.#of, index });
    }
    return reads;
  }

  /** True when the reply is valid; false when the record was removed meanwhile. */
  settleOne(index: number): boolean {
    this.#underWay.delete(index);
    return !this.#removed.delete(index);
  }

  /** Returns the records removed meanwhile, which the list must not bring back. */
  settleList(): ReadonlySet<number> {
    const past = new Set(this.#removed);
    this.#removed.clear();
    this.#list = this.#listAgain ? 'wanted' : 'unwanted';
    this.#listAgain = false;
    return past;
  }
}
