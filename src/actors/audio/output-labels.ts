// Keeps the labels of the outputs: the names for people in their records (docs/http-api.md, "Output"). If
// several outputs have the same label, the name of the output stands behind it in each record. Pure.

interface LabelledOutput {
  readonly name: string;
  readonly label: string;
}

export class OutputLabels {
  readonly #byId = new Map<number, LabelledOutput>();
  /** How many outputs have each label. A label that no output has any more is deleted. */
  readonly #counts = new Map<string, number>();

  /**
   * Remembers the label of an output; undefined means that the output is gone. True if something has changed:
   * then the labels of other outputs may have changed, too.
   */
  set(id: number, output: LabelledOutput | undefined): boolean {
    const before = this.#byId.get(id);
    if (before?.label === output?.label && before?.name === output?.name) return false;
    if (before !== undefined) this.#count(before.label, -1);
    if (output !== undefined) this.#count(output.label, 1);
    if (output === undefined) this.#byId.delete(id);
    else this.#byId.set(id, output);
    return true;
  }

  /**
   * The label, with the output's name behind it if another output has the same label. Empty for an unknown
   * output.
   */
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
