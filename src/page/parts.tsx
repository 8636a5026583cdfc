// Contains the components and hooks that several sections use. Decides which list is drawn first
// (`useGrowing`).

import { Component, type ComponentChildren, createContext, type JSX } from 'preact';
import { useCallback, useContext, useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { BackendInfo } from '../client/client.js';
import { Button } from './icons.js';
import { translate } from './language.js';

/**
 * Draws a text that does not come from the page itself, such as the title of a track. The writing direction
 * follows from the text's letters. page.css decides after how many lines the text is cut off.
 */
export function ForeignText({
  children,
  class: ownClass = '',
}: Readonly<{ children: string; class?: string }>) {
  return (
    <p class={`clip ${ownClass}`} dir="auto" title={children}>
      {children}
    </p>
  );
}

/**
 * Handles a click on a text that is cut off. The whole text appears, and is cut off again at the next click.
 * Only a finger needs this: under a mouse the `title` shows the whole text without a click.
 */
export function toggleWholeText({ target }: Event): void {
  if (!(target instanceof Element) || target.closest('button, a, summary') !== null) return;
  const text = target.closest('.clip');
  if (text === null) return;
  // Browsers round both sizes, so they may differ by 1 although nothing is cut off.
  const isCut = text.scrollWidth > text.clientWidth + 1 || text.scrollHeight > text.clientHeight + 1;
  if (isCut || text.hasAttribute('data-whole')) text.toggleAttribute('data-whole');
}

/**
 * Closes a dialog at a click beside it. While the node is away, the button that closes the dialog is
 * disabled. A click on this button then reaches the button's parent, which has the class `closing`
 * (page.css), and closes the dialog, too.
 */
export function closeDialog({ target }: Event): void {
  if (target instanceof Element && target.matches('dialog, .closing')) target.closest('dialog')?.close();
}

/**
 * Draws the state of a backend that is not up. `what` is the backend's name; undefined if the section's
 * title is that name already.
 */
export function Away({ what, state, detail }: BackendInfo & { readonly what?: string | undefined }) {
  const text = stateText(state);
  const sentence = what === undefined ? text : translate('nameAndState', { what, state: text });
  return <Missing detail={detail}>{sentence}</Missing>;
}

export function Missing({ detail, children }: Readonly<{ detail: string | undefined; children: string }>) {
  return (
    <div class="card away" role="status">
      <p class="strong">{children}</p>
      {detail === undefined ? null : <p class="quiet wrap">{detail}</p>}
    </div>
  );
}

export function stateText(state: BackendInfo['state']): string {
  return translate(state === 'up' ? 'up' : `down_${state}`);
}

export type Tone = 'good' | 'bad' | 'busy' | 'off';

export function Status({ tone, children }: Readonly<{ tone: Tone; children: string }>) {
  return (
    <span class={`state ${tone}`}>
      <span class="dot" aria-hidden="true" />
      {children}
    </span>
  );
}

/**
 * A control with its name beside it. Screen readers announce only the control's own label, which is longer.
 */
export function Field({ name, children }: Readonly<{ name: string; children: ComponentChildren }>) {
  return (
    <div class="field">
      <span aria-hidden="true">{name}</span>
      {children}
    </div>
  );
}

/** A list in which each entry is a card. */
export function Cards({ children }: { readonly children: readonly ComponentChildren[] }) {
  const drawnCount = useGrowing(children.length, 1);
  return <ul class="cards">{children.slice(0, drawnCount)}</ul>;
}

/** A list whose rows are in one card. */
export function Rows({ children }: { readonly children: readonly ComponentChildren[] }) {
  const drawnCount = useGrowing(children.length, 1);
  return <ul class="card rows">{children.slice(0, drawnCount)}</ul>;
}

/** Makes the button that opens the rarely needed controls below a row. `name` is the name in the row. */
export function useUnfold(name: string) {
  const [isOpen, setOpen] = useState(false);
  const label = translate('moreOf', { name });
  const toggle = (): void => setOpen(!isOpen);
  return {
    isOpen,
    unfoldButton: <Button class="unfold" icon="more" isOpen={isOpen} label={label} onClick={toggle} />,
  };
}

export function Empty({ children }: { readonly children: string }) {
  return <p class="card quiet">{children}</p>;
}

/** Returns a function that draws the component again. The function is the same object at each drawing. */
export function useRedraw(): () => void {
  const [, setCount] = useState(0);
  return useCallback(() => setCount((count) => count + 1), []);
}

/** Draws the component again every `everyMs`, unless the page is hidden, or `isTicking` is false. */
export function useTicks(everyMs: number, isTicking = true): void {
  const redraw = useRedraw();
  useEffect(() => {
    if (!isTicking) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) redraw();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isTicking, redraw]);
}

