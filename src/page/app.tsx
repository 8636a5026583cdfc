// The whole page: header, the parts that the address selects or the view for a wall, the foot with the volume
// and the tabs, notices. And what the browser shows outside the page.

import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { NodeState, PlayerRecord } from '../client/client.js';
import { Foot } from './foot.js';
import { Header } from './header.js';
import { translate } from './language.js';
import { Late, Part, PartLoading } from './late.js';
import { mainOutput, useLargePlayer, withoutHidden } from './main-volume.js';
import { MayChange, mayChange } from './may-change.js';
import { type Need, needsOf } from './needs.js';
import { Connected, ownNode } from './node.js';
import { Notices, Reporting, useNotices } from './notices.js';
import { useLater } from './parts.js';
import { Presence } from './presence.js';
import { awayIn, Sections, tabsOf } from './sections.js';
import { isPlaying, titleOf } from './transport.js';
import { type TabId, viewOf } from './view.js';

const HOUSE = new Part(async () => (await import('./house-view.js')).HouseView);
const WALL = new Part(async () => (await import('./wall.js')).Wall);
const PAIRING = new Part(async () => (await import('./sheets.js')).Pairing);

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
  const watchLoading = useCallback((loading: Promise<unknown>) => {
    // A file that the node has no longer is one of an older page.
    void report(translate('partMissing'), loading).then(async (hasCome) => {
      if (!hasCome) await presence.compare();
    });
  }, []);
  const view = useMemo(() => viewOf(query), [query]);
  const { live, status } = presence;
  const state = withoutHidden(live.state);
  const { connection, server } = state;
  const name = server?.hostname ?? location.hostname;
  const isGone = useLasting(status === 'lost', connection.status === 'lost' ? 0 : HICCUP_MS);
  const isPart = view.isWall || view.only !== undefined;
  const { player, holding } = useLargePlayer([...state.players.values()]);
  const output = mainOutput(state, player);
  const { tab, tabs, openTab, openNeed, folding } = useTabs(state);
  const needs = isPart || view.isHouse ? [] : needsOf(state);
  useTabTitle(name, player);
  const content = view.isHouse ? (
    <Late part={HOUSE} props={{ isAway: isGone }} />
  ) : view.isWall ? (
    <Late part={WALL} props={{ state, player, output, name }} />
  ) : (
    <Sections state={{ ...state, current: { player, output }, holding, folding }} only={view.only} />
  );
  const isSilent = awayIn(state, 'audio') !== undefined;
  return (
    <Connected.Provider value={live}>
      <MayChange.Provider value={mayChange(state)}>
        <Reporting.Provider value={report}>
          <PartLoading.Provider value={watchLoading}>
            <a class="skip" href="#now">
              {translate('skip')}
            </a>
            <Header
              name={name}
              state={state}
              presence={presence}
              isSmall={isPart}
              needs={needs}
              onNeed={openNeed}
            />
            <main data-tab={isPart || view.isHouse ? undefined : tab}>
              {/* Disabled while nothing can be sent. */}
              <fieldset class={isPart ? 'part' : ''} disabled={isGone && !view.isHouse}>
                {state.backends.size === 0 ? null : content}
              </fieldset>
            </main>
            {isPart || view.isHouse || state.backends.size === 0 ? null : (
              <Foot
                state={state}
                player={player}
                output={isSilent ? undefined : output}
                isGone={isGone}
                tabs={tabs}
                tab={tab}
                onTab={openTab}
                marked={new Set(needs.map((need) => need.tab))}
              />
            )}
            {isPart || state.bluetooth?.pairing_active !== true ? null : (
              <Late part={PAIRING} props={{ adapter: state.bluetooth }} />
            )}
            <Notices notices={notices} dismiss={dismiss} />
          </PartLoading.Provider>
        </Reporting.Provider>
      </MayChange.Provider>
    </Connected.Provider>
  );
}

/** Which part of the page a phone shows. A desk shows all. */
function useTabs(state: NodeState) {
  const tabs = tabsOf(state);
  const [desired, desire] = useState<TabId>('music');
  const tab = tabs.includes(desired) ? desired : (tabs[0] ?? 'node');
  const openTab = (next: TabId): void => {
    desire(next);
    scrollTo(0, 0);
  };
  const [isNodeOpen, setNodeOpen] = useState<boolean>();
  const [sought, seek] = useState<Need>();
  useEffect(() => {
    if (sought !== undefined) document.getElementById(sought.section)?.scrollIntoView();
  }, [sought]);
  const openNeed = (need: Need): void => {
    desire(need.tab);
    if (need.tab === 'node') setNodeOpen(true);
    seek({ ...need });
  };
  return { tab, tabs, openTab, openNeed, folding: [isNodeOpen, setNodeOpen] as const };
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
