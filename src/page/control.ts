// What one control of the page shows while its value travels to the node and back. Pure: inputs in, what to show and to send out.
// It never shows an echo of what the finger has left behind, has one request under way at a time, and sends the last value always.

/** In a box, since `undefined` may be a value. */
interface Boxed<T> {
  readonly value: T;
}

export interface Control<T> {
  /** As the node told it last. */
  readonly told: T;
  /** What a hand has set, until the node tells the same, refuses it, or says nothing more of it. */
  readonly wanted: Boxed<T> | undefined;
  /** The request that is under way. */
  readonly sent: Boxed<T> | undefined;
  /** A finger is on it. */
  readonly held: boolean;
  /** Counts what was set, so that a wait for the end of one setting does not end a later one. */
  readonly turn: number;
}

export type ControlInput<T> =
  | { readonly kind: 'told'; readonly value: T }
  | { readonly kind: 'hold' | 'release' | 'accepted' | 'refused' }
  | { readonly kind: 'set'; readonly value: T }
  /** `SETTLE_MS` after it was asked for. */
  | { readonly kind: 'settled'; readonly turn: number };

export interface ControlAdvance<T> {
  readonly control: Control<T>;
  /** A request to begin now. */
  readonly send?: Boxed<T>;
  /** Come back with `settled` and this turn. */
  readonly settle?: number;
}

/**
 * How long an accepted value is shown although the node tells another: its own event may come behind the answer (10 ms on a quiet
 * node), and what somebody else sets meanwhile is the truth after it.
 */
export const SETTLE_MS = 800;

export function controlOf<T>(told: T): Control<T> {
  return { told, wanted: undefined, sent: undefined, held: false, turn: 0 };
}

export function shownBy<T>({ wanted, told }: Control<T>): T {
  return wanted === undefined ? told : wanted.value;
}

/** `same`: whether two values look alike; the node rounds. */
export function advance<T>(
  control: Control<T>,
  input: ControlInput<T>,
  same: (a: T, b: T) => boolean,
): ControlAdvance<T> {
  const { wanted, sent, held, turn } = control;
  switch (input.kind) {
    case 'told':
      return { control: rested({ ...control, told: input.value }, same) };
    case 'hold':
      return { control: { ...control, held: true, wanted: wanted ?? { value: control.told } } };
    case 'set': {
      const next = { ...control, wanted: { value: input.value }, turn: turn + 1 };
      return sent === undefined ? sending(next, input.value) : { control: next };
    }
    case 'release':
      return resting({ ...control, held: false }, same);
    case 'accepted':
    case 'refused': {
      const next = { ...control, sent: undefined };
      if (wanted !== undefined && sent !== undefined && !same(wanted.value, sent.value))
        return sending(next, wanted.value);
      return input.kind === 'refused' ? { control: { ...next, wanted: undefined } } : resting(next, same);
    }
    case 'settled':
      if (input.turn !== turn || sent !== undefined || held) return { control };
      return { control: { ...control, wanted: undefined } };
  }
}

function sending<T>(control: Control<T>, value: T): ControlAdvance<T> {
  return { control: { ...control, sent: { value } }, send: { value } };
}

/** What was wanted is forgotten once it is the truth and nobody is at it. */
function rested<T>(control: Control<T>, same: (a: T, b: T) => boolean): Control<T> {
  const { told, wanted, sent, held } = control;
  const isTrue = wanted !== undefined && same(told, wanted.value);
  return isTrue && sent === undefined && !held ? { ...control, wanted: undefined } : control;
}

function resting<T>(control: Control<T>, same: (a: T, b: T) => boolean): ControlAdvance<T> {
  const next = rested(control, same);
  const isWaiting = next.wanted !== undefined && next.sent === undefined && !next.held;
  return isWaiting ? { control: next, settle: next.turn } : { control: next };
}
