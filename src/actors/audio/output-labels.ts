// Decides which label each output has for people (docs/http-api.md, "Output"). If outputs share a label,
// each of them gets its name behind the label. The result is the output's unique label. Pure.

interface LabelledOutput {
  readonly name: string;
  readonly label: string;
}

export class OutputLabels {
  readonly #byId = new Map<number, LabelledOutput>();
  /** The number of outputs with each label; never 0. */
  readonly #counts = new Map<string, number>();

  /**
   * `output` is undefined for an output that is gone. Returns true if this call has changed anything. Then
   * the unique labels of other outputs may have changed, too.
   */
  set(id: number, output: LabelledOutput | undefined): boolean {
    const before = this.#byId.get(id);
    const isSame = before?.label === output?.label && before?.name === output?.name;
    if (isSame) return false;
    if (before !== undefined) this.#addToCount(before.label, -1);
    if (output !== undefined) this.#addToCount(output.label, 1);
    if (output === undefined) this.#byId.delete(id);
    else this.#byId.set(id, output);
    return true;
  }

  /** Empty for an unknown output. */
  uniqueLabel(id: number): string {
    const output = this.#byId.get(id);
    if (output === undefined) return '';
    const isShared = this.#countOf(output.label) > 1;
    return isShared ? `${output.label} (${output.name})` : output.label;
  }

  clear(): void {
    this.#byId.clear();
    this.#counts.clear();
  }

  #countOf(label: string): number {
    return this.#counts.get(label) ?? 0;
  }

  #addToCount(label: string, difference: number): void {
    const count = this.#countOf(label) + difference;
    if (count > 0) this.#counts.set(label, count);
    else this.#counts.delete(label);
  }
}
