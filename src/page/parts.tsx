// Components for all sections: text lines, sections with the reason why they are away, lists that are drawn without a
// long task, and components that are redrawn only if their props have changed.

import { Component, type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { BackendInfo } from '../client/client.js';
import { IconButton } from './icons.js';
import { translate } from './language.js';
import { Turns } from './turns.js';

/** The scheduler for pieces of a part. */
export const Pacing = createContext(new Turns((call) => requestAnimationFrame(call)));

/**
 * One line of foreign text. It is always shown as text, and in the direction of its own letters, so that its beginning is
 * visible.
 */
export function ForeignLine({
  children,
  class: of = '',
}: {
  readonly children: string;
  readonly class?: string;
}) {
  return (
    <p class={`clip ${of}`} dir="auto" title={children}>
      {children}
    </p>
  );
}

/** Shows a shortened text in full after a tap, and short again after the next, because a finger cannot hover. */
export function showWholeAtTouch(page: HTMLElement): void {
  page.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element) || target.closest('button, a, summary') !== null) return;
    const text = target.closest('.clip');
    if (!(text instanceof HTMLElement)) return;
    const isCut = text.scrollWidth > text.clientWidth + 1 || text.scrollHeight > text.clientHeight + 1;
    if (text.dataset['whole'] !== undefined) delete text.dataset['whole'];
    else if (isCut) text.dataset['whole'] = '';
  });
}

interface SectionProps {
  readonly title: string;
  readonly id: string;
  /** Its position among all sections, for the layout with one column. */
  readonly place: number;
  /** The section's backend, if that is not up. */
  readonly away?: AwayProps | undefined;
  readonly children: ComponentChildren;
}

export function Section({ title, id, place, away, children }: SectionProps) {
  return (
    <section class="section" id={id} style={{ order: place }} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {away === undefined ? children : <Away {...away} />}
    </section>
  );
}

export function stateText(state: BackendInfo['state']): string {
  return state === 'up' ? translate('up') : translate(`down_${state}`);
}

interface AwayProps extends BackendInfo {
  /** The part of the node, if the section shows other things too. */
  readonly what?: string;
}

/** Shown in place of something unavailable: its state and the reason. */
export function Away({ what, state, detail }: AwayProps) {
  return (
    <div class="card away" role="status">
      <p class="strong">
        {what === undefined ? stateText(state) : translate('awayNow', { what, state: stateText(state) })}
      </p>
      {detail === undefined ? null : <p class="quiet wrap">{detail}</p>}
    </div>
  );
}

export function Cards({ children }: { readonly children: readonly ComponentChildren[] }) {
  const drawn = useGrowing({ wanted: children.length, step: 1, isNext: true });
  return <ul class="cards">{children.slice(0, drawn)}</ul>;
}

interface UnfoldProps {
  /** The name of the thing that the card shows. */
  readonly name: string;
  readonly isOpen: boolean;
  readonly open: (isOpen: boolean) => void;
}

/** Stands at the end of a card's first line, and opens what is rarely needed below. */
export function Unfold({ name, isOpen, open }: UnfoldProps) {
  return (
    <IconButton
      {...{ class: 'unfold', icon: 'more', isOpen }}
      label={translate('moreOf', { name })}
      onClick={() => open(!isOpen)}
    />
  );
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

interface GrowingOptions {
  readonly wanted: number;
  readonly step: number;
  /** Draw it before other pending pieces, so that it does not push down anything below it later. */
  readonly isNext?: boolean;
}

/** The number of `wanted` things to draw now; it grows as time allows. Drawing all at once would be a task long enough to be noticed. */
export function useGrowing({ wanted, step, isNext = false }: GrowingOptions): number {
  const turns = useContext(Pacing);
  const [drawn, setDrawn] = useState(0);
  useLayoutEffect(() => {
    // If they return after a decrease, they are drawn step by step again.
    if (drawn > wanted + step) setDrawn(wanted + step);
    return drawn < wanted ? turns.later(() => setDrawn(drawn + step), isNext) : undefined;
  }, [turns, drawn, wanted, step, isNext]);
  return Math.min(drawn, wanted);
}
