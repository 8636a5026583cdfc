// The whole page: header, the parts that the address selects, the volume at the foot, notices.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { Header } from './header.js';
import { translate } from './language.js';
import { Foot, mainOutput, useCurrentPlayer } from './main-volume.js';
import { Connected } from './node.js';
import { Notices, Reporting, useNotices } from './notices.js';
import { useMediaKeys, useTabTitle } from './now-playing.js';
import { withoutHidden } from './output-choice.js';
import { Presence } from './presence.js';
import { awayIn, Sections } from './sections.js';
import { viewOf } from './view.js';
import { Wall } from './wall.js';

/** Shorter interruptions do not disable the controls. */
const HICCUP_MS = 1500;

function useLasting(is: boolean, ms: number): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLasts(is), is ? ms : 0);
    return () => clearTimeout(timer);
  }, [is, ms]);
  return is && lasts;
}

/** `query` is that of the page's address. */
export function App({ query }: { readonly query: string }) {
  const [, draw] = useState(0);
  const [presence] = useState(() => new Presence(() => draw((times) => times + 1)));
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
  useMediaKeys(player);
  const content = view.isWall ? (
    <Wall player={player} output={output} />
  ) : (
    <Sections state={state} only={view.only} />
  );
  const hasFoot = !isPart && output !== undefined && awayIn(state, 'audio') === undefined;
  return (
    <Connected.Provider value={live}>
      <Reporting.Provider value={report}>
        <a class="skip" href="#now">
          {translate('skip')}
        </a>
        <Header name={name} state={state} presence={presence} isSmall={isPart} />
        <main>
          {/* Disabled while nothing can be sent. */}
          <fieldset class={isPart ? 'part' : ''} disabled={isGone}>
            {status === 'connecting' ? null : content}
          </fieldset>
        </main>
        {hasFoot ? <Foot state={state} player={player} output={output} isGone={isGone} /> : null}
        <Notices notices={notices} dismiss={dismiss} />
      </Reporting.Provider>
    </Connected.Provider>
  );
}
