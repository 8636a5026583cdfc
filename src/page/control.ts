// The state of one control while its value travels to the node and back. Pure: inputs in, the next state out.
// It never shows an outdated value of the node, has one request open at a time, and always sends the last
// value.

export interface Control<T> {
  /** The node's latest value. */
  readonly known: T;
  /** The value that the user has set, until the node has it, refuses it, or has not sent it in time. */
  readonly wanted?: T | undefined;
  /** The value of the open request. */
  readonly sent?: T | undefined;
  readonly isHeld?: boolean;
}

type ControlInput<T> =
  | { readonly kind: 'known' | 'set'; readonly value: T }
  /** `settled`: `SETTLE_MS` have passed while `isSettling`. */
  | { readonly kind: 'hold' | 'release' | 'accepted' | 'refused' | 'settled' };

/**
 * How long an accepted value is shown although the node's differs: its event may come after the response, or
 * somebody else set another.
 */
export const SETTLE_MS = 800;

/** True while only the node's value is waited for. */
export function isSettling<T>({ wanted, sent, isHeld }: Control<T>): boolean {
  return wanted !== undefined && sent === undefined && !isHeld;
}

/** True for two values that look alike, because the node rounds. */
export type Same<T> = (a: T, b: T) => boolean;

/** A new value of `sent` is to be requested now. */
export function advance<T>(control: Control<T>, input: ControlInput<T>, same: Same<T>): Control<T> {
  const { known, wanted, sent } = control;
  switch (input.kind) {
    case 'known':
      return rested({ ...control, known: input.value }, same);
    case 'hold':
      return { ...control, isHeld: true, wanted: wanted ?? known };
    case 'set':
      return { ...control, wanted: input.value, sent: sent ?? input.value };
    case 'release':
      return rested({ ...control, isHeld: false }, same);
    case 'accepted':
    case 'refused':
      if (wanted !== undefined && sent !== undefined && !same(wanted, sent))
        return { ...control, sent: wanted };
      return rested(
        { ...control, sent: undefined, wanted: input.kind === 'refused' ? undefined : wanted },
        same,
      );
    case 'settled':
      return isSettling(control) ? { ...control, wanted: undefined } : control;
  }
}

/** Drops the wanted value when the node has it. */
function rested<T>(control: Control<T>, same: Same<T>): Control<T> {
  const { known, wanted } = control;
  const isReached = isSettling(control) && wanted !== undefined && same(known, wanted);
  return isReached ? { ...control, wanted: undefined } : control;
}
