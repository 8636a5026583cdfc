// Lists the backends and bridges, with their names in the configuration and for clients. Pure.

/** The backends, in start order. */
export const BACKENDS = ['audio', 'systemd', 'power', 'upgrade', 'players', 'bluetooth'] as const;

export type Backend = (typeof BACKENDS)[number];

/** The bridges start after the backends, in this order. They receive records, and may ask for operations. */
export const BRIDGES = ['discovery', 'mqtt'] as const;

export type Bridge = (typeof BRIDGES)[number];

/**
 * The children that receive records of other children or of the gateway. Bluetooth receives the outputs,
 * because some of its devices are outputs.
 */
export const SUBSCRIBERS = ['bluetooth', ...BRIDGES] as const;

export type Subscriber = (typeof SUBSCRIBERS)[number];

/** A backend or a bridge. Each has a thread of its own, and a state that clients can read. */
export type ChildName = Backend | Bridge;

/** All children, in start order. The query `backend=` and the event `backend.updated` use these names. */
export const CHILD_NAMES: readonly [...typeof BACKENDS, ...typeof BRIDGES] = [...BACKENDS, ...BRIDGES];

/** A child's names outside the daemon. Some of them are older than the `ChildName`, and differ from it. */
interface OuterNames {
  /** The name of the child's section in the configuration. */
  readonly section: string;
  /** A second name of the section, for configurations that were written for another program. */
  readonly sectionAlias?: string;
  /** A second name of the child in the query `backend=`. */
  readonly queryAlias?: string;
}

/** Only the names that differ from the `ChildName`. */
const OUTER_NAMES: Readonly<Partial<Record<ChildName, Partial<OuterNames>>>> = {
  audio: { section: 'pulseaudio', sectionAlias: 'sound_server' },
  systemd: { sectionAlias: 'service_manager' },
  players: { sectionAlias: 'mpris', queryAlias: 'mpris' },
  discovery: { sectionAlias: 'zeroconf' },
};

export function outerNames(child: ChildName): OuterNames {
  return { section: child, ...OUTER_NAMES[child] };
}

/** The states of a child in `/health` (docs/http-api.md, "Backend health"). */
export const BACKEND_STATES = ['connecting', 'up', 'restarting', 'failed'] as const;

export type BackendState = (typeof BACKEND_STATES)[number];

/** The facts from which a row of `/health` is made. */
export interface BackendHealth {
  readonly state: BackendState;
  /** When the state began, in milliseconds since the epoch. */
  readonly since: number;
  /** How often the child's thread has died. */
  readonly restarts: number;
  /** The reason for the state, or a problem of a child that is up. */
  readonly detail?: string;
}

/**
 * The reason for the state `connecting` until the child's first report. On a slow board, this report comes
 * many seconds after the start.
 */
const NOT_REPORTED = 'it is starting, and has not reported yet';

/**
 * Returns the text for a child's state in a refusal: `STATE: REASON`, or `STATE` if there is no reason.
 * `connecting` without a reason gets `NOT_REPORTED`.
 */
export function stateWithReason(state: string, reason: string | undefined): string {
  if (reason !== undefined) return `${state}: ${reason}`;
  return state === 'connecting' ? `connecting: ${NOT_REPORTED}` : state;
}

/** The health that clients get. A child that is connecting without a reason has not reported yet. */
export function healthWithReason(health: BackendHealth): BackendHealth {
  const hasNotReported = health.state === 'connecting' && health.detail === undefined;
  return hasNotReported ? { ...health, detail: NOT_REPORTED } : health;
}
