// Watches whether the large player's buttons are on the screen.

import { useEffect, useState } from 'preact/hooks';

class VisibilityWatch {
  /**
   * Made only when it is needed, because a browser that is too old for the page (`isTooOld` in main.tsx)
   * loads this file, too, and may lack `IntersectionObserver`.
   */
  #observer: IntersectionObserver | undefined;
  #isVisible = false;
  readonly #listeners = new Set<(isVisible: boolean) => void>();

  /**
   * This is the `ref` of the watched element, the one around the buttons. preact calls it with null when the
   * element is removed. If the node has no player, its large card has no such buttons, and the element
   * around the card's text is watched in their place.
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

  /** Calls the listener at once, too, because the value may have changed since the component was drawn. */
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

/** There is one for the whole page, which has one large player. */
export const largePlayerButtons = new VisibilityWatch();

export function useAreButtonsVisible(): boolean {
  const [isVisible, setVisible] = useState(largePlayerButtons.isVisible);
  useEffect(() => largePlayerButtons.subscribe(setVisible), []);
  return isVisible;
}
