// The closed sets of backends and bridges, with their names for clients. Names only: nothing here acts.

/** Backends in start order; also the values of the `backend=` query and of `backend.updated`. */
export const BACKENDS = ['audio', 'systemd', 'power', 'upgrade', 'players', 'bluetooth'] as const;

export type Backend = (typeof BACKENDS)[number];

/**
 * Bridges, started after the backends in this order. They receive the records of all others, and ask as
 * clients do.
 */
export const BRIDGES = ['discovery', 'mqtt'] as const;

export type Bridge = (typeof BRIDGES)[number];

/**
 * Children that receive records of others: the bridges, and the backend whose devices are outputs of another
 * one.
 */
export const SUBSCRIBERS = ['bluetooth', ...BRIDGES] as const;

export type Subscriber = (typeof SUBSCRIBERS)[number];

/** Everything that runs in a thread of its own. Clients see a bridge's state like a backend's. */
export type ChildName = Backend | Bridge;

/** In start order. */
export const CHILD_NAMES: readonly [...typeof BACKENDS, ...typeof BRIDGES] = [...BACKENDS, ...BRIDGES];

/** A child's names outside the daemon. Older interfaces use others than ours. */
interface OuterNames {
  /** Its section of the configuration. */
  readonly section: string;
  /** Another spelling of the section, for configurations of others. */
  readonly sectionAlias?: string;
  /** Another name of it in the query `backend=`. */
  readonly queryAlias?: string;
}

/** The children that have another name anywhere. */
const OUTER_NAMES: Readonly<Partial<Record<ChildName, Partial<OuterNames>>>> = {
  audio: { section: 'pulseaudio', sectionAlias: 'sound_server' },
  systemd: { sectionAlias: 'service_manager' },
  players: { sectionAlias: 'mpris', queryAlias: 'mpris' },
  discovery: { sectionAlias: 'zeroconf' },
};

export function outerNames(child: ChildName): OuterNames {
  return { section: child, ...OUTER_NAMES[child] };
}

/** A child's state as `/health` reports it (docs/http-api.md, "Backend health"). */
export const BACKEND_STATES = ['connecting', 'up', 'restarting', 'failed'] as const;

export type BackendState = (typeof BACKEND_STATES)[number];

/**
 * One child's row in `/health`. `since` is milliseconds since the epoch; `restarts` counts deaths of its
 * thread.
 */
export interface BackendHealth {
  readonly state: BackendState;
  readonly since: number;
  readonly restarts: number;
  readonly detail?: string;
}
