// The whole page: the node's name and its connection, and a section for each thing that it has.

import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { BackendInfo, Live, NodeState } from '../client/client.js';
import type { Farewell } from './absence.js';
import { Header } from './connection.js';
import { say } from './language.js';
import { type Levels, Metering } from './meter.js';
import { Notices, Reporting, useNotices } from './notices.js';
import { Outputs } from './outputs.js';
import { Away, Pacing, Section, useGrowing } from './parts.js';
import { Players } from './players.js';
import { useReasons } from './reasons.js';
import { Services } from './services.js';
import { Sounding } from './sounding.js';
import { Streams, Unfolding } from './streams.js';
import { System } from './system.js';
import type { Turns } from './turns.js';
import { UpgradeCard, useSteps } from './upgrade.js';

interface AppProps {
  readonly live: Live;
  readonly state: NodeState;
  /** It answers, whatever the stream says. */
  readonly isBeating: boolean;
  readonly farewell: Farewell | undefined;
  /** The node serves a newer page. */
  readonly isOld: boolean;
  readonly levels: Levels;
  readonly turns: Turns;
}

/** A network that falters for less takes nothing out of a hand. */
const HICCUP_MS = 1500;

/** Whether it has been so for `ms`. */
function useLasting(is: boolean, ms: number): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLasts(is), is ? ms : 0);
    return () => clearTimeout(timer);
  }, [is, ms]);
  return is && lasts;
}

export function App({ live, state, isBeating, farewell, isOld, levels, turns }: AppProps) {
  const { notices, reporter, dismiss } = useNotices();
  const unfolding = useState(false);
  const { connection, server, upgrade } = state;
  const node = server?.hostname ?? location.hostname;
  const status = connection.status === 'live' && !isBeating ? 'lost' : connection.status;
  const isGone = useLasting(status === 'lost', connection.status === 'lost' ? 0 : HICCUP_MS);
  useEffect(() => {
    document.title = node;
  }, [node]);
  return (
    <Reporting.Provider value={reporter}>
      <Metering.Provider value={levels}>
        <a class="skip" href="#now">
          {say('skip')}
        </a>
        <Header
          {...{ node, status, upgrade, farewell, isOld }}
          since={connection.since}
          retry={() => live.reconnect()}
        />
        <main>
          {/* What cannot be sent cannot be set. */}
          <fieldset disabled={isGone}>
            <Pacing.Provider value={turns}>
              <Unfolding.Provider value={unfolding}>
                {status === 'connecting' ? null : <Sections live={live} state={state} />}
              </Unfolding.Provider>
            </Pacing.Provider>
          </fieldset>
        </main>
        <Notices notices={notices} dismiss={dismiss} />
      </Metering.Provider>
    </Reporting.Provider>
  );
}

/** In the order in which they stand on a phone, and in which they are drawn: a section is there when its backend is enabled. */
const SECTIONS: readonly {
  readonly id: 'now' | 'outputs' | 'streams' | 'services' | 'upgrade' | 'system';
  readonly column: number;
  readonly backend?: string;
  readonly draw: (live: Live, state: NodeState, now: () => number) => ComponentChildren;
}[] = [
  { id: 'now', column: 0, draw: drawNow },
  {
    id: 'outputs',
    column: 0,
    backend: 'audio',
    draw: ({ node }, { outputs }) => <Outputs node={node} outputs={[...outputs.values()]} />,
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
    id: 'services',
    column: 2,
    backend: 'systemd',
    draw: ({ node }, { units }) => <Services node={node} services={[...units.values()]} />,
  },
  {
    id: 'upgrade',
    column: 2,
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

/** The players; without any, what sounds. */
function drawNow(live: Live, state: NodeState, now: () => number): ComponentChildren {
  const players = [...state.players.values()];
  const [streams, outputs] = [[...state.clients.values()], [...state.outputs.values()]];
  const away = awayIn(state, 'players');
  return (
    <>
      {players.length > 0 ? (
        <Players node={live.node} players={players} streams={streams} now={now} />
      ) : (
        <Sounding streams={streams} outputs={outputs} />
      )}
      {away === undefined ? null : <Away what={say('backend_players')} {...away} />}
    </>
  );
}

function awayIn({ backends }: NodeState, name: string): BackendInfo | undefined {
  const backend = [...backends].find(([each]) => each === name)?.[1];
  return backend?.state === 'up' ? undefined : backend;
}

function isShown(state: NodeState, { id, backend }: (typeof SECTIONS)[number]): boolean {
  const names: readonly string[] = [...state.backends.keys()];
  const isSilent = !names.includes('audio') || awayIn(state, 'audio') !== undefined;
  // Where the sound server is away its outputs say so, and nobody knows what would sound.
  if (id === 'now') return !isSilent || names.includes('players');
  if (id === 'streams') return !isSilent;
  return backend === undefined || names.includes(backend);
}

function Sections({ live, state: told }: { readonly live: Live; readonly state: NodeState }) {
  const upgrade = useSteps(told.upgrade);
  const state = { ...told, upgrade, backends: useReasons(live.node, told.backends) };
  const now = useCallback(() => live.nodeTime(), [live]);
  const shown = SECTIONS.filter((section) => isShown(state, section));
  const drawn = shown.slice(0, useGrowing({ wanted: SECTIONS.length, step: 1 }));
  const names: readonly string[] = [...state.backends.keys()];
  /** Also while its backend is away: nothing else moves into its place. */
  const isKept = (column: number): boolean =>
    SECTIONS.some((each) => each.column === column && names.includes(each.backend ?? ''));
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
                title={say(id)}
                away={backend === undefined ? undefined : awayIn(state, backend)}
              >
                {draw(live, state, now)}
              </Section>
            ))}
        </div>
      ))}
    </>
  );
}
