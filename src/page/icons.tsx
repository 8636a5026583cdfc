// Draws the page's icons and buttons. An icon is a path on a grid of 24 by 24. A button has an icon, a text,
// or both.

import type { ComponentChildren } from 'preact';

const PATHS = {
  volume:
    'M4 9v6h4l5 5V4L8 9H4zm12.5 3a4.5 4.5 0 0 0-2.5-4v8a4.5 4.5 0 0 0 2.5-4zM14 3.2v2.1a7 7 0 0 1 0 13.4v2.1a9 9 0 0 0 0-17.6z',
  muted:
    'M4 9v6h4l5 5V4L8 9H4zm17.7.7-1.4-1.4-2.3 2.3-2.3-2.3-1.4 1.4 2.3 2.3-2.3 2.3 1.4 1.4 2.3-2.3 2.3 2.3 1.4-1.4-2.3-2.3z',
  play: 'M8 5v14l11-7z',
  pause: 'M6 5h4v14H6zm8 0h4v14h-4z',
  stop: 'M6 6h12v12H6z',
  next: 'M6 6v12l8.5-6zm9.5 0H18v12h-2.5z',
  previous: 'M18 6v12l-8.5-6zM6 6h2.5v12H6z',
  shuffle:
    'M3 6h4.4l8.2 10H17v-2.5l4.5 3.5-4.5 3.5V18h-2.4L6.4 8H3zm0 10h3.4l2.3-2.8 1.3 1.6L7.4 18H3zM14.6 6H17V3.5L21.5 7 17 10.5V8h-1.4l-2.3 2.8L12 9.2z',
  loop: 'M4 11V6h12V3l5 4-5 4V8H6v3zm16 2v5H8v3l-5-4 5-4v3h10v-3z',
  loopOne: 'M4 11V6h12V3l5 4-5 4V8H6v3zm16 2v5H8v3l-5-4 5-4v3h10v-3zm-9-2.8 1.4-.9h1v5.4H12V11h-1z',
  plus: 'M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z',
  minus: 'M5 11h14v2H5z',
  more: 'm6 9 6 6 6-6-1.4-1.4L12 12.2 7.4 7.6z',
  drag: 'M9 5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zm6 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM9 10.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zm6 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM9 16a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zm6 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3z',
  restart: 'M12 5a7 7 0 1 1-6.7 5H3.2A9 9 0 1 0 12 3V0L7 4l5 4z',
  undo: 'M8 5 3 10l5 5v-4h6a3.5 3.5 0 0 1 0 7H8v2h6a5.5 5.5 0 0 0 0-11H8z',
  close: 'm6.4 5 5.6 5.6L17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.6L6.4 19 5 17.6l5.6-5.6L5 6.4z',
  power: 'M11 3h2v9h-2zm5.5 2.2A8 8 0 1 1 7.5 5.2l1 1.7a6 6 0 1 0 7 0z',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4 7 7 0 0 0 20 14.5z',
  speaker:
    'M7 2h10a1 1 0 0 1 1 1v18a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1zm5 2.5a2 2 0 1 0 0 4 2 2 0 0 0 0-4zm0 6a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zm0 2.5a2 2 0 1 1 0 4 2 2 0 0 1 0-4z',
  headphones:
    'M12 3a9 9 0 0 0-9 9v6a3 3 0 0 0 3 3h2v-8H5v-1a7 7 0 0 1 14 0v1h-3v8h2a3 3 0 0 0 3-3v-6a9 9 0 0 0-9-9z',
  screen: 'M3 4h18v13H3zm2 2v9h14V6zm3 13h8v2H8z',
  bluetooth:
    'm12 2 6 5-4.7 5L18 17l-6 5v-7.6l-4 3.8-1.4-1.4L11 12 6.6 7.2 8 5.8l4 3.8zm2 4.2v3.2L15.8 7.5zm0 8.4v3.2l1.8-1.300z',
  group:
    'M3 5h8v14H3zm4 1.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM7 11a3 3 0 1 0 0 6 3 3 0 0 0 0-6zm6-6h8v14h-8zm4 1.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zm0 4.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  tick: 'm9 16.2-4.2-4.2-1.4 1.4L9 19 21 7l-1.4-1.4z',
  node: 'M4 4h16v7H4zm3 2.5v2h2v-2zM4 13h16v7H4zm3 2.5v2h2v-2z',
  note: 'M10 4v9.6A3.5 3.5 0 1 0 12 17V8h6V4z',
} as const;

export type IconName = keyof typeof PATHS;

/** Hidden from screen readers, because most icons are in a button that has a name. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

interface ButtonProps {
  /** Screen readers announce this label. A button without a text, or with a very short text, needs it. */
  readonly label?: string | undefined;
  readonly icon?: IconName | undefined;
  readonly onClick: () => void;
  readonly class?: string | undefined;
  readonly isPressed?: boolean;
  /** Undefined if the button opens no part of the page; otherwise true while this part is displayed. */
  readonly isOpen?: boolean;
  readonly isBusy?: boolean;
  readonly disabled?: boolean;
  /** True if the button is drawn as disabled, but can be pressed, because the node may accept its command. */
  readonly isDimmed?: boolean;
  readonly children?: ComponentChildren;
}

export function Button({
  label,
  icon,
  onClick,
  class: ownClass = '',
  isPressed,
  isOpen,
  isBusy,
  disabled = false,
  isDimmed = false,
  children,
}: ButtonProps) {
  const usualClass = children === undefined ? 'icon-button' : 'button';
  return (
    <button
      type="button"
      class={`${usualClass} ${ownClass}`}
      aria-label={label}
      title={label}
      aria-pressed={isPressed}
      aria-expanded={isOpen}
      aria-busy={isBusy}
      aria-disabled={isDimmed || undefined}
      disabled={disabled}
      onClick={onClick}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}
