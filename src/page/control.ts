// The state of one control while its value travels to the node and back. Pure: inputs in, the next state out.
// It never shows an outdated value of the node, has one request open at a time, and always sends the last
// value.

export interface Control<T> {
  /** The node's latest value. */
  readonly known: T;
  /** The value that the user has set, until the node has it, refuses it, or has not sent it in time. */
  readonly desired?: T | undefined;
  /** The value of the open request. */
  readonly sent?: T | undefined;
  readonly isGrabbed?: boolean;
}

type ControlInput<T> =
  | { readonly kind: 'known' | 'set'; readonly value: T }
  /** `settled`: `SETTLE_MS` have passed while `isSettling`. */
  | { readonly kind: 'grab' | 'release' | 'accepted' | 'refused' | 'settled' };

/**
 * How long an accepted value is shown although the node's differs: its event may come after the response, or
 * somebody else set another.
 */
export const SETTLE_MS = 800;

/** True while only the node's value is waited for. */
export function isSettling<T>({ desired, sent, isGrabbed }: Control<T>): boolean {
  return desired !== undefined && sent === undefined && !isGrabbed;
}

/** True for two values that look alike, because the node rounds. */
export type Same<T> = (a: T, b: T) => boolean;

/** A new value of `sent` is to be requested now. */
export function advance<T>(control: Control<T>, input: ControlInput<T>, same: Same<T>): Control<T> {
  const { known, desired, sent } = control;
  switch (input.kind) {
    case 'known':
      return rested({ ...control, known: input.value }, same);
    case 'grab':
      return { ...control, isGrabbed: true, desired: desired ?? known };
    case 'set':
      return { ...control, desired: input.value, sent: sent ?? input.value };
    case 'release':
      return rested({ ...control, isGrabbed: false }, same);
    case 'accepted':
    case 'refused':
      if (desired !== undefined && sent !== undefined && !same(desired, sent))
        return { ...control, sent: desired };
      return rested(
        { ...control, sent: undefined, desired: input.kind === 'refused' ? undefined : desired },
        same,
      );
    case 'settled':
      return isSettling(control) ? { ...control, desired: undefined } : control;
  }
}

/** Drops the desired value when the node has it. */
function rested<T>(control: Control<T>, same: Same<T>): Control<T> {
  const { known, desired } = control;
  const isReached = isSettling(control) && desired !== undefined && same(known, desired);
  return isReached ? { ...control, desired: undefined } : control;
}
