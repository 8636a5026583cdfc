// Watches whether the large player's buttons are on the screen.

import { useEffect, useState } from 'preact/hooks';

class VisibilityWatch {
  /**
   * The observer is made in `watch` and not in the constructor. A browser that is too old for the page also
   * loads this file, and may lack `IntersectionObserver` (`isTooOld` in main.tsx).
   */
  #observer: IntersectionObserver | undefined;
  #isVisible = false;
  readonly #listeners = new Set<(isVisible: boolean) => void>();

  /**
   * This is the `ref` of the element around the buttons. preact calls `watch` with null when the element
   * is removed. If the node has no player, its large card has no such buttons. Then the element around the
   * card's text is watched instead (current-streams.tsx).
   */
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

  /**
   * Calls the listener at once, and then at each change. The first call is needed, because the value may have
   * changed since the listener's component was drawn.
   */
  subscribe(listener: (isVisible: boolean) => void): () => void {
    this.#listeners.add(listener);
    listener(this.#isVisible);
    return () => void this.#listeners.delete(listener);
  }

  #set(isVisible: boolean): void {
    this.#isVisible = isVisible;
    for (const listener of this.#listeners) listener(isVisible);
  }
}

/** The page has only one `VisibilityWatch`, because it has only one large player. */
export const largePlayerButtons = new VisibilityWatch();

export function useAreButtonsVisible(): boolean {
  const [isVisible, setVisible] = useState(largePlayerButtons.isVisible);
  useEffect(() => largePlayerButtons.subscribe(setVisible), []);
  return isVisible;
}
