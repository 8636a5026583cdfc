// Decides the name of each thing where several may want the same one, such as streams and outputs: no two
// things that exist at the same time have the same name (docs/http-api.md, "Names of clients"). Pure.

/**
 * The names in use. A thing has its desired name, and gets the new one when that changes. A thing whose
 * desired name is in use already is called `NAME #ID` until it is released, even if its desired name
 * changes.
 */
export class UniqueNames {
  readonly #byId = new Map<number, { readonly name: string; readonly isNumbered: boolean }>();
  readonly #owners = new Map<string, number>();

  /** The name of the thing `id`. Call it again when the desired name changes. */
  assign(id: number, desired: string): string {
    const current = this.#byId.get(id);
    if (current !== undefined && (current.isNumbered || current.name === desired)) return current.name;
    this.release(id);
    const isNumbered = this.#owners.has(desired);
    let name = isNumbered ? `${desired} #${id}` : desired;
    // Another thing may have `X #7` as its own name. The loop ends, because each turn makes a longer name.
    while (this.#owners.has(name)) name = `${name} #${id}`;
    this.#byId.set(id, { name, isNumbered });
    this.#owners.set(name, id);
    return name;
  }

  /**
   * Frees the name of a thing whose desired name has changed, so that another thing may get it before
   * `assign` is called for this one. A numbered name is kept.
   */
  vacate(id: number, desired: string): void {
    const current = this.#byId.get(id);
    if (current !== undefined && !current.isNumbered && current.name !== desired) this.release(id);
  }

  /** Frees the name of a thing that is gone. */
  release(id: number): void {
    const current = this.#byId.get(id);
    if (current === undefined) return;
    this.#byId.delete(id);
    this.#owners.delete(current.name);
  }

  /** The thing that has this name now. */
  idOf(name: string): number | undefined {
    return this.#owners.get(name);
  }
}
