// The whole page: header, the parts that the address selects or the view for a wall, the volume at the foot,
// notices. And what the browser shows outside the page.

import { useEffect, useMemo, useState } from 'preact/hooks';
import type { OutputRecord, PlayerRecord } from '../client/client.js';
import { Header } from './header.js';
import { HouseView } from './house-view.js';
import { translate } from './language.js';
import { Foot, mainOutput, OutputVolume, useCurrentPlayer, withoutHidden } from './main-volume.js';
import { MayChange, mayChange } from './may-change.js';
import { Connected, ownNode } from './node.js';
import { Notices, Reporting, useNotices } from './notices.js';
import { ForeignLine, useLater } from './parts.js';
import { Presence } from './presence.js';
import { Hands } from './pulse.js';
import { awayIn, Sections } from './sections.js';
import { Cover, isPlaying, makerOf, PositionBar, TransportButtons, titleOf } from './transport.js';
import { viewOf } from './view.js';

/** Shorter interruptions do not disable the controls. */
const HICCUP_MS = 1500;

function useLasting(is: boolean, ms: number): boolean {
  const [lasts, setLasts] = useState(false);
  useLater(is ? ms : 0, () => setLasts(is), [is, ms]);
  return is && lasts;
}

/** `query` is that of the page's address. */
export function App({ query }: { readonly query: string }) {
  const [, draw] = useState(0);
  const [presence] = useState(() => new Presence(ownNode, () => draw((times) => times + 1)));
  const { notices, report, dismiss } = useNotices();
  const view = useMemo(() => viewOf(query), [query]);
  const { live, status } = presence;
  const state = withoutHidden(live.state);
  const { connection, server, players } = state;
  const name = server?.hostname ?? location.hostname;
  const isGone = useLasting(status === 'lost', connection.status === 'lost' ? 0 : HICCUP_MS);
  const isPart = view.isWall || view.only !== undefined;
  const player = useCurrentPlayer([...players.values()]);
  const output = mainOutput(state, player);
  useTabTitle(name, player);
  const wall = <Wall player={player} output={output} />;
  const house = view.isHouse ? <HouseView isAway={isGone} /> : undefined;
  const content = house ?? (view.isWall ? wall : <Sections state={state} only={view.only} />);
  const hasFoot = !isPart && !view.isHouse && output !== undefined && awayIn(state, 'audio') === undefined;
  return (
    <Connected.Provider value={live}>
      <MayChange.Provider value={mayChange(state)}>
        <Reporting.Provider value={report}>
          <a class="skip" href="#now">
            {translate('skip')}
          </a>
          <Header name={name} state={state} presence={presence} isSmall={isPart} />
          <main>
            {/* Disabled while nothing can be sent. */}
            <fieldset class={isPart ? 'part' : ''} disabled={isGone && !view.isHouse}>
              {state.backends.size === 0 ? null : content}
            </fieldset>
          </main>
          {hasFoot ? <Foot state={state} player={player} output={output} isGone={isGone} /> : null}
          <Notices notices={notices} dismiss={dismiss} />
        </Reporting.Provider>
      </MayChange.Provider>
    </Connected.Provider>
  );
}

/** Dimmed after this time without input. */
const REST_MS = 15_000;
const REST_CHECK_MS = 250;

interface WallProps {
  readonly player: PlayerRecord | undefined;
  readonly output: OutputRecord | undefined;
}

/** The current track, as large as possible, for a wall or a television; dimmed while nobody uses it. */
function Wall({ player, output }: WallProps) {
  const [rests, setRests] = useState(false);
  useEffect(() => {
    const hands = new Hands(document);
    const timer = setInterval(() => setRests(hands.idleMs > REST_MS), REST_CHECK_MS);
    return () => clearInterval(timer);
  }, []);
  const maker = player === undefined ? '' : makerOf(player);
  return (
    <div class={`wall ${rests ? 'rests' : ''}`} id="now">
      {player === undefined ? null : <Cover player={player} />}
      <div class="wall-side">
        <ForeignLine class="wall-title">
          {player === undefined ? translate('nothingPlays') : titleOf(player)}
        </ForeignLine>
        {maker === '' ? null : <ForeignLine>{maker}</ForeignLine>}
        {player === undefined ? null : (
          <>
            <PositionBar player={player} />
            <div class="row transport">
              <TransportButtons player={player} label={(what) => what} />
            </div>
          </>
        )}
        {output === undefined ? null : <OutputVolume output={output} isMain />}
      </div>
    </div>
  );
}

/** The current track in the tab's title; `name` is the node's. */
function useTabTitle(name: string, player: PlayerRecord | undefined): void {
  const track = player && isPlaying(player) ? [titleOf(player), player.metadata?.['xesam:artist']] : [];
  const title = [...track, name].filter(Boolean).join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    // A phone calls the page so on its home screen. The document is the same on every node.
    document.querySelector('meta[name="apple-mobile-web-app-title"]')?.setAttribute('content', name);
  }, [name]);
}
