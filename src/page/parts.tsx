// Components for all sections: text lines, why something is away, lists drawn without a long task, and
// redrawing only for changed props.

import { Component, type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { BackendInfo } from '../client/client.js';
import { Button } from './icons.js';
import { translate } from './language.js';

/** One line of foreign text, in the direction of its own letters, so that its beginning is visible. */
export function ForeignLine({ children, class: of = '' }: Readonly<{ children: string; class?: string }>) {
  return (
    <p class={`clip ${of}`} dir="auto" title={children}>
      {children}
    </p>
  );
}

/**
 * Shows a shortened text in full after a tap, and short again after the next, because a finger cannot hover.
 */
export function showWholeAtTouch({ target }: Event): void {
  if (!(target instanceof Element) || target.closest('button, a, summary') !== null) return;
  const text = target.closest('.clip');
  if (text === null) return;
  const isCut = text.scrollWidth > text.clientWidth + 1 || text.scrollHeight > text.clientHeight + 1;
  if (isCut || text.hasAttribute('data-whole')) text.toggleAttribute('data-whole');
}

/**
 * Shown in place of something unavailable: its state and the reason, and `what` it is if the section shows
 * other things too.
 */
export function Away({ what, state, detail }: BackendInfo & { readonly what?: string }) {
  const text = stateText(state);
  const words = what === undefined ? text : translate('awayNow', { what, state: text });
  return <Missing detail={detail}>{words}</Missing>;
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

/** A control that says its own name to screen readers, beside a shorter one. */
export function Field({ name, children }: Readonly<{ name: string; children: ComponentChildren }>) {
  return (
    <div class="field">
      <span aria-hidden="true">{name}</span>
      {children}
    </div>
  );
}

export function Cards({ children }: { readonly children: readonly ComponentChildren[] }) {
  const drawn = useGrowing(children.length, 1);
  return <ul class="cards">{children.slice(0, drawn)}</ul>;
}

/** One card for all of them. */
export function Rows({ children }: { readonly children: readonly ComponentChildren[] }) {
  const drawn = useGrowing(children.length, 1);
  return <ul class="card rows">{children.slice(0, drawn)}</ul>;
}

/**
 * The button at the end of a card's first line, which opens what is rarely needed below. The card shows what
 * is called `name`.
 */
export function useUnfold(name: string) {
  const [isOpen, open] = useState(false);
  const label = translate('moreOf', { name });
  const toggle = (): void => open(!isOpen);
  return {
    isOpen,
    unfold: <Button class="unfold" icon="more" isOpen={isOpen} label={label} onClick={toggle} />,
  };
}

export function Empty({ children }: { readonly children: string }) {
  return <p class="card quiet">{children}</p>;
}

/** Redraws now and then while `runs`, unless nobody sees the page. */
export function useTicks(everyMs: number, runs = true): void {
  const [, draw] = useState(0);
  useEffect(() => {
    if (!runs) return undefined;
    const timer = setInterval(() => document.hidden || draw((times) => times + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, runs]);
}

/** Calls `run` after `ms`, unless one of the `inputs` changes before; never if `ms` is undefined. */
export function useLater(ms: number | undefined, run: () => void, inputs: readonly unknown[]): void {
  useEffect(() => {
    if (ms === undefined) return undefined;
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  }, inputs);
}

/** Redraws `View` only if a prop has changed; unchanged records are the same objects. */
export function memoized<P extends object>(View: (props: P) => JSX.Element | null) {
  return class Memoized extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      // Runs for each row of a list at each drawing, so it allocates nothing.
      for (const name in next) if (!Object.is(this.props[name], next[name])) return true;
      return false;
    }

    override render(props: P): JSX.Element | null {
      return View(props);
    }
  };
}

/** Just less than a frame at 60 Hz, so that each frame can have its piece. */
const BEHIND_FRAME_MS = 15;

/** Draws one piece per frame, because all at once would be a task long enough to be noticed. */
class DrawQueue {
  #pieces: readonly (() => void)[] = [];
  #isScheduled = false;

  /** The returned function removes the piece again. With `isLast` it is drawn after all others. */
  add(piece: () => void, isLast: boolean): () => void {
    this.#pieces = isLast ? [...this.#pieces, piece] : [piece, ...this.#pieces];
    this.#schedule();
    return () => {
      this.#pieces = this.#pieces.filter((each) => each !== piece);
    };
  }

  #schedule(): void {
    if (this.#isScheduled || this.#pieces.length === 0) return;
    this.#isScheduled = true;
    // After a frame, because the browser would lay out several pieces as one.
    requestAnimationFrame(() => setTimeout(() => this.#drawNext(), BEHIND_FRAME_MS));
  }

  #drawNext(): void {
    const [piece, ...others] = this.#pieces;
    this.#pieces = others;
    this.#isScheduled = false;
    piece?.();
    this.#schedule();
  }
}

export const DrawOrder = createContext(new DrawQueue());

/**
 * The number of `total` things to draw now; `step` more at a time. With `isLast` they are drawn after all
 * others, which would push them down later.
 */
export function useGrowing(total: number, step: number, isLast = false): number {
  const queue = useContext(DrawOrder);
  const [drawn, setDrawn] = useState(0);
  // A layout effect runs within the drawing: the rest of this list is drawn before the other lists go on.
  useLayoutEffect(() => {
    // If they return after a decrease, they are drawn step by step again.
    if (drawn > total + step) setDrawn(total + step);
    return drawn < total ? queue.add(() => setDrawn(drawn + step), isLast) : undefined;
  }, [drawn, total, step, isLast, queue]);
  return Math.min(drawn, total);
}
