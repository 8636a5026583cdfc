// A value from a file, with its place and its key there. Pure.

import { keyPath, type Location } from './findings.js';

/** The keys and indexes from the top of the file to a value. */
export type Path = readonly (string | number)[];

interface Source {
  /** The place of the value at `path`, or of its key. */
  place(path: Path, part: 'key' | 'value'): Location;
}

export function isPlainMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export class ConfigValue {
  readonly value: unknown;
  readonly #source: Source;
  readonly #path: Path;
  /** The map of a lower file that this one overrides. */
  readonly #below: ConfigValue | undefined;

  constructor(value: unknown, source: Source, path: Path = [], below?: ConfigValue) {
    this.value = value;
    this.#source = source;
    this.#path = path;
    this.#below = below;
  }

  /**
   * This value laid over a lower file's (docs/configuration.md, "Where files are looked for"): maps are merged by name, any other value
   * replaces the lower one, but an empty value removes nothing from a map or a list.
   */
  over(below: ConfigValue | undefined): ConfigValue {
    if (below === undefined || typeof below.value !== 'object' || below.value === null) return this;
    if (this.value === null) return below;
    if (!isPlainMap(this.value) || !isPlainMap(below.value)) return this;
    return new ConfigValue(this.value, this.#source, this.#path, below);
  }

  get at(): Location {
    return this.#source.place(this.#path, 'value');
  }

  /** The place of its key. */
  get keyAt(): Location {
    return this.#source.place(this.#path, 'key');
  }

  /** Its dotted path as it is written in the file; '' at the top. */
  get key(): string {
    return this.#path.reduce<string>(
      (parent, step) => (typeof step === 'number' ? `${parent}[${step}]` : keyPath(parent, step)),
      '',
    );
  }

  /** Its entries; none if it is not a map. */
  get entries(): readonly (readonly [string, ConfigValue])[] {
    if (!isPlainMap(this.value)) return [];
    const entries = new Map(this.#below?.entries);
    for (const [name, value] of Object.entries(this.value))
      entries.set(name, this.#inner(name, value).over(entries.get(name)));
    return [...entries];
  }

  /** Its items; undefined if it is not a list. */
  get items(): readonly ConfigValue[] | undefined {
    if (!Array.isArray(this.value)) return undefined;
    return this.value.map((value: unknown, index) => this.#inner(index, value));
  }

  #inner(step: string | number, value: unknown): ConfigValue {
    return new ConfigValue(value, this.#source, [...this.#path, step]);
  }
}
