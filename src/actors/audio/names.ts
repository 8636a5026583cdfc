// Names of clients: what a stream is called, and that no two live ones are called the same (docs/http-api.md, "Names of clients").
// Pure. Knows nothing of the server's records beyond a name and a property list.

import { capped } from '../text.js';

/** A media.name may hold a whole article (60 000 characters pass both servers): UTF-16 units that are kept. */
export const NAME_MAX_UNITS = 1024;

/** What PulseAudio writes where a stream has no media.name. */
const PULSEAUDIO_NO_NAME = '(null)';

export type Props = Readonly<Record<string, string>>;

/** The name that a stream would have if it were alone: media.name, application.name, the binary, or `stream`. */
export function wantedName(name: string | undefined, props: Props): string {
  const own = props['media.name'] || (name === PULSEAUDIO_NO_NAME ? undefined : name);
  const wanted = own || props['application.name'] || props['application.process.binary'] || 'stream';
  return capped(wanted, NAME_MAX_UNITS);
}

/**
 * The names in use. A stream whose wanted name is taken becomes `NAME #ID`, and keeps that for its life, whatever
 * it is called later; one that has its wanted name follows it (a player changes its media.name with each song),
 * and becomes `NAME #ID` the first time that the new one is taken.
 */
export class ClientNames {
  readonly #byId = new Map<number, { readonly name: string; readonly numbered: boolean }>();
  readonly #owners = new Map<string, number>();

  /** Gives or updates the name of a live stream. */
  assign(id: number, wanted: string): string {
    const held = this.#byId.get(id);
    if (held !== undefined && (held.numbered || held.name === wanted)) return held.name;
    this.release(id);
    const numbered = this.#owners.has(wanted);
    let name = numbered ? `${wanted} #${id}` : wanted;
    // Somebody may be called `X #7` by itself; each turn of the loop passes one live stream, so it ends.
    while (this.#owners.has(name)) name = `${name} #${id}`;
    this.#byId.set(id, { name, numbered });
    this.#owners.set(name, id);
    return name;
  }

  /** Frees the name of a stream that wants another one now. One with a number keeps it. */
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

  nameOf(id: number): string | undefined {
    return this.#byId.get(id)?.name;
  }

  idOf(name: string): number | undefined {
    return this.#owners.get(name);
  }
}
