// A value that a file gives: plain, and with the place and the key that it has there. Pure.

import { keyPath, type Location } from './findings.js';

/** The names and numbers that lead to a value from the top of its file. */
export type Path = readonly (string | number)[];

/** The file that values come from. */
interface Source {
  /** Where the value at `path` stands, or its key. */
  place(path: Path, part: 'key' | 'value'): Location;
}

export function isPlainMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export class Given {
  readonly value: unknown;
  readonly #source: Source;
  readonly #path: Path;
  /** The map of a lower file that this one is laid over. */
  readonly #below: Given | undefined;

  constructor(value: unknown, source: Source, path: Path = [], below?: Given) {
    this.value = value;
    this.#source = source;
    this.#path = path;
    this.#below = below;
  }

  /** Maps merge, name by name; anything else replaces what is below. */
  over(below: Given | undefined): Given {
    if (!isPlainMap(this.value) || below === undefined || !isPlainMap(below.value)) return this;
    return new Given(this.value, this.#source, this.#path, below);
  }

  get at(): Location {
    return this.#source.place(this.#path, 'value');
  }

  /** Where its key stands. */
  get keyAt(): Location {
    return this.#source.place(this.#path, 'key');
  }

  /** Its dotted path, as the administrator spelled it; '' at the top. */
  get key(): string {
    return this.#path.reduce<string>(
      (parent, step) => (typeof step === 'number' ? `${parent}[${step}]` : keyPath(parent, step)),
      '',
    );
  }

  /** What it holds by names; nothing if it is no map. */
  get entries(): readonly (readonly [string, Given])[] {
    if (!isPlainMap(this.value)) return [];
    const entries = new Map(this.#below?.entries);
    for (const [name, value] of Object.entries(this.value))
      entries.set(name, this.#inner(name, value).over(entries.get(name)));
    return [...entries];
  }

  /** What it lists; undefined if it is no list. */
  get items(): readonly Given[] | undefined {
    if (!Array.isArray(this.value)) return undefined;
    return this.value.map((value: unknown, index) => this.#inner(index, value));
  }

  #inner(step: string | number, value: unknown): Given {
    return new Given(value, this.#source, [...this.#path, step]);
  }
}
