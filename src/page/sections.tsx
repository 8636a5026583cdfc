// Decides which sections the page has, and in which order it draws them: on a desk in columns, on a phone
// behind tabs.

import { useState } from 'preact/hooks';
import type { BackendInfo, ChildName, NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { CurrentStreams } from './current-streams.js';
import { translate } from './language.js';
import { type Content, Late, Part, usePart } from './late.js';
import { MuteAll, type useLargePlayer } from './main-volume.js';
import { type Folding, NodeColumn } from './node-column.js';
import { Outputs } from './outputs.js';
import { Away, useGrowing } from './parts.js';
import { Players } from './players.js';
import { Streams } from './streams.js';
import { useLastStep } from './upgrade-steps.js';
import type { SectionId, TabId, View } from './view.js';

/** The state of the node, and of the page. */
interface SectionState extends NodeState, Pick<Parameters<typeof Streams>[0], 'unfolding'> {
  /** The player that is drawn large, and the output at which it is heard. */
  readonly current: { readonly player: PlayerRecord | undefined; readonly output: OutputRecord | undefined };
  /** The listeners that keep the large player the same while somebody uses the players. */
  readonly holding: ReturnType<typeof useLargePlayer>['holding'];
  readonly folding: Folding;
}

interface SectionRow {
  readonly id: SectionId;
  readonly tab: TabId;
  readonly backend?: ChildName;
  /** The late part that has this section; undefined for a section of the first load. */
  readonly part?: Part<unknown>;
  /** Undefined until the part is loaded. */
  readonly content: () => Content<SectionState> | undefined;
}

const NETWORK = new Part(async () => (await import('./sound-tab.js')).PlayFromComputer);
const SOUND = new Part(() => import('./sound-tab.js'));
const NODE = new Part(() => import('./node-tab.js'));

/**
 * The sections in the order in which they are drawn. Within a column they have the same order, so that
 * sections of late parts are below the others. A section exists if its backend is enabled.
 */
const SECTIONS: readonly SectionRow[] = [
  { id: 'now', tab: 'music', content: () => Now },
  { id: 'outputs', tab: 'sound', backend: 'audio', content: () => OutputsAndNetwork },
  { id: 'streams', tab: 'music', backend: 'audio', content: () => Streams },
  { id: 'inputs', tab: 'sound', backend: 'audio', part: SOUND, content: () => SOUND.loaded?.Inputs },
  {
    id: 'bluetooth',
    tab: 'sound',
    backend: 'bluetooth',
    part: SOUND,
    content: () => SOUND.loaded?.Bluetooth,
  },
  { id: 'upgrade', tab: 'node', backend: 'upgrade', part: NODE, content: () => NODE.loaded?.UpgradeCard },
  { id: 'services', tab: 'node', backend: 'systemd', part: NODE, content: () => NODE.loaded?.Services },
  { id: 'system', tab: 'node', part: NODE, content: () => NODE.loaded?.System },
];

const TABS: readonly TabId[] = ['music', 'sound', 'node'];

/** The tabs of a node, also while the backends behind them are away. */
export function tabsOf({ backends }: Pick<NodeState, 'backends'>): readonly TabId[] {
  const isThere: Readonly<Record<TabId, boolean>> = {
    music: backends.has('audio') || backends.has('players'),
    sound: backends.has('audio') || backends.has('bluetooth'),
    node: true,
  };
  return TABS.filter((tab) => isThere[tab]);
}

function OutputsAndNetwork(state: NodeState) {
  return (
    <>
      <Outputs {...state} />
      <Late part={NETWORK} props={{ backends: state.backends }} />
    </>
  );
}

/** The players; without a player, the streams that play. */
function Now(state: SectionState) {
  const { player, output } = state.current;
  const awayPlayers = awayIn(state, 'players');
  return (
    <div class="now" {...state.holding}>
      {player === undefined ? null : <Players {...state} player={player} output={output} />}
      {player === undefined && state.backends.has('audio') ? <AudioWithoutPlayer {...state} /> : null}
      {awayPlayers === undefined ? null : <Away what={translate('backend_players')} {...awayPlayers} />}
    </div>
  );
}

function AudioWithoutPlayer(state: SectionState) {
  const away = awayIn(state, 'audio');
  return away === undefined ? (
    <CurrentStreams {...state} />
  ) : (
    <Away what={translate('backend_audio')} {...away} />
  );
}

/** The backend, if it is not up. */
export function awayIn({ backends }: NodeState, name: ChildName): BackendInfo | undefined {
  const backend = backends.get(name);
  return backend?.state === 'up' ? undefined : backend;
}

function isDisplayed({ backends, inputs }: NodeState, { id, backend }: SectionRow): boolean {
  if (id === 'now') return backends.has('audio') || backends.has('players');
  // Streams and inputs are left out without the sound server, because the section of the outputs says so.
  if (id === 'streams') return backends.get('audio')?.state === 'up';
  if (id === 'inputs') return backends.get('audio')?.state === 'up' && inputs.size > 0;
  return backend === undefined || backends.has(backend);
}

interface SectionsProps {
  readonly state: NodeState & Pick<SectionState, 'current' | 'holding' | 'folding'>;
  readonly only: View['only'];
}

export function Sections({ state: known, only }: SectionsProps) {
  // The unfolding of the streams is kept here, because their section goes away with the sound server.
  const state = { ...known, upgrade: useLastStep(known.upgrade), unfolding: useState(false) };
  const displayed = SECTIONS.filter((row) => (only?.has(row.id) ?? true) && isDisplayed(state, row));
  const isNeeded = (part: Part<unknown>): boolean => displayed.some((row) => row.part === part);
  usePart(SOUND, isNeeded(SOUND));
  usePart(NODE, isNeeded(NODE));
  // The sections below one that is still being loaded are not drawn, because they would be moved down later.
  const loading = displayed.findIndex(({ part, content }) => content() === undefined && part?.failures === 0);
  const loaded = loading < 0 ? displayed : displayed.slice(0, loading);
  const drawn = loaded.slice(0, useGrowing(SECTIONS.length, 1, true));
  const columns = only === undefined ? tabsOf(state) : TABS;
  return (
    <>
      {columns.map((tab) => {
        const sections = drawn
          .filter((section) => section.tab === tab)
          .map((row) => <Section key={row.id} row={row} state={state} />);
        if (tab === 'node' && only === undefined)
          return (
            <NodeColumn key={tab} folding={state.folding}>
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
  const View = content();
  const away = backend && awayIn(state, backend);
  const hasMuteAll = id === 'outputs' && state.outputs.size > 1;
  // The outputs are away with their backend, whose name is not that of the section.
  const what = id === 'outputs' && { what: translate('backend_audio') };
  return (
    <section class="section" id={id} aria-labelledby={`${id}-title`}>
      <div class={id === 'now' ? 'unseen' : 'row section-head'}>
        <h2 id={`${id}-title`} class={id === 'now' ? 'unseen' : 'grow'}>
          {translate(id)}
        </h2>
        {hasMuteAll ? <MuteAll outputs={[...state.outputs.values()]} /> : null}
      </div>
      {away === undefined ? View && <View {...state} /> : <Away {...what} {...away} />}
    </section>
  );
}
