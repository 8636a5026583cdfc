// The closed sets of backends and bridges, their states, and their names in the configuration and for
// clients. Data only.

/**
 * In start order. The names are also the values of the query `backend=` and of the event `backend.updated`.
 */
export const BACKENDS = ['audio', 'systemd', 'power', 'upgrade', 'players', 'bluetooth'] as const;

export type Backend = (typeof BACKENDS)[number];

/**
 * In start order, after the backends. They receive records of others, and ask for operations like clients.
 */
export const BRIDGES = ['discovery', 'mqtt'] as const;

export type Bridge = (typeof BRIDGES)[number];

/**
 * Children that receive records of others: the bridges, and bluetooth, whose devices are outputs of audio.
 */
export const SUBSCRIBERS = ['bluetooth', ...BRIDGES] as const;

export type Subscriber = (typeof SUBSCRIBERS)[number];

/** Everything that runs in a thread of its own. Clients see a bridge's state like a backend's. */
export type ChildName = Backend | Bridge;

/** In start order. */
export const CHILD_NAMES: readonly [...typeof BACKENDS, ...typeof BRIDGES] = [...BACKENDS, ...BRIDGES];

/**
 * A child's names outside the daemon. They may differ from ours, because older interfaces have other names.
 */
interface OuterNames {
  /** Its section of the configuration. */
  readonly section: string;
  /** A second name of the section, for configurations that were written for another program. */
  readonly sectionAlias?: string;
  /** A second name of the child in the query `backend=`. */
  readonly queryAlias?: string;
}

/** The children whose names differ somewhere. */
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
 * A row of `/health`. `since` is milliseconds since the epoch; `restarts` counts the deaths of the thread.
 */
export interface BackendHealth {
  readonly state: BackendState;
  readonly since: number;
  readonly restarts: number;
  readonly detail?: string;
}
