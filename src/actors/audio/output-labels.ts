// The labels of the outputs: the name for people that each record carries (docs/http-api.md, "Output").
// Pure.

/** An output's name, and its label as long as no other output has the same one. */
interface OwnLabel {
  readonly name: string;
  readonly label: string;
}

export class OutputLabels {
  readonly #byId = new Map<number, OwnLabel>();
  /** How many outputs have a label for their own; labels that no output has are left out. */
  readonly #counts = new Map<string, number>();

  /**
   * Remembers the label of an output; undefined means that the output is gone. True if the labels of others
   * may have changed with it.
   */
  set(id: number, own: OwnLabel | undefined): boolean {
    const before = this.#byId.get(id);
    if (before?.label === own?.label && before?.name === own?.name) return false;
    if (before !== undefined) this.#count(before.label, -1);
    if (own !== undefined) this.#count(own.label, 1);
    if (own === undefined) this.#byId.delete(id);
    else this.#byId.set(id, own);
    return true;
  }

  /** Empty for an output that is not known. */
  of(id: number): string {
    const { label = '', name } = this.#byId.get(id) ?? {};
    return (this.#counts.get(label) ?? 0) > 1 ? `${label} (${name})` : label;
  }

  clear(): void {
    this.#byId.clear();
    this.#counts.clear();
  }

  #count(label: string, by: number): void {
    const count = (this.#counts.get(label) ?? 0) + by;
    if (count > 0) this.#counts.set(label, count);
    else this.#counts.delete(label);
  }
}
