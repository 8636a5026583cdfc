// Draws the whole page: the header, what the address selects, the foot, and the notices. Sets the title that
// the browser shows outside the page, too.

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
import { useLater, useRedraw } from './parts.js';
import { isPlaying } from './player-controls.js';
import { Presence } from './presence.js';
import { awayIn, Sections, tabsOf } from './sections.js';
import { titleOf } from './transport.js';
import { type TabId, viewOf } from './view.js';

const HOUSE = new Part(async () => (await import('./house-view.js')).HouseView);
const WALL = new Part(async () => (await import('./wall.js')).Wall);
const PAIRING = new Part(async () => (await import('./sheets.js')).Pairing);

/** An interruption that is shorter than this does not disable the controls. */
const INTERRUPTION_MS = 1500;

/** True once `condition` has been true for `ms`. */
function useHasLasted(condition: boolean, ms: number): boolean {
  const [hasLasted, setHasLasted] = useState(false);
  useLater(condition ? ms : 0, () => setHasLasted(condition), [condition, ms]);
  return condition && hasLasted;
}

/** `query` is that of the page's address. */
export function App({ query }: { readonly query: string }) {
  const redraw = useRedraw();
  const [presence] = useState(() => new Presence(ownNode, redraw));
  const { notices, report, dismiss } = useNotices();
  const reportLoading = useCallback((loading: Promise<unknown>) => {
    // If this page is older than the node, the node no longer has the files of this page.
    void report(translate('partMissing'), loading).then(async (isLoaded) => {
      if (!isLoaded) await presence.compare();
    });
  }, []);
  const view = useMemo(() => viewOf(query), [query]);
  const { live, status } = presence;
  const state = withoutHidden(live.state);
  const { connection, server } = state;
  const name = server?.hostname ?? location.hostname;
  const isGone = useHasLasted(status === 'lost', connection.status === 'lost' ? 0 : INTERRUPTION_MS);
  const isPart = view.isWall || view.only !== undefined;
  const hasTabs = !isPart && !view.isHouse;
  const isLoaded = state.backends.size > 0;
  const { player, holding } = useLargePlayer([...state.players.values()]);
  const output = mainOutput(state, player);
  const { tab, tabs, openTab, openNeed, folding } = useTabs(state);
  const needs = hasTabs ? needsOf(state) : [];
  useDocumentTitle(name, player);
  const hasSound = awayIn(state, 'audio') === undefined;
  return (
    <Connected.Provider value={live}>
      <MayChange.Provider value={mayChange(state)}>
        <Reporting.Provider value={report}>
          <PartLoading.Provider value={reportLoading}>
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
            <main data-tab={hasTabs ? tab : undefined}>
              {/* Disabled while nothing can be sent. */}
              <fieldset class={isPart ? 'part' : ''} disabled={isGone && !view.isHouse}>
                {isLoaded && view.isHouse ? <Late part={HOUSE} props={{ isAway: isGone }} /> : null}
                {isLoaded && view.isWall ? (
                  <Late part={WALL} props={{ state, player, output, name }} />
                ) : null}
                {isLoaded && !view.isHouse && !view.isWall ? (
                  <Sections
                    state={{ ...state, current: { player, output }, holding, folding }}
                    only={view.only}
                  />
                ) : null}
              </fieldset>
            </main>
            {hasTabs && isLoaded ? (
              <Foot
                state={state}
                player={player}
                output={hasSound ? output : undefined}
                isGone={isGone}
                tabs={tabs}
                tab={tab}
                onTab={openTab}
                marked={new Set(needs.map((need) => need.tab))}
              />
            ) : null}
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

/**
 * The tab that a phone shows, and the function that opens the place of a need. A desk shows all tabs as
 * columns, and can fold the column of the node.
 */
function useTabs(state: NodeState) {
  const tabs = tabsOf(state);
  const [chosen, choose] = useState<TabId>('music');
  const tab = tabs.includes(chosen) ? chosen : (tabs[0] ?? 'node');
  const openTab = (next: TabId): void => {
    choose(next);
    scrollTo(0, 0);
  };
  const [isNodeOpen, setNodeOpen] = useState<boolean>();
  const [opened, setOpened] = useState<Need>();
  useEffect(() => {
    // The scroll comes after the drawing, because the section may have been in a tab that was not drawn.
    if (opened !== undefined) document.getElementById(opened.section)?.scrollIntoView();
  }, [opened]);
  const openNeed = (need: Need): void => {
    choose(need.tab);
    if (need.tab === 'node') setNodeOpen(true);
    // A copy is set, so that a second press on the same need scrolls again.
    setOpened({ ...need });
  };
  return { tab, tabs, openTab, openNeed, folding: [isNodeOpen, setNodeOpen] as const };
}

/**
 * Sets the title of the browser's tab to the current track and the node's `name`, and the name that the page
 * gets on a home screen.
 */
function useDocumentTitle(name: string, player: PlayerRecord | undefined): void {
  const track = player && isPlaying(player) ? [titleOf(player), player.metadata?.['xesam:artist']] : [];
  const title = [...track, name].filter(Boolean).join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    // An iPhone takes the page's name on its home screen from this element. The document that the node
    // serves does not contain the node's name.
    document.querySelector('meta[name="apple-mobile-web-app-title"]')?.setAttribute('content', name);
  }, [name]);
}
