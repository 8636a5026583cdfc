// The whole page: the node's name and its connection, and a section for each thing that it has.

import { useCallback, useEffect } from 'preact/hooks';
import type { BackendInfo, Live, NodeState } from '../client/client.js';
import { Reporting } from './controls.js';
import { say } from './language.js';
import { type Levels, Metering } from './meter.js';
import { Notices, useNotices } from './notices.js';
import { Outputs } from './outputs.js';
import { Away, Section } from './parts.js';
import { Players, Sounding } from './players.js';
import { Services } from './services.js';
import { Streams } from './streams.js';
import { System } from './system.js';
import { UpgradeCard } from './upgrade.js';

interface AppProps {
  readonly live: Live;
  readonly state: NodeState;
  /** It answers, whatever the stream says. */
  readonly isBeating: boolean;
  readonly levels: Levels;
}

export function App({ live, state, isBeating, levels }: AppProps) {
  const { notices, report, dismiss } = useNotices();
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
        <Header node={node} status={status} />
        <main class={status === 'lost' ? 'stale' : ''}>
          <Sections live={live} state={state} />
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

function Header({
  node,
  status,
}: {
  readonly node: string;
  readonly status: NodeState['connection']['status'];
}) {
  const [text, tone] = STATUS[status];
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
      {status === 'lost' ? (
        <p class="banner wrap">{say('lostLong', { node: `\u2068${node}\u2069` })}</p>
      ) : null}
    </header>
  );
}

/** A section is there when the configuration enables what it shows. */
function Sections({ live, state }: { readonly live: Live; readonly state: NodeState }) {
  const { upgrade } = state;
  const backends: ReadonlyMap<string, BackendInfo> = state.backends;
  const away = (name: string): BackendInfo | undefined => {
    const backend = backends.get(name);
    return backend === undefined || backend.state === 'up' ? undefined : backend;
  };
  const [outputs, streams] = [[...state.outputs.values()], [...state.clients.values()]];
  const players = [...state.players.values()];
  const hasSound = backends.has('audio');
  const sounds = hasSound && away('audio') === undefined;
  const awayPlayers = away('players');
  const now = useCallback(() => live.nodeTime(), [live]);
  return (
    <>
      <div class="column">
        {sounds || players.length > 0 || awayPlayers !== undefined ? (
          <Section title={say('now')} id="now">
            {players.length > 0 ? (
              <Players node={live.node} players={players} streams={streams} now={now} />
            ) : null}
            {players.length === 0 && sounds ? <Sounding streams={streams} outputs={outputs} /> : null}
            {awayPlayers === undefined ? null : <Away {...awayPlayers} />}
          </Section>
        ) : null}
        {hasSound ? (
          <Section title={say('outputs')} id="outputs" away={away('audio')}>
            <Outputs node={live.node} outputs={outputs} />
          </Section>
        ) : null}
      </div>
      <div class="column">
        {sounds ? (
          <Section title={say('streams')} id="streams">
            <Streams node={live.node} streams={streams} outputs={outputs} />
          </Section>
        ) : null}
      </div>
      <div class="column">
        {backends.has('systemd') ? (
          <Section title={say('services')} id="services" away={away('systemd')}>
            <Services node={live.node} services={[...state.units.values()]} />
          </Section>
        ) : null}
        {backends.has('upgrade') ? (
          <Section title={say('upgrade')} id="upgrade" away={away('upgrade')}>
            {upgrade === undefined ? null : <UpgradeCard node={live.node} upgrade={upgrade} now={now} />}
          </Section>
        ) : null}
        <Section title={say('system')} id="system">
          <System node={live.node} state={state} />
        </Section>
      </div>
    </>
  );
}
