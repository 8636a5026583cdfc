// What is told of the units, and when: records that differ from what was told last, gathered for a while; and whether the
// backend is up, which it is when every scope is whole.

import type { UnitScope } from '../../protocol/actor/commands.js';
import type { Clock } from '../clock.js';
import type { Publisher } from '../runtime.js';
import { EventPace } from './event-pace.js';
import type { Watched } from './whitelist.js';

const COLLECTION = 'systemd.services';

/** A scope's manager. Nothing is said of the ordinary: whole with signals, or away because not yet tried. */
type ScopeState =
  | { readonly kind: 'whole'; readonly detail: string | undefined }
  | { readonly kind: 'away'; readonly detail: string | undefined };

export interface RecordSource {
  /** The record's text as it is now; undefined for one that is not known, or not to be known. */
  textOf(unit: Watched): string | undefined;
  /** Whether that is not to be trusted now: a flush will follow. */
  held(unit: Watched): boolean;
}

export class Bulletin {
  readonly #publish: Pick<Publisher, 'put' | 'drop' | 'status'>;
  readonly #clock: Clock;
  readonly #watched: readonly Watched[];
  readonly #source: RecordSource;
  readonly #scopes = new Map<UnitScope, ScopeState>();
  readonly #told = new Map<string, string>();
  readonly #pace = new EventPace();
  readonly #gathering = new Map<string, () => void>();
  #up = false;
  #saidDetail: string | undefined;

  constructor(
    publish: Pick<Publisher, 'put' | 'drop' | 'status'>,
    clock: Clock,
    watched: readonly Watched[],
    source: RecordSource,
  ) {
    this.#publish = publish;
    this.#clock = clock;
    this.#watched = watched;
    this.#source = source;
  }

  /** `scopes`: those that have units. */
  begin(scopes: readonly UnitScope[]): void {
    for (const scope of scopes) this.#scopes.set(scope, { kind: 'away', detail: undefined });
    if (scopes.length === 0) this.#goUp(undefined);
  }

  scopeIs(scope: UnitScope, state: ScopeState): void {
    this.#scopes.set(scope, state);
    const states = [...this.#scopes];
    const told = states.filter(([, { detail }]) => detail !== undefined);
    const detail = told.map(([name, { detail: what }]) => `${name} scope: ${what}`).join('; ') || undefined;
    if (states.every(([, { kind }]) => kind === 'whole')) this.#goUp(detail);
    else this.#goDown(detail);
  }

  /** The unit may have changed. */
  touched(unit: Watched): void {
    const { key } = unit;
    if (this.#gathering.has(key) || !this.#differs(unit)) return;
    const windowMs = this.#pace.windowMs(key, this.#clock.monotonic());
    const cancel = this.#clock.after(windowMs, () => {
      this.#gathering.delete(key);
      if (!this.#source.held(unit) && this.#tell(unit))
        this.#pace.told(key, windowMs, this.#clock.monotonic());
    });
    this.#gathering.set(key, cancel);
  }

  /** Tells at once what has changed, so that it is known before an answer that follows. */
  flush(unit: Watched): void {
    this.#gathering.get(unit.key)?.();
    this.#gathering.delete(unit.key);
    this.#tell(unit);
  }

  stop(): void {
    for (const cancel of this.#gathering.values()) cancel();
    this.#gathering.clear();
  }

  #differs(unit: Watched): boolean {
    return this.#source.textOf(unit) !== this.#told.get(unit.key);
  }

  #tell(unit: Watched): boolean {
    if (!this.#differs(unit)) return false;
    this.#put(unit);
    return true;
  }

  #goUp(detail: string | undefined): void {
    if (!this.#up) {
      for (const unit of this.#watched) this.#putWhole(unit);
    } else if (detail === this.#saidDetail) return;
    this.#up = true;
    this.#saidDetail = detail;
    this.#publish.status('up', detail);
  }

  #putWhole(unit: Watched): void {
    this.#gathering.get(unit.key)?.();
    this.#gathering.delete(unit.key);
    this.#put(unit);
  }

  #put(unit: Watched): void {
    const text = this.#source.textOf(unit);
    if (text !== undefined) {
      this.#told.set(unit.key, text);
      this.#publish.put(COLLECTION, unit.key, text, this.#watched.indexOf(unit));
    } else if (this.#told.delete(unit.key)) this.#publish.drop(COLLECTION, unit.key);
  }

  #goDown(detail: string | undefined): void {
    if (!this.#up && detail === this.#saidDetail) return;
    this.#up = false;
    this.#saidDetail = detail;
    this.#publish.status('connecting', detail);
  }
}
