// The sections of the page: on a desk in columns, on a phone behind tabs.

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
import { useSteps } from './upgrade-steps.js';
import type { SectionId, TabId, View } from './view.js';

/** The state of the node, and of the page. */
interface SectionState extends NodeState, Pick<Parameters<typeof Streams>[0], 'unfolding'> {
  /** The player that is drawn large, and the output at which something is heard. */
  readonly current: { readonly player: PlayerRecord | undefined; readonly output: OutputRecord | undefined };
  /** Keeps the large player while somebody uses the players. */
  readonly holding: ReturnType<typeof useLargePlayer>['holding'];
  readonly folding: Folding;
}

interface SectionRow {
  readonly id: SectionId;
  readonly tab: TabId;
  readonly backend?: ChildName;
  /** A part that has this section. */
  readonly part?: Part<unknown>;
  /** Undefined until the part has come. */
  readonly content: () => Content<SectionState> | undefined;
}

const NETWORK = new Part(async () => (await import('./sound-tab.js')).PlayFromComputer);
const SOUND = new Part(() => import('./sound-tab.js'));
const NODE = new Part(() => import('./node-tab.js'));

/**
 * In the order of drawing, and within their tab or column: what comes late is below what is there. A section
 * exists if its backend is enabled.
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
  const exists: Readonly<Record<TabId, boolean>> = {
    music: backends.has('audio') || backends.has('players'),
    sound: backends.has('audio') || backends.has('bluetooth'),
    node: true,
  };
  return TABS.filter((tab) => exists[tab]);
}

function OutputsAndNetwork(state: NodeState) {
  return (
    <>
      <Outputs {...state} />
      <Late part={NETWORK} props={{ backends: state.backends }} />
    </>
  );
}

/** The players; without any, the streams that play. */
function Now(state: SectionState) {
  const { player, output } = state.current;
  const players = awayIn(state, 'players');
  const audio = awayIn(state, 'audio');
  return (
    <div class="now" {...state.holding}>
      {player === undefined ? null : <Players {...state} player={player} output={output} />}
      {player === undefined && state.backends.has('audio') ? (
        <NothingOrStreams {...state} away={audio} />
      ) : null}
      {players === undefined ? null : <Away what={translate('backend_players')} {...players} />}
    </div>
  );
}

function NothingOrStreams({ away, ...state }: SectionState & { readonly away: BackendInfo | undefined }) {
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
  // If the sound server is away, the outputs show that.
  if (id === 'streams') return backends.get('audio')?.state === 'up';
  if (id === 'inputs') return backends.get('audio')?.state === 'up' && inputs.size > 0;
  return backend === undefined || backends.has(backend);
}

interface SectionsProps {
  readonly state: NodeState & Pick<SectionState, 'current' | 'holding' | 'folding'>;
  readonly only: View['only'];
}

export function Sections({ state: known, only }: SectionsProps) {
  // The unfolding is kept here while the sound server is away.
  const state = { ...known, upgrade: useSteps(known.upgrade), unfolding: useState(false) };
  const displayed = SECTIONS.filter(
    (section) => (only?.has(section.id) ?? true) && isDisplayed(state, section),
  );
  usePart(
    SOUND,
    displayed.some(({ part }) => part === SOUND),
  );
  usePart(
    NODE,
    displayed.some(({ part }) => part === NODE),
  );
  // Nothing is drawn below a section that is still to come, as it would be moved.
  const next = displayed.findIndex(({ part, content }) => content() === undefined && part?.failures === 0);
  const drawn = displayed
    .slice(0, useGrowing(SECTIONS.length, 1, true))
    .slice(0, next < 0 ? undefined : next);
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
  // With the part's name where the section is called otherwise.
  const what = id === 'outputs' && { what: translate('backend_audio') };
  return (
    <section class="section" id={id} aria-labelledby={`${id}-title`}>
      <div class={id === 'now' ? 'unseen' : 'row section-head'}>
        <h2 id={`${id}-title`} class={id === 'now' ? 'unseen' : 'grow'}>
          {translate(id)}
        </h2>
        {id === 'outputs' && state.outputs.size > 1 ? (
          <MuteAll outputs={[...state.outputs.values()]} />
        ) : null}
      </div>
      {away === undefined ? View && <View {...state} /> : <Away {...what} {...away} />}
    </section>
  );
}
