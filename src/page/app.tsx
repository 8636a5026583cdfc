// The whole page: header, the parts that the address selects, the volume at the foot, notices.

import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Live, NodeState } from '../client/client.js';
import type { AnnouncedAbsence } from './absence.js';
import { Header } from './connection.js';
import { translate } from './language.js';
import { Foot, mainOutput, useCurrentPlayer } from './main-volume.js';
import { type Levels, Metering } from './meter.js';
import { Notices, Reporting, useNotices } from './notices.js';
import { useMediaKeys, useTabTitle } from './now-playing.js';
import { withoutHidden } from './output-choice.js';
import { Pacing } from './parts.js';
import { awayIn, Sections } from './sections.js';
import { Unfolding } from './streams.js';
import type { Turns } from './turns.js';
import type { View } from './view.js';
import { Wall } from './wall.js';

interface AppProps {
  readonly live: Live;
  readonly state: NodeState;
  /** The node answers, even if the stream is silent. */
  readonly isBeating: boolean;
  readonly absence: AnnouncedAbsence | undefined;
  readonly isOld: boolean;
  readonly view: View;
  readonly levels: Levels;
  readonly turns: Turns;
}

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

export function App(props: AppProps) {
  const { live, state: whole, isBeating, absence, isOld, view, levels, turns } = props;
  const { notices, reporter, dismiss } = useNotices();
  const unfolding = useState(false);
  const state = withoutHidden(whole);
  const { connection, server, upgrade } = state;
  const node = server?.hostname ?? location.hostname;
  const status = connection.status === 'live' && !isBeating ? 'lost' : connection.status;
  const isGone = useLasting(status === 'lost', connection.status === 'lost' ? 0 : HICCUP_MS);
  const isPart = view.isWall || view.only !== undefined;
  const current = useMainOutput(state);
  useTabTitle(node, current.player);
  useMediaKeys(live.node, current.player);
  const now = useCallback(() => live.nodeTime(), [live]);
  const content = view.isWall ? (
    <Wall node={live.node} now={now} {...current} />
  ) : (
    <Sections live={live} state={state} view={view} />
  );
  const hasFoot = !isPart && awayIn(state, 'audio') === undefined;
  return (
    <Reporting.Provider value={reporter}>
      <Metering.Provider value={levels}>
        <a class="skip" href="#now">
          {translate('skip')}
        </a>
        <Header
          {...{ node, status, upgrade, absence, isOld }}
          nodes={[...whole.nodes.values()]}
          isSmall={isPart}
          since={connection.since}
          retry={() => live.reconnect()}
        />
        <main>
          {/* Disabled while nothing can be sent. */}
          <fieldset class={isPart ? 'part' : ''} disabled={isGone}>
            <Pacing.Provider value={turns}>
              <Unfolding.Provider value={unfolding}>
                {status === 'connecting' ? null : content}
              </Unfolding.Provider>
            </Pacing.Provider>
          </fieldset>
        </main>
        {hasFoot ? <Foot {...current} node={live.node} state={state} isGone={isGone} /> : null}
        <Notices notices={notices} dismiss={dismiss} />
      </Metering.Provider>
    </Reporting.Provider>
  );
}

function useMainOutput({ players, outputs, clients }: NodeState) {
  const player = useCurrentPlayer([...players.values()]);
  return { player, output: mainOutput([...outputs.values()], [...clients.values()], player) };
}
