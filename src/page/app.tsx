// The whole page: the node's name and its connection, and a section for each thing that it has.

import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { BackendInfo, Live, NodeState } from '../client/client.js';
import { Reporting } from './controls.js';
import { say } from './language.js';
import { type Levels, Metering } from './meter.js';
import { Notices, useNotices } from './notices.js';
import { Outputs } from './outputs.js';
import { Away, Pacing, Section, useGrowing } from './parts.js';
import { Players } from './players.js';
import { useReasons } from './reasons.js';
import { Services } from './services.js';
import { Sounding } from './sounding.js';
import { Streams, Unfolding } from './streams.js';
import { System } from './system.js';
import type { Turns } from './turns.js';
import { UpgradeCard } from './upgrade.js';

/** As `power.action` names it. */
export type Leaving = 'reboot' | 'poweroff';

interface AppProps {
  readonly live: Live;
  readonly state: NodeState;
  /** It answers, whatever the stream says. */
  readonly isBeating: boolean;
  /** Why it will be lost, or is. */
  readonly leaving: Leaving | undefined;
  readonly levels: Levels;
  readonly turns: Turns;
}

export function App({ live, state, isBeating, leaving, levels, turns }: AppProps) {
  const { notices, report, dismiss } = useNotices();
  const unfolding = useState(false);
  const { connection, server } = state;
  const node = server?.hostname ?? location.hostname;
  const status = connection.status === 'live' && !isBeating ? 'lost' : connection.status;
  useEffect(() => {
    document.title = node;
  }, [node]);
  return (
    <Reporting.Provider value={report}>
      <Metering.Provider value={levels}>
        <a class="skip" href="#now">
          {say('skip')}
        </a>
        <Header node={node} status={status} leaving={leaving} />
        <main class={status === 'lost' ? 'stale' : ''}>
          <Pacing.Provider value={turns}>
            <Unfolding.Provider value={unfolding}>
              {status === 'connecting' ? null : <Sections live={live} state={state} />}
            </Unfolding.Provider>
          </Pacing.Provider>
        </main>
        <Notices notices={notices} dismiss={dismiss} />
      </Metering.Provider>
    </Reporting.Provider>
  );
}

const STATUS = {
  connecting: ['connecting', 'busy'],
  live: ['live', 'good'],
  lost: ['lost', 'bad'],
  closed: ['lost', 'bad'],
} as const;

const LOST = { reboot: 'rebooting', poweroff: 'poweringOff' } as const;

interface HeaderProps extends Pick<AppProps, 'leaving'> {
  readonly node: string;
  readonly status: NodeState['connection']['status'];
}

function Header({ node, status, leaving }: HeaderProps) {
  const [text, tone] = STATUS[status];
  const lost = leaving === undefined ? 'lostLong' : LOST[leaving];
  return (
    <header>
      <div class="bar">
        <h1 class="clip">
          <bdi>{node}</bdi>
        </h1>
        <p class={`state ${tone}`} role="status">
          <span class="dot" aria-hidden="true" />
          {say(text)}
        </p>
      </div>
      {status === 'lost' ? <p class="banner wrap">{say(lost, { node: `\u2068${node}\u2069` })}</p> : null}
    </header>
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
  const state = { ...told, backends: useReasons(live.node, told.backends) };
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
