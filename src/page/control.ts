// The state of one control while its value travels to the node and back. Pure: inputs in, the shown value and requests out.
// It never shows an outdated value of the node, has one request open at a time, and always sends the last value.

/** An object around a value, as `undefined` may be a value. */
interface Boxed<T> {
  readonly value: T;
}

export interface Control<T> {
  /** The node's latest value. */
  readonly known: T;
  /** The value that the user has set, until the node has it, refuses it, or has not sent it in time. */
  readonly wanted: Boxed<T> | undefined;
  readonly sent: Boxed<T> | undefined;
  readonly held: boolean;
  /** Counts the settings, so that a timer of one setting does not end a later one. */
  readonly turn: number;
}

export type ControlInput<T> =
  | { readonly kind: 'known'; readonly value: T }
  | { readonly kind: 'hold' | 'release' | 'accepted' | 'refused' }
  | { readonly kind: 'set'; readonly value: T }
  /** Sent `SETTLE_MS` after `settle` was returned. */
  | { readonly kind: 'settled'; readonly turn: number };

export interface ControlAdvance<T> {
  readonly control: Control<T>;
  /** A request to send now. */
  readonly send?: Boxed<T>;
  /** Start a timer for `settled` with this turn. */
  readonly settle?: number;
}

/**
 * The time that an accepted value is shown although the node's value differs: the node's event may come after the response (10 ms on a
 * quiet node). After that time the node's value is shown, as somebody else may have changed it.
 */
export const SETTLE_MS = 800;

export function controlOf<T>(known: T): Control<T> {
  return { known, wanted: undefined, sent: undefined, held: false, turn: 0 };
}

export function shownValue<T>({ wanted, known }: Control<T>): T {
  return wanted === undefined ? known : wanted.value;
}

/** `same` is true for two values that look alike, because the node rounds. */
export function advance<T>(
  control: Control<T>,
  input: ControlInput<T>,
  same: (a: T, b: T) => boolean,
): ControlAdvance<T> {
  const { wanted, sent, held, turn } = control;
  switch (input.kind) {
    case 'known':
      return { control: dropReachedValue({ ...control, known: input.value }, same) };
    case 'hold':
      return { control: { ...control, held: true, wanted: wanted ?? { value: control.known } } };
    case 'set': {
      const next = { ...control, wanted: { value: input.value }, turn: turn + 1 };
      return sent === undefined ? sendValue(next, input.value) : { control: next };
    }
    case 'release':
      return settleOrRest({ ...control, held: false }, same);
    case 'accepted':
    case 'refused': {
      const next = { ...control, sent: undefined };
      if (wanted !== undefined && sent !== undefined && !same(wanted.value, sent.value))
        return sendValue(next, wanted.value);
      return input.kind === 'refused'
        ? { control: { ...next, wanted: undefined } }
        : settleOrRest(next, same);
    }
    case 'settled':
      if (input.turn !== turn || sent !== undefined || held) return { control };
      return { control: { ...control, wanted: undefined } };
  }
}

function sendValue<T>(control: Control<T>, value: T): ControlAdvance<T> {
  return { control: { ...control, sent: { value } }, send: { value } };
}

/** Drops the wanted value when the node has it, no request is open and the user has let go. */
function dropReachedValue<T>(control: Control<T>, same: (a: T, b: T) => boolean): Control<T> {
  const { known, wanted, sent, held } = control;
  const isTrue = wanted !== undefined && same(known, wanted.value);
  return isTrue && sent === undefined && !held ? { ...control, wanted: undefined } : control;
}

function settleOrRest<T>(control: Control<T>, same: (a: T, b: T) => boolean): ControlAdvance<T> {
  const next = dropReachedValue(control, same);
  const isWaiting = next.wanted !== undefined && next.sent === undefined && !next.held;
  return isWaiting ? { control: next, settle: next.turn } : { control: next };
}