/** Calls `run` after `ms`, or never if `ms` is undefined. A change of `inputs` begins the time anew. */
export function useLater(ms: number | undefined, run: () => void, inputs: readonly unknown[]): void {
  useEffect(() => {
    if (ms === undefined) return undefined;
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  }, inputs);
}

/** True if `condition` has been true for the last `ms`. */
export function useHasLasted(condition: boolean, ms: number): boolean {
  const [hasLasted, setHasLasted] = useState(false);
  // When the condition becomes false, a timer of 0 ms sets `hasLasted` to false. So a condition that becomes
  // true again must last for `ms` again.
  useLater(condition ? ms : 0, () => setHasLasted(condition), [condition, ms]);
  return condition && hasLasted;
}

/**
 * Returns a component that draws `View`. When the parent is drawn, `View` is drawn again only if a prop has
 * changed. A record that has not changed stays the same object.
 */
export function memoized<P extends object>(View: (props: P) => JSX.Element | null) {
  return class Memoized extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      // This method runs for each row of a list at each drawing, so it allocates nothing.
      for (const name in next) if (!Object.is(this.props[name], next[name])) return true;
      return false;
    }

    override render(props: P): JSX.Element | null {
      return View(props);
    }
  };
}

/**
 * The time from the beginning of a frame to the drawing of a piece (`DrawPiece`). It is a little shorter
 * than a frame at 60 Hz, so that the next piece can be drawn in the next frame.
 */
const WAIT_IN_FRAME_MS = 15;

/** Draws some new or changed entries of a list. */
type DrawPiece = () => void;

/** `first`: the piece is drawn before all pieces that wait already. `last`: it is drawn after them. */
type QueuePlace = 'first' | 'last';

/** Draws one piece per frame. A task that lays out several pieces takes so long that people notice it. */
class DrawQueue {
  #pieces: readonly DrawPiece[] = [];
  #isScheduled = false;

  /** The returned function removes the piece. */
  add(piece: DrawPiece, place: QueuePlace): () => void {
    this.#pieces = place === 'last' ? [...this.#pieces, piece] : [piece, ...this.#pieces];
    this.#schedule();
    return () => {
      this.#pieces = this.#pieces.filter((other) => other !== piece);
    };
  }

  #schedule(): void {
    if (this.#isScheduled || this.#pieces.length === 0) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => setTimeout(() => this.#drawNext(), WAIT_IN_FRAME_MS));
  }

  #drawNext(): void {
    const [piece, ...others] = this.#pieces;
    this.#pieces = others;
    this.#isScheduled = false;
    piece?.();
    this.#schedule();
  }
}

/** The page's queue of pieces. */
export const PageDrawQueue = createContext(new DrawQueue());

/**
 * Returns how many of `total` entries to draw now. The number grows by `step` with each piece, and all lists
 * together draw one piece per frame. Entries with the place `last` wait for all other lists, because a list
 * that grows would move these entries down.
 */
export function useGrowing(total: number, step: number, place: QueuePlace = 'first'): number {
  const queue = useContext(PageDrawQueue);
  const [drawnCount, setDrawnCount] = useState(0);
  // A layout effect runs within the drawing. So the list's next piece is queued before another list draws
  // one. With the place `first`, the list is thus completed before another list grows.
  useLayoutEffect(() => {
    // `drawnCount` is lowered if the list has become shorter. Otherwise a list that becomes longer again
    // would draw all its new entries in one frame. An excess of up to `step` is normal, because the last
    // piece may have fewer entries.
    if (drawnCount > total + step) setDrawnCount(total + step);
    return drawnCount < total ? queue.add(() => setDrawnCount(drawnCount + step), place) : undefined;
  }, [drawnCount, total, step, place, queue]);
  return Math.min(drawnCount, total);
}
