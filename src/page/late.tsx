// Loads the parts of the page that have files of their own, when they are needed. A failure is reported, and
// the file is loaded again, because the node may have been away only for a moment.

import { createContext, type JSX } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { useLater, useRedraw } from './parts.js';

/** The wait before a file that did not load is loaded again. The wait doubles with each failure. */
const RELOAD_MS = 2_000;
const RELOAD_MS_MAX = 60_000;

export type Content<P> = (props: P) => JSX.Element | null;

export class Part<T> {
  /** The part itself; undefined until its file is loaded. */
  loaded: T | undefined;
  /** How often loading has failed. */
  failures = 0;
  readonly #importFile: () => Promise<T>;

  constructor(importFile: () => Promise<T>) {
    this.#importFile = importFile;
  }

  async load(): Promise<void> {
    try {
      this.loaded ??= await this.#importFile();
    } catch (error) {
      this.failures += 1;
      throw error;
    }
  }
}

/** Called with each loading that begins, so that a failure is reported. */
export const PartLoading = createContext<(loading: Promise<unknown>) => void>(() => undefined);

/** Loads the part while it is needed, and draws the component again when it is loaded. */
export function usePart<T>(part: Part<T>, isNeeded = true): void {
  const reportLoading = useContext(PartLoading);
  const redraw = useRedraw();
  const [attempt, setAttempt] = useState(0);
  const { loaded, failures } = part;
  const isMissing = isNeeded && loaded === undefined;
  useEffect(() => {
    if (!isMissing) return;
    const loading = part.load();
    loading.then(redraw, redraw);
    reportLoading(loading);
  }, [part, isMissing, attempt, redraw, reportLoading]);
  const pauseMs = Math.min(RELOAD_MS * 2 ** (failures - 1), RELOAD_MS_MAX);
  useLater(isMissing && failures > 0 ? pauseMs : undefined, () => setAttempt(failures), [part, failures]);
}

interface LateProps<P> {
  readonly part: Part<Content<P>>;
  readonly props: P;
}

/** Draws the part; nothing until it is loaded. */
export function Late<P extends object>({ part, props }: LateProps<P>) {
  usePart(part);
  const { loaded: View } = part;
  return View === undefined ? null : <View {...props} />;
}
