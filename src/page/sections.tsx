// Decides which sections the page has, and in which order it draws them. They are in columns on a wide
// screen, and behind tabs on a phone.

import { useState } from 'preact/hooks';
import type { BackendInfo, ChildName, NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { CurrentStreams } from './current-streams.js';
import { translate } from './language.js';
import { type Content, Late, LatePart, usePart } from './late.js';
import { MuteAll, type useLargePlayer } from './main-volume.js';
import { type Folding, NodeColumn } from './node-column.js';
import { Outputs } from './outputs.js';
import { Away, useGrowing } from './parts.js';
import { Players } from './players.js';
import { Streams } from './streams.js';
import { useLastStep } from './upgrade-steps.js';
import type { SectionId, TabId, View } from './view.js';

/** The state of the node, and of the page. */
interface SectionState extends NodeState, Pick<Parameters<typeof Streams>[0], 'streamsFolding'> {
  /** The player that is drawn large, and the output that `mainOutput` finds for it. */
  readonly current: { readonly player: PlayerRecord | undefined; readonly output: OutputRecord | undefined };
  /**
   * These listeners notice that somebody uses the players, because the large player must not change
   * meanwhile.
   */
  readonly touchListeners: ReturnType<typeof useLargePlayer>['touchListeners'];
  readonly nodeFolding: Folding;
}

interface SectionRow {
  readonly id: SectionId;
  readonly tab: TabId;
  readonly backend?: ChildName;
  /** The late-loaded file that contains this section; undefined if the section is loaded with the page. */
  readonly part?: LatePart<unknown>;
  /** Returns undefined until the part is loaded. */
  readonly content: () => Content<SectionState> | undefined;
}

/**
 * This part comes from the same file as `SOUND_TAB`. It is a part of its own, because the section of the
 * outputs draws it, and that section does not wait for `sound-tab.js`.
 */
const PLAY_FROM_COMPUTER = new LatePart(async () => (await import('./sound-tab.js')).PlayFromComputer);
const SOUND_TAB = new LatePart(() => import('./sound-tab.js'));
const NODE_TAB = new LatePart(() => import('./node-tab.js'));

/**
 * The sections in the order in which they are drawn. Sections of late parts are last, because each section
 * waits for the sections before it.
 */
const SECTIONS: readonly SectionRow[] = [
  { id: 'now', tab: 'music', content: () => Now },
  { id: 'outputs', tab: 'sound', backend: 'audio', content: () => OutputsAndPlayFromComputer },
  { id: 'streams', tab: 'music', backend: 'audio', content: () => Streams },
  { id: 'inputs', tab: 'sound', backend: 'audio', part: SOUND_TAB, content: () => SOUND_TAB.loaded?.Inputs },
  {
    id: 'bluetooth',
    tab: 'sound',
    backend: 'bluetooth',
    part: SOUND_TAB,
    content: () => SOUND_TAB.loaded?.Bluetooth,
  },
  {
    id: 'upgrade',
    tab: 'node',
    backend: 'upgrade',
    part: NODE_TAB,
    content: () => NODE_TAB.loaded?.UpgradeCard,
  },
  {
    id: 'services',
    tab: 'node',
    backend: 'systemd',
    part: NODE_TAB,
    content: () => NODE_TAB.loaded?.Services,
  },
  { id: 'system', tab: 'node', part: NODE_TAB, content: () => NODE_TAB.loaded?.System },
];

const SECTIONS_PER_FRAME = 1;

const TABS: readonly TabId[] = ['music', 'sound', 'node'];

/** The tabs that a node has. A tab stays while its backends are away. */
export function tabsOf({ backends }: Pick<NodeState, 'backends'>): readonly TabId[] {
  const hasTab: Readonly<Record<TabId, boolean>> = {
    music: backends.has('audio') || backends.has('players'),
    sound: backends.has('audio') || backends.has('bluetooth'),
    node: true,
  };
  return TABS.filter((tab) => hasTab[tab]);
}

function OutputsAndPlayFromComputer(state: NodeState) {
  return (
    <>
      <Outputs {...state} />
      <Late part={PLAY_FROM_COMPUTER} props={{ backends: state.backends }} />
    </>
  );
}

/** The players; without a player, the streams that play. */
function Now(state: SectionState) {
  const { player, output } = state.current;
  const awayPlayers = awayBackend(state, 'players');
  return (
    <div class="now" {...state.touchListeners}>
      {player === undefined ? null : <Players {...state} player={player} output={output} />}
      {player === undefined && state.backends.has('audio') ? <AudioWithoutPlayer {...state} /> : null}
      {awayPlayers === undefined ? null : <Away what={translate('backend_players')} {...awayPlayers} />}
    </div>
  );
}

function AudioWithoutPlayer(state: SectionState) {
  const away = awayBackend(state, 'audio');
  return away === undefined ? (
    <CurrentStreams {...state} />
  ) : (
    <Away what={translate('backend_audio')} {...away} />
  );
}

/** The backend if it is away; undefined if it is up, or not enabled. */
export function awayBackend({ backends }: NodeState, name: ChildName): BackendInfo | undefined {
  const backend = backends.get(name);
  return backend?.state === 'up' ? undefined : backend;
}

function isDisplayed({ backends, inputs }: NodeState, { id, backend }: SectionRow): boolean {
  if (id === 'now') return backends.has('audio') || backends.has('players');
  // Without the sound server, streams and inputs have no section. The section of the outputs says that the
  // sound server is away.
  if (id === 'streams') return backends.get('audio')?.state === 'up';
  if (id === 'inputs') return backends.get('audio')?.state === 'up' && inputs.size > 0;
  return backend === undefined || backends.has(backend);
}

interface SectionsProps {
  readonly state: NodeState & Pick<SectionState, 'current' | 'touchListeners' | 'nodeFolding'>;
  readonly only: View['only'];
}

export function Sections({ state: pageState, only }: SectionsProps) {
  // When an upgrade fails, the node forgets the upgrade's last step, so the page remembers this step.
  const upgrade = useLastStep(pageState.upgrade);
  // The section of the streams goes away with the sound server, so the folding of this section is kept here.
  const streamsFolding = useState(false);
  const state = { ...pageState, upgrade, streamsFolding };
  const isSelected = ({ id }: SectionRow): boolean => only === undefined || only.has(id);
  const displayedRows = SECTIONS.filter((row) => isSelected(row) && isDisplayed(state, row));
  const isNeeded = (part: LatePart<unknown>): boolean => displayedRows.some((row) => row.part === part);
  usePart(SOUND_TAB, isNeeded(SOUND_TAB));
  usePart(NODE_TAB, isNeeded(NODE_TAB));
  // A section that is loaded late would move the sections below it. So they wait until it is loaded, or until
  // loading it has failed.
  const firstLoading = displayedRows.findIndex(
    ({ part, content }) => content() === undefined && part?.failures === 0,
  );
  const loadedRows = firstLoading < 0 ? displayedRows : displayedRows.slice(0, firstLoading);
  // With 'last', each further section waits until the lists of the drawn sections are complete, because a
  // list that grows would move this section down.
  const drawnCount = useGrowing(SECTIONS.length, SECTIONS_PER_FRAME, 'last');
  const drawnRows = loadedRows.slice(0, drawnCount);
  // With `only`, page.css draws the sections as if there were no columns. An empty column then takes no
  // space, so all columns are drawn.
  const columns = only === undefined ? tabsOf(state) : TABS;
  return (
    <>
      {columns.map((tab) => {
        const sections = drawnRows
          .filter((row) => row.tab === tab)
          .map((row) => <Section key={row.id} row={row} state={state} />);
        // With `only`, the column of the node cannot be folded, so it is a plain one.
        if (tab === 'node' && only === undefined)
          return (
            <NodeColumn key={tab} nodeFolding={state.nodeFolding}>
              {sections}
            </NodeColumn>
          );
        return (
          <div key={tab} class={`column ${tab}`}>
            {sections}
          </div>
        );
      })}
    </>
  );
}

function Section({ row, state }: Readonly<{ row: SectionRow; state: SectionState }>) {
  const { id, backend, content } = row;
  const SectionContent = content();
  const away = backend && awayBackend(state, backend);
  const hasMuteAll = id === 'outputs' && state.outputs.size > 1;
  // The title "Outputs" does not name the backend, so `Away` draws the backend's name.
  const backendName = id === 'outputs' ? translate('backend_audio') : undefined;
  return (
    <section class="section" id={id} aria-labelledby={`${id}-title`}>
      <div class={id === 'now' ? 'unseen' : 'row section-head'}>
        <h2 id={`${id}-title`} class={id === 'now' ? 'unseen' : 'grow'}>
          {translate(id)}
        </h2>
        {hasMuteAll ? <MuteAll outputs={[...state.outputs.values()]} /> : null}
      </div>
      {away === undefined ? (
        SectionContent && <SectionContent {...state} />
      ) : (
        <Away what={backendName} {...away} />
      )}
    </section>
  );
}
