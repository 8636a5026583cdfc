// The page's own signs, each one path on a grid of 24.

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
    'M17 4h4v4h-1.8v-1-3.6 4-1.4-1.4L17.8 6H17zM3 6h4.5l9 11H17v-1l4 2.5-4 2.500V19h-1.500l-9-11H3zm0 11h3.600l2-2.5 1.3 1.600L7.5 19H3z',
  loop: 'M7 7h9V4l5 4-5 4V9H9v3L7 13.500zm10 10H8v3l-5-4 5-4v3h7v-3l2-1.500z',
  loopOne: 'M7 7h9V4l5 4-5 4V9H9v3L7 13.500zm10 10H8v3l-5-4 5-4v3h7v-3l2-1.500zM11 10h2v4h-1.300v-2.800H11z',
  drag: 'M9 5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zm6 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM9 10.500a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zm6 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM9 16a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zm6 0a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3z',
  restart: 'M12 5a7 7 0 1 1-6.7 5H3.200A9 9 0 1 0 12 3V0L7 4l5 4z',
  close:
    'm6.4 5 5.6 5.600L17.6 5 19 6.4 13.4 12l5.6 5.6-1.4 1.4-5.6-5.600L6.4 19 5 17.600l5.6-5.600L5 6.400z',
  power: 'M11 3h2v9h-2zm5.5 2.200A8 8 0 1 1 7.5 5.200l1 1.700a6 6 0 1 0 7 0z',
  note: 'M10 4v9.600A3.5 3.5 0 1 0 12 17V8h6V4z',
} as const;

export type IconName = keyof typeof PATHS;

/** Says nothing to a screen reader: what it stands on has a name. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
