// Decides which value a control displays while a new value travels to the node and back, and when a request
// is sent. Meanwhile the control does not display older values that the node still reports. It has at most
// one open request. Pure.

export interface Control<T> {
  /** The node's latest value. */
  readonly known: T;
  /**
   * The value that is displayed instead of `known`. The user has set it, or it was displayed when the user
   * grabbed the control. It is dropped when the node refuses it, but never under the finger. A settling
   * control (`isSettling`) drops it when the node reports it, or after `SETTLE_MS`.
   */
  readonly desired?: T | undefined;
  /** The value of the open request. */
  readonly sent?: T | undefined;
  /** True while the user moves the control. Until the release, nothing drops `desired`. */
  readonly isGrabbed?: boolean;
}

export type ControlInput<T> =
  | { readonly kind: 'known' | 'set'; readonly value: T }
  /** `settled` comes when `isSettling` has been true for `SETTLE_MS`. */
  | { readonly kind: 'grab' | 'release' | 'accepted' | 'refused' | 'settled' };

/**
 * An accepted value stays displayed for this time, because its event may come after the response. After
 * this time the known value is displayed, because somebody else may have set another value.
 */
export const SETTLE_MS = 800;

/**
 * True while the control waits for the node to report the desired value. No request is open then, and the
 * user does not move the control.
 */
export function isSettling<T>({ desired, sent, isGrabbed }: Control<T>): boolean {
  return desired !== undefined && sent === undefined && !isGrabbed;
}

/** Compares two values. The node rounds, so values that differ a little may count as the same. */
export type Same<T> = (a: T, b: T) => boolean;

/** Returns the next state. If `sent` of this state is a new value, the caller sends this value now. */
export function advance<T>(control: Control<T>, input: ControlInput<T>, same: Same<T>): Control<T> {
  const { known, desired, sent } = control;
  switch (input.kind) {
    case 'known':
      return withoutReached({ ...control, known: input.value }, same);
    case 'grab':
      // The control keeps its displayed value under the finger, whatever the node reports.
      return { ...control, isGrabbed: true, desired: desired ?? known };
    case 'set':
      // During a request, the new value waits in `desired`.
      return { ...control, desired: input.value, sent: sent ?? input.value };
    case 'release':
      return withoutReached({ ...control, isGrabbed: false }, same);
    case 'accepted':
    case 'refused': {
      // The user may have set a newer value during the request. It is sent now, even after a refusal.
      const hasNewer = desired !== undefined && sent !== undefined && !same(desired, sent);
      if (hasNewer) return { ...control, sent: desired };
      const isTakenBack = input.kind === 'refused' && !control.isGrabbed;
      const remaining = isTakenBack ? undefined : desired;
      return withoutReached({ ...control, sent: undefined, desired: remaining }, same);
    }
    case 'settled':
      return isSettling(control) ? { ...control, desired: undefined } : control;
  }
}

/** Drops the desired value of a settling control if the node has this value. */
function withoutReached<T>(control: Control<T>, same: Same<T>): Control<T> {
  const { known, desired } = control;
  const isReached = isSettling(control) && desired !== undefined && same(known, desired);
  return isReached ? { ...control, desired: undefined } : control;
}
