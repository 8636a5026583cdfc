// Loads the parts of the page that have files of their own. A part's file is loaded when the part is needed.
// After a failure the file is requested again, because the node may have been away only for a moment.

import { createContext, type JSX } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { useLater, useRedraw } from './parts.js';

/** The wait after the first failure, before the next attempt. Each further failure doubles the wait. */
const RETRY_MS = 2_000;
const RETRY_MAX_MS = 60_000;

/** A part that is a component. */
export type Content<P> = (props: P) => JSX.Element | null;

export class LatePart<T> {
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

type ReportLoading = (part: LatePart<unknown>, loading: Promise<void>) => void;

/** Contains the function to which `usePart` reports each attempt to load a part (app.tsx). */
export const PartLoading = createContext<ReportLoading>(() => undefined);

/** Loads the part if it is needed, and draws the calling component again when loading succeeds or fails. */
export function usePart<T>(part: LatePart<T>, isNeeded = true): void {
  const reportLoading = useContext(PartLoading);
  const redraw = useRedraw();
  const [attempt, setAttempt] = useState(0);
  const { loaded, failures } = part;
  const isMissing = isNeeded && loaded === undefined;
  useEffect(() => {
    if (!isMissing) return;
    const loading = part.load();
    loading.then(redraw, redraw);
    reportLoading(part, loading);
  }, [part, isMissing, attempt, redraw, reportLoading]);
  // The exponent is 0 after the first failure.
  const waitMs = Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MAX_MS);
  const hasFailed = isMissing && failures > 0;
  // `failures` has grown since the last attempt, so `attempt` changes, and the effect above loads again.
  const tryAgain = (): void => setAttempt(failures);
  useLater(hasFailed ? waitMs : undefined, tryAgain, [part, failures]);
}

interface LateProps<P> {
  readonly part: LatePart<Content<P>>;
  readonly props: P;
}

export function Late<P extends object>({ part, props }: LateProps<P>) {
  usePart(part);
  const { loaded: View } = part;
  return View === undefined ? null : <View {...props} />;
}
