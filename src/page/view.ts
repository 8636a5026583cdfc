// The parts of the page that an address shows: `?view=now` for a wall or a television, `?view=house` for all
// rooms, `?only=outputs,players` inside another page. Pure.

export interface View {
  /** The current track, as large as possible. */
  readonly isWall: boolean;
  /** All rooms of the house. */
  readonly isHouse: boolean;
  /** Ids of sections; undefined means all. */
  readonly only: ReadonlySet<SectionId> | undefined;
}

/** By the names of the HTTP interface too. */
const NAMES = {
  now: 'now',
  players: 'now',
  outputs: 'outputs',
  inputs: 'inputs',
  streams: 'streams',
  clients: 'streams',
  bluetooth: 'bluetooth',
  services: 'services',
  upgrade: 'upgrade',
  system: 'system',
  power: 'system',
} as const;

/** The parts of a phone's page, each behind a tab; the columns of a desk's. */
export type TabId = 'music' | 'sound' | 'node';

export type SectionId = (typeof NAMES)[keyof typeof NAMES];

/** `query` is that of an address. Unknown names are ignored; if no name is left, all is shown. */
export function viewOf(query: string): View {
  const parameters = new URLSearchParams(query);
  const names = (parameters.get('only') ?? '').split(',').map((name) => name.trim());
  const only = new Set(
    names.flatMap((name) => Object.entries(NAMES).find(([each]) => each === name)?.[1] ?? []),
  );
  const view = parameters.get('view');
  return { isWall: view === 'now', isHouse: view === 'house', only: only.size > 0 ? only : undefined };
}
