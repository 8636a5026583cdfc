// The one shape of what can fail: a value, or the error in its place. Pure.

/** `E` is a text for people, or a closed union with its facts. Decide by `ok`. */
export type Result<T, E> = Success<T> | Failure<E>;

export interface Success<T> {
  readonly ok: true;
  readonly value: T;
}

export interface Failure<E> {
  readonly ok: false;
  readonly error: E;
}

export function success<T>(value: T): Success<T> {
  return { ok: true, value };
}

export function failed<E>(error: E): Failure<E> {
  return { ok: false, error };
}
