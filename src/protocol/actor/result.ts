// The one shape of a result that may be a failure: a value, or the error in its place. Pure.

/** `E` is a text for people, or a closed union of errors. Test `ok` before reading `value` or `error`. */
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
