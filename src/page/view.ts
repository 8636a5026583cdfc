// What of the page an address wants: `?view=now` for a wall or a television, `?only=outputs,players` for a card in another page. Pure.

export type SectionId = 'now' | 'outputs' | 'streams' | 'services' | 'upgrade' | 'system';

export interface View {
  /** What plays, as large as it can be. */
  readonly isWall: boolean;
  /** Undefined: all. */
  readonly only: ReadonlySet<SectionId> | undefined;
}

/** As people call them who know the interface. */
const NAMES: Readonly<Record<string, SectionId>> = {
  now: 'now',
  players: 'now',
  outputs: 'outputs',
  streams: 'streams',
  clients: 'streams',
  services: 'services',
  upgrade: 'upgrade',
  system: 'system',
  power: 'system',
};

/** `query` as in an address. What nothing is called is left out; where nothing is left, all is shown. */
export function viewOf(query: string): View {
  const asked = new URLSearchParams(query);
  const names = (asked.get('only') ?? '').split(',').map((name) => name.trim());
  const only = new Set(names.flatMap((name) => (Object.hasOwn(NAMES, name) ? (NAMES[name] ?? []) : [])));
  return { isWall: asked.get('view') === 'now', only: only.size > 0 ? only : undefined };
}
