// Decides what the page shows by its address: `?view=now` for a wall or a television, `?view=house` for all
// rooms, `?only=outputs,players` for some sections, as in a frame of another page. Pure.

export interface View {
  /** True for the current track alone, as large as possible. */
  readonly isWall: boolean;
  /** True for all rooms of the house. */
  readonly isHouse: boolean;
  /** The sections to show; undefined means all. */
  readonly only: ReadonlySet<SectionId> | undefined;
}

/** The sections by the names that `only` may have: the page's own names, and those of the HTTP interface. */
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

/** A tab of the page on a phone, which is a column on a desk. */
export type TabId = 'music' | 'sound' | 'node';

export type SectionId = (typeof SECTION_NAMES)[keyof typeof SECTION_NAMES];

/** `query` is that of an address. Unknown names are ignored; if no name is left, all is shown. */
export function viewOf(query: string): View {
  const parameters = new URLSearchParams(query);
  const names = (parameters.get('only') ?? '').split(',').map((name) => name.trim());
  const sections: ReadonlyMap<string, SectionId> = new Map(Object.entries(SECTION_NAMES));
  const only = new Set(names.flatMap((name) => sections.get(name) ?? []));
  const view = parameters.get('view');
  return { isWall: view === 'now', isHouse: view === 'house', only: only.size > 0 ? only : undefined };
}
