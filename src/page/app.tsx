// Draws one of four pages (`App`), from the header to the notices. Decides which tab is open, and which title
// the browser displays.

import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { NodeState, PlayerRecord } from '../client/client.js';
import { Foot } from './foot.js';
import { Header } from './header.js';
import { translate } from './language.js';
import { Late, LatePart, PartLoading } from './late.js';
import { mainOutput, useLargePlayer, withoutHidden } from './main-volume.js';
import { MayChangeContext, mayChange } from './may-change.js';
import { type Need, needsOf } from './needs.js';
import { Connected, ownNode } from './node.js';
import { Notices, Reporting, useNotices } from './notices.js';
import { useHasLasted, useRedraw } from './parts.js';
import { isPlaying } from './player-controls.js';
import { Presence } from './presence.js';
import { awayBackend, Sections, tabsOf } from './sections.js';
import { titleOf } from './transport.js';
import { type TabId, viewOf } from './view.js';

const HOUSE = new LatePart(async () => (await import('./house-view.js')).HouseView);
const WALL = new LatePart(async () => (await import('./wall.js')).Wall);
const PAIRING = new LatePart(async () => (await import('./sheets.js')).Pairing);

/**
 * When the node stops answering, the controls stay usable for this time. When the connection is lost, they
 * are disabled at once.
 */
const INTERRUPTION_MS = 1500;

/**
 * `query` is the part of the page's address from `?` on. It chooses one of four pages: the usual one, the
 * house, the wall, and one with only some sections. The wall and the page with only some sections are
 * reduced: their header has no bar, and they have no tabs, no foot and no sheet for pairing. The house has no
 * tabs and no foot either.
 */
export function App({ query }: { readonly query: string }) {
  const redraw = useRedraw();
  const [presence] = useState(() => new Presence(ownNode, redraw));
  const { notices, report, dismiss } = useNotices();
  const [missingParts] = useState(() => new Set<LatePart<unknown>>());
  const reportLoading = useCallback((part: LatePart<unknown>, loading: Promise<void>) => {
    loading.then(
      () => {
        missingParts.delete(part);
        // One notice stands for all parts that are missing.
        if (missingParts.size === 0) dismiss(translate('partMissing'));
      },
      async () => {
        missingParts.add(part);
        // The notice gets its reason from `loading`, which has failed.
        await report(translate('partMissing'), loading);
        // The part may be missing because the node was upgraded, and now has only the files of a newer page.
        await presence.loadNewerPage();
      },
    );
  }, []);
  const view = useMemo(() => viewOf(query), [query]);
  const { live } = presence;
  const state = withoutHidden(live.state);
  const { connection, server } = state;
  const nodeName = server?.hostname ?? location.hostname;
  // The presence is `lost` in two cases: the connection is lost, or it is open and the node does not answer.
  const patienceMs = connection.status === 'lost' ? 0 : INTERRUPTION_MS;
  const isNodeAway = useHasLasted(presence.status === 'lost', patienceMs);
  const isReduced = view.isWall || view.only !== undefined;
  const hasTabs = !isReduced && !view.isHouse;
  // The house also has controls of other nodes. These controls stay usable while this node is away.
  const isDisabled = isNodeAway && !view.isHouse;
  const hasState = state.backends.size > 0;
  const { player, touchListeners } = useLargePlayer([...state.players.values()]);
  const output = mainOutput(state, player);
  const { tab, tabs, openTab, openNeed, nodeFolding } = useTabs(state);
  const needs = hasTabs ? needsOf(state) : [];
  useDocumentTitle(nodeName, player);
  // `awayBackend` returns undefined if the backend is up or not enabled.
  const isAudioAway = awayBackend(state, 'audio') !== undefined;
  const isBluetoothAway = isNodeAway || awayBackend(state, 'bluetooth') !== undefined;
  return (
    <Connected.Provider value={live}>
      <MayChangeContext.Provider value={mayChange(state)}>
        <Reporting.Provider value={report}>
          <PartLoading.Provider value={reportLoading}>
            <a class="skip" href="#now">
              {translate('skip')}
            </a>
            <Header
              name={nodeName}
              state={state}
              presence={presence}
              isReduced={isReduced}
              needs={needs}
              onNeed={openNeed}
            />
            <main data-tab={hasTabs ? tab : undefined}>
              <fieldset class={isReduced ? 'part' : ''} disabled={isDisabled}>
                {hasState && view.isHouse ? <Late part={HOUSE} props={{ isAway: isNodeAway }} /> : null}
                {hasState && view.isWall ? (
                  <Late part={WALL} props={{ state, player, output, name: nodeName }} />
                ) : null}
                {hasState && !view.isHouse && !view.isWall ? (
                  <Sections
                    state={{ ...state, current: { player, output }, touchListeners, nodeFolding }}
                    only={view.only}
                  />
                ) : null}
              </fieldset>
            </main>
            {hasTabs && hasState ? (
              <Foot
                state={state}
                player={player}
                output={isAudioAway ? undefined : output}
                isNodeAway={isNodeAway}
                tabs={tabs}
                tab={tab}
                onTab={openTab}
                markedTabs={new Set(needs.map((need) => need.tab))}
              />
            ) : null}
            {isReduced || state.bluetooth?.pairing_active !== true ? null : (
              <Late part={PAIRING} props={{ adapter: state.bluetooth, isAway: isBluetoothAway }} />
            )}
            <Notices notices={notices} dismiss={dismiss} />
          </PartLoading.Provider>
        </Reporting.Provider>
      </MayChangeContext.Provider>
    </Connected.Provider>
  );
}

/**
 * Decides which tab a phone shows. A wide screen shows all tabs as columns, and only the column of the node
 * can be folded there.
 */
function useTabs(state: NodeState) {
  const tabs = tabsOf(state);
  const [chosenTab, chooseTab] = useState<TabId>('music');
  const tab = tabs.includes(chosenTab) ? chosenTab : (tabs[0] ?? 'node');
  const openTab = (next: TabId): void => {
    chooseTab(next);
    scrollTo(0, 0);
  };
  // `isNodeOpen` is undefined until the column of the node is folded or opened (node-column.tsx).
  const [isNodeOpen, setNodeOpen] = useState<boolean>();
  const [openedNeed, setOpenedNeed] = useState<Need>();
  useEffect(() => {
    // The scroll comes after the drawing, because the section may have been in a hidden tab.
    if (openedNeed !== undefined) document.getElementById(openedNeed.section)?.scrollIntoView();
  }, [openedNeed]);
  const openNeed = (need: Need): void => {
    chooseTab(need.tab);
    if (need.tab === 'node') setNodeOpen(true);
    // A copy is set, so that a second press on the same need scrolls again.
    setOpenedNeed({ ...need });
  };
  return { tab, tabs, openTab, openNeed, nodeFolding: [isNodeOpen, setNodeOpen] as const };
}

/** Sets the title of the browser's tab, and the page's name on a home screen. */
function useDocumentTitle(nodeName: string, player: PlayerRecord | undefined): void {
  const playingPlayer = player && isPlaying(player) ? player : undefined;
  const track = playingPlayer && titleOf(playingPlayer);
  const artist = playingPlayer?.metadata?.['xesam:artist'];
  const title = [track, artist, nodeName].filter(Boolean).join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    // An iPhone takes the name for its home screen from this element. At first the name is `tonearm`
    // (index.html).
    document.querySelector('meta[name="apple-mobile-web-app-title"]')?.setAttribute('content', nodeName);
  }, [nodeName]);
}
