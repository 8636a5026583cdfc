// Client names: how a stream is called, with no two live streams of the same name (docs/http-api.md, "Names of clients").
// Pure. It knows only a name and a property list of the server's records.

/** PulseAudio's name for a stream without media.name. */
const PULSEAUDIO_NO_NAME = '(null)';

export type Props = Readonly<Record<string, string>>;

/** The name a stream gets if no other has it: media.name, application.name, the binary, or `stream`. */
export function wantedName(name: string | undefined, props: Props): string {
  const own = props['media.name'] || (name === PULSEAUDIO_NO_NAME ? undefined : name);
  return own || props['application.name'] || props['application.process.binary'] || 'stream';
}

/** The names in use. A stream whose wanted name is taken becomes `NAME #ID`, and stays so for life; until then it follows its wanted name. */
export class ClientNames {
  readonly #byId = new Map<number, { readonly name: string; readonly numbered: boolean }>();
  readonly #owners = new Map<string, number>();

  assign(id: number, wanted: string): string {
    const held = this.#byId.get(id);
    if (held !== undefined && (held.numbered || held.name === wanted)) return held.name;
    this.release(id);
    const numbered = this.#owners.has(wanted);
    let name = numbered ? `${wanted} #${id}` : wanted;
    // A stream may itself be called `X #7`; each turn of the loop passes one live stream, so the loop ends.
    while (this.#owners.has(name)) name = `${name} #${id}`;
    this.#byId.set(id, { name, numbered });
    this.#owners.set(name, id);
    return name;
  }

  /** Frees the name of a stream that now wants another one; a numbered name is kept. */
  vacate(id: number, wanted: string): void {
    const held = this.#byId.get(id);
    if (held !== undefined && !held.numbered && held.name !== wanted) this.release(id);
  }

  release(id: number): void {
    const held = this.#byId.get(id);
    if (held === undefined) return;
    this.#byId.delete(id);
    this.#owners.delete(held.name);
  }

  idOf(name: string): number | undefined {
    return this.#owners.get(name);
  }
}
