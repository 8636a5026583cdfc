// Watches whether the large player's buttons are on the screen: where they are not, a phone's foot has play.

import { useEffect, useState } from 'preact/hooks';

class Sight {
  /** Made late, as the page may be too old for it. */
  #observer: IntersectionObserver | undefined;
  #isVisible = false;
  readonly #listeners = new Set<(isVisible: boolean) => void>();

  /** For the `ref` of the element. */
  readonly watch = (element: Element | null): void => {
    this.#observer?.disconnect();
    if (element === null) {
      this.#set(false);
      return;
    }
    this.#observer = new IntersectionObserver((entries) =>
      this.#set(entries.at(-1)?.isIntersecting ?? false),
    );
    this.#observer.observe(element);
  };

  get isVisible(): boolean {
    return this.#isVisible;
  }

  subscribe(listener: (isVisible: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #set(isVisible: boolean): void {
    this.#isVisible = isVisible;
    for (const listener of this.#listeners) listener(isVisible);
  }
}

/** The page has one large player. */
export const sight = new Sight();

export function useIsVisible(): boolean {
  const [isVisible, setVisible] = useState(sight.isVisible);
  useEffect(() => sight.subscribe(setVisible), []);
  return isVisible;
}
