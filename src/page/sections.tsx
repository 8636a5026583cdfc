// The sections of the page, in columns.

import type { ComponentChildren } from 'preact';
import { useCallback } from 'preact/hooks';
import type { BackendInfo, Live, NodeState } from '../client/client.js';
import { Bluetooth } from './bluetooth.js';
import { translate } from './language.js';
import { CurrentStreams } from './main-volume.js';
import { hasNoSoundCard } from './output-choice.js';
import { Outputs } from './outputs.js';
import { Away, Section, useGrowing } from './parts.js';
import { Players } from './players.js';
import { useReasons } from './reasons.js';
import { Services } from './services.js';
import { Streams } from './streams.js';
import { System } from './system.js';
import { UpgradeCard, useSteps } from './upgrade.js';
import type { SectionId, View } from './view.js';

/** In the order of a phone's page, which is also the order of drawing. A section exists if its backend is enabled. Long sections are
 * placed beside long ones.
 */
const SECTIONS: readonly {
  readonly id: SectionId;
  readonly column: number;
  readonly backend?: string;
  readonly draw: (live: Live, state: NodeState, now: () => number) => ComponentChildren;
}[] = [
  { id: 'now', column: 0, draw: drawNow },
  {
    id: 'outputs',
    column: 0,
    backend: 'audio',
    draw: ({ node }, state) => <Outputs node={node} state={state} />,
  },
  {
    id: 'streams',
    column: 1,
    backend: 'audio',
    draw: ({ node }, { clients, outputs }) => (
      <Streams node={node} streams={clients} outputs={[...outputs.values()]} />
    ),
  },
  {
    id: 'bluetooth',
    column: 1,
    backend: 'bluetooth',
    draw: ({ node }, { bluetooth, discovered }, now) =>
      bluetooth && <Bluetooth {...{ node, bluetooth, discovered, now }} />,
  },
  {
    id: 'services',
    column: 2,
    backend: 'systemd',
    draw: ({ node }, { units }) => <Services node={node} services={[...units.values()]} />,
  },
  {
    id: 'upgrade',
    column: 1,
    backend: 'upgrade',
    draw: ({ node }, { upgrade }) => upgrade && <UpgradeCard node={node} upgrade={upgrade} />,
  },
  {
    id: 'system',
    column: 2,
    draw: ({ node }, { server, backends, power }) => (
      <System node={node} server={server} backends={backends} power={power} />
    ),
  },
];

/** The players; without any, the streams that play. */
function drawNow(live: Live, state: NodeState, now: () => number): ComponentChildren {
  const players = [...state.players.values()];
  const [streams, outputs] = [[...state.clients.values()], [...state.outputs.values()]];
  const away = awayIn(state, 'players');
  return (
    <>
      {players.length > 0 ? (
        <Players {...{ node: live.node, players, streams, outputs, now }} tracklists={state.tracklists} />
      ) : (
        <CurrentStreams node={live.node} streams={streams} outputs={outputs} />
      )}
      {away === undefined ? null : <Away what={translate('backend_players')} {...away} />}
    </>
  );
}

export function awayIn({ backends }: NodeState, name: string): BackendInfo | undefined {
  const backend = [...backends].find(([each]) => each === name)?.[1];
  return backend?.state === 'up' ? undefined : backend;
}

/** With the part's name where the section is called otherwise. */
function awayOf(state: NodeState, id: SectionId, backend: string) {
  const away = awayIn(state, backend);
  return away && id === 'outputs' ? { ...away, what: translate('backend_audio') } : away;
}

function isShown(state: NodeState, { id, backend }: (typeof SECTIONS)[number]): boolean {
  const names: readonly string[] = [...state.backends.keys()];
  const isSilent = !names.includes('audio') || awayIn(state, 'audio') !== undefined;
  // If the sound server is away, the outputs show that, and it is unknown what plays.
  if (id === 'now') return !isSilent || names.includes('players');
  if (id === 'streams') return !isSilent;
  return backend === undefined || names.includes(backend);
}

interface SectionsProps {
  readonly live: Live;
  readonly state: NodeState;
  readonly view: View;
}

export function Sections({ live, state: known, view: { only } }: SectionsProps) {
  const upgrade = useSteps(known.upgrade);
  const state = { ...known, upgrade, backends: useReasons(live.node, known.backends, hasNoSoundCard(known)) };
  const now = useCallback(() => live.nodeTime(), [live]);
  const shown = SECTIONS.filter((section) => (only?.has(section.id) ?? true) && isShown(state, section));
  const drawn = shown.slice(0, useGrowing({ wanted: SECTIONS.length, step: 1 }));
  const names: readonly string[] = [...state.backends.keys()];
  /** A column keeps its place while its backend is away, so that nothing else moves there. */
  const isKept = (column: number): boolean =>
    SECTIONS.some(
      (each) => each.column === column && only === undefined && names.includes(each.backend ?? ''),
    );
  return (
    <>
      {[0, 1, 2].map((column) => (
        <div key={column} class={`column ${isKept(column) ? 'kept' : ''}`}>
          {drawn
            .filter((section) => section.column === column)
            .map(({ id, backend, draw }) => (
              <Section
                key={id}
                id={id}
                place={SECTIONS.findIndex((each) => each.id === id)}
                title={translate(id)}
                away={backend === undefined ? undefined : awayOf(state, id, backend)}
              >
                {draw(live, state, now)}
              </Section>
            ))}
        </div>
      ))}
    </>
  );
}
