// Gives things such as streams and outputs unique names, even if several have the same desired name
// (docs/http-api.md, "Names of clients"). Pure.

/**
 * A thing gets its desired name. If that name is in use already, the thing is called `NAME #ID` instead. It
 * keeps this numbered name until `release`, even if its desired name changes.
 */
export class UniqueNames {
  readonly #nameById = new Map<number, { readonly name: string; readonly isNumbered: boolean }>();
  readonly #idByName = new Map<string, number>();

  /** Returns the name of the thing `id`. To be called again when the desired name changes. */
  assign(id: number, desired: string): string {
    const current = this.#nameById.get(id);
    const canKeepName = current?.isNumbered === true || current?.name === desired;
    if (current !== undefined && canKeepName) return current.name;
    this.release(id);
    const isNumbered = this.#idByName.has(desired);
    let name = isNumbered ? `${desired} #${id}` : desired;
    // The numbered name may be in use, too, if it is the desired name of another thing. The loop ends,
    // because each round makes a longer name.
    while (this.#idByName.has(name)) name = `${name} #${id}`;
    this.#nameById.set(id, { name, isNumbered });
    this.#idByName.set(name, id);
    return name;
  }

  /**
   * Frees the name of a thing whose desired name has changed to `desired`. A numbered name is not freed. To
   * be called for all things before `assign`, so that two things, for example, can swap their names.
   */
  vacate(id: number, desired: string): void {
    const current = this.#nameById.get(id);
    if (current?.isNumbered === false && current.name !== desired) this.release(id);
  }

  /** Frees the name of a thing that is gone. */
  release(id: number): void {
    const current = this.#nameById.get(id);
    if (current === undefined) return;
    this.#nameById.delete(id);
    this.#idByName.delete(current.name);
  }

  /** The id of the thing that has this name now; undefined if the name is free. */
  idOf(name: string): number | undefined {
    return this.#idByName.get(name);
  }
}
