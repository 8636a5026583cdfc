// Decides by the page's address what the page shows. Pure.

export interface View {
  /** `?view=now`, for a wall or a television: the current track alone, as large as possible. */
  readonly isWall: boolean;
  /** `?view=house`: all rooms of the house. */
  readonly isHouse: boolean;
  /** `?only=outputs,players`: only these sections, for a frame of another page. Undefined means all. */
  readonly only: ReadonlySet<SectionId> | undefined;
}

/** The sections by the names that `only` may have. Some names are the page's, some the HTTP interface's. */
const SECTION_NAMES = {
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

/** A phone shows one tab at a time. A wide screen shows all tabs, as columns. */
export type TabId = 'music' | 'sound' | 'node';

export type SectionId = (typeof SECTION_NAMES)[keyof typeof SECTION_NAMES];

/**
 * `query` is the part of the address from `?` on. Unknown names in `only` are ignored. If none of the names
 * is known, the page has all sections.
 */
export function viewOf(query: string): View {
  const parameters = new URLSearchParams(query);
  const names = (parameters.get('only') ?? '').split(',').map((name) => name.trim());
  const sections: ReadonlyMap<string, SectionId> = new Map(Object.entries(SECTION_NAMES));
  const known = names.map((name) => sections.get(name)).filter((section) => section !== undefined);
  const only = new Set(known);
  const view = parameters.get('view');
  return { isWall: view === 'now', isHouse: view === 'house', only: only.size > 0 ? only : undefined };
}
