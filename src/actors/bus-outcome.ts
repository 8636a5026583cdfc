// How a D-Bus call ends: errors are values, and these are all of them. Types only.

export type BusError =
  /** The peer, or the bus for it, answered with an error. `name` is the D-Bus error name, `text` for people, may be empty. */
  | { readonly kind: 'dbus'; readonly name: string; readonly text: string }
  /** No answer within the call's deadline; what was asked may still happen. */
  | { readonly kind: 'timeout' }
  /** There is no connection, or it was lost before the answer; what was asked may have happened. */
  | { readonly kind: 'closed' }
  /** Refused here: nothing was sent, or the answer was not of the declared signature. */
  | { readonly kind: 'local'; readonly detail: string };

export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: BusError };
