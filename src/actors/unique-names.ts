// Names that no two live things share, as streams and outputs may be called the same (docs/http-api.md,
// "Names of clients"). Pure.

/**
 * The names in use. A thing whose desired name is taken becomes `NAME #ID`, and stays so for life; until then
 * it follows its desired name.
 */
export class UniqueNames {
  readonly #byId = new Map<number, { readonly name: string; readonly numbered: boolean }>();
  readonly #owners = new Map<string, number>();

  assign(id: number, desired: string): string {
    const current = this.#byId.get(id);
    if (current !== undefined && (current.numbered || current.name === desired)) return current.name;
    this.release(id);
    const numbered = this.#owners.has(desired);
    let name = numbered ? `${desired} #${id}` : desired;
    // A thing may itself be called `X #7`; each turn of the loop passes one live thing, so the loop ends.
    while (this.#owners.has(name)) name = `${name} #${id}`;
    this.#byId.set(id, { name, numbered });
    this.#owners.set(name, id);
    return name;
  }

  /** Frees the name of a thing that now wants another one; a numbered name is kept. */
  vacate(id: number, desired: string): void {
    const current = this.#byId.get(id);
    if (current !== undefined && !current.numbered && current.name !== desired) this.release(id);
  }

  release(id: number): void {
    const current = this.#byId.get(id);
    if (current === undefined) return;
    this.#byId.delete(id);
    this.#owners.delete(current.name);
  }

  idOf(name: string): number | undefined {
    return this.#owners.get(name);
  }
}
