// The parts that every section is made of: names that are only text, sections with their reasons, lists that grow without a
// long task, views that are drawn again only when what they show has changed.

import { Component, type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useLayoutEffect, useState } from 'preact/hooks';
import type { BackendInfo } from '../client/client.js';
import type { TextKey } from './english.js';
import { say } from './language.js';
import { Turns } from './turns.js';

/** Which turns a part's pieces are drawn in. */
export const Pacing = createContext(new Turns((call) => requestAnimationFrame(call)));

/**
 * A text from elsewhere on a line of its own: whatever it holds, it is text, in the direction of its own letters, so that its beginning is
 * what is seen of it.
 */
export function Line({ children, class: of = '' }: { readonly children: string; readonly class?: string }) {
  return (
    <p class={`clip ${of}`} dir="auto" title={children}>
      {children}
    </p>
  );
}

interface SectionProps {
  readonly title: string;
  readonly id: string;
  /** Among all sections, where they are one column. */
  readonly place: number;
  /** The backend that it shows, when that is away. */
  readonly away?: BackendInfo | undefined;
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

const AWAY: Readonly<Record<Exclude<BackendInfo['state'], 'up'>, TextKey>> = {
  connecting: 'down_connecting',
  restarting: 'down_restarting',
  failed: 'down_failed',
};

export function sayState(state: BackendInfo['state']): string {
  return state === 'up' ? say('up') : say(AWAY[state]);
}

interface AwayProps extends BackendInfo {
  /** Which part of the node, where the section has other things too. */
  readonly what?: string;
}

/** In the place of what cannot be shown: that it is away, and why. */
export function Away({ what, state, detail }: AwayProps) {
  return (
    <div class="card away" role="status">
      <p class="strong">
        {what === undefined ? sayState(state) : say('awayNow', { what, state: sayState(state) })}
      </p>
      {detail === undefined ? null : <p class="quiet wrap">{detail}</p>}
    </div>
  );
}

/** One card after another. */
export function Cards({ children }: { readonly children: readonly ComponentChildren[] }) {
  const drawn = useGrowing({ wanted: children.length, step: 1, isNext: true });
  return <ul class="cards">{children.slice(0, drawn)}</ul>;
}

export function Empty({ children }: { readonly children: string }) {
  return <p class="card quiet">{children}</p>;
}

/** Draws `View` again only for other props; records that did not change are the same objects. */
export function still<P extends object>(View: (props: P) => JSX.Element | null) {
  return class Still extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      // Asked for each row of a list at each drawing: nothing is made.
      for (const name in next) if (!Object.is(this.props[name], next[name])) return true;
      return false;
    }

    override render(props: P): JSX.Element | null {
      return View(props);
    }
  };
}

interface Growing {
  readonly wanted: number;
  readonly step: number;
  /** Before what else is still to be drawn: nothing below is pushed down by it. */
  readonly isNext?: boolean;
}

/** How many of `wanted` things to draw now: more and more, as there is time. All at once is a task that a hand feels. */
export function useGrowing({ wanted, step, isNext = false }: Growing): number {
  const turns = useContext(Pacing);
  const [drawn, setDrawn] = useState(0);
  useLayoutEffect(() => {
    // What comes back grows again.
    if (drawn > wanted + step) setDrawn(wanted + step);
    return drawn < wanted ? turns.later(() => setDrawn(drawn + step), isNext) : undefined;
  }, [turns, drawn, wanted, step, isNext]);
  return Math.min(drawn, wanted);
}
