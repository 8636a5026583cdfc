// Parts of the page whose files are loaded when they are needed. One that does not come is said, and loaded
// again: the node may have been away for a moment.

import { createContext, type JSX } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { useLater } from './parts.js';

/** The pause before a file that did not come is loaded again. It doubles each time. */
const AGAIN_MS = 2_000;
const AGAIN_MAX_MS = 60_000;

export type Content<P> = (props: P) => JSX.Element | null;

export class Part<T> {
  /** Undefined until the file has come. */
  loaded: T | undefined;
  /** How often it did not come. */
  failures = 0;
  readonly #fetch: () => Promise<T>;

  /** `fetch` imports the file. */
  constructor(fetch: () => Promise<T>) {
    this.#fetch = fetch;
  }

  async load(): Promise<void> {
    try {
      this.loaded ??= await this.#fetch();
    } catch (error) {
      this.failures += 1;
      throw error;
    }
  }
}

/** Gets the promise of each file that begins to be loaded. */
export const PartLoading = createContext<(loading: Promise<unknown>) => void>(() => undefined);

/** Loads the part, and draws again when it has come. */
export function usePart<T>(part: Part<T>, isNeeded = true): void {
  const note = useContext(PartLoading);
  const [, draw] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const { loaded, failures } = part;
  const isMissing = isNeeded && loaded === undefined;
  useEffect(() => {
    if (!isMissing) return;
    const loading = part.load();
    const redraw = (): void => draw((times) => times + 1);
    loading.then(redraw, redraw);
    note(loading);
  }, [part, isMissing, attempt, note]);
  const pauseMs = Math.min(AGAIN_MS * 2 ** (failures - 1), AGAIN_MAX_MS);
  useLater(isMissing && failures > 0 ? pauseMs : undefined, () => setAttempt(failures), [part, failures]);
}

interface LateProps<P> {
  readonly part: Part<Content<P>>;
  readonly props: P;
}

/** Draws nothing until the part has come. */
export function Late<P extends object>({ part, props }: LateProps<P>) {
  usePart(part);
  const { loaded: View } = part;
  return View === undefined ? null : <View {...props} />;
}
