// Decides by the page's address what the page shows. Pure.

export interface View {
  /** `?view=now`: what plays, as large as possible, for a wall or a television. */
  readonly isWall: boolean;
  /** `?view=house`: all rooms of the house. */
  readonly isHouse: boolean;
  /** `?only=outputs,players`: only these sections, for a frame in another page. Undefined: all sections. */
  readonly only: ReadonlySet<SectionId> | undefined;
}

/** The section for each name in `only`. Some sections have a second name, which the HTTP interface uses. */
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
  const knownSections = names.map((name) => sections.get(name)).filter((section) => section !== undefined);
  const only = new Set(knownSections);
  const view = parameters.get('view');
  return { isWall: view === 'now', isHouse: view === 'house', only: only.size > 0 ? only : undefined };
}
