// The closed set of backends, and what each is called towards clients. Names only: nothing here acts.

/** Backends in start order; also the values of the `backend=` query and of `backend.updated`. */
export const BACKENDS = ['audio', 'systemd', 'power', 'upgrade'] as const;

export type Backend = (typeof BACKENDS)[number];

/** A backend's life as `/health` reports it (contract, section 7). */
export const BACKEND_STATES = ['connecting', 'up', 'restarting', 'failed'] as const;

export type BackendState = (typeof BACKEND_STATES)[number];

/** One backend's row in `/health`. `since` is milliseconds since the epoch; `restarts` counts deaths of its thread. */
export interface BackendHealth {
  readonly state: BackendState;
  readonly since: number;
  readonly restarts: number;
  readonly detail?: string;
}
