// The sections of the page, in columns.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { BackendInfo, ChildName, NodeState } from '../client/client.js';
import { Bluetooth } from './bluetooth.js';
import { Inputs } from './inputs.js';
import { translate } from './language.js';
import { CurrentStreams } from './main-volume.js';
import { Outputs } from './outputs.js';
import { Away, useGrowing } from './parts.js';
import { Players } from './players.js';
import { Services } from './services.js';
import { SleepMoon } from './sleep.js';
import { Streams } from './streams.js';
import { System } from './system.js';
import { UpgradeCard, useSteps } from './upgrade.js';
import type { SectionId, View } from './view.js';

/** The state of the node, and whether the further streams are unfolded. */
type SectionState = NodeState & Pick<Parameters<typeof Streams>[0], 'unfolding'>;

interface SectionRow {
  readonly id: SectionId;
  readonly column: number;
  readonly backend?: ChildName;
  readonly Content: (state: SectionState) => JSX.Element | null;
}

/**
 * In the order of a phone's page, and of drawing. A section exists if its backend is enabled. Long ones are
 * placed beside long ones.
 */
const SECTIONS: readonly SectionRow[] = [
  { id: 'now', column: 0, Content: Now },
  { id: 'outputs', column: 0, backend: 'audio', Content: Outputs },
  { id: 'inputs', column: 0, backend: 'audio', Content: Inputs },
  { id: 'streams', column: 1, backend: 'audio', Content: Streams },
  { id: 'bluetooth', column: 1, backend: 'bluetooth', Content: Bluetooth },
  { id: 'services', column: 2, backend: 'systemd', Content: Services },
  { id: 'upgrade', column: 1, backend: 'upgrade', Content: UpgradeCard },
  { id: 'system', column: 2, Content: System },
];

/** The players; without any, the streams that play. */
function Now(state: NodeState) {
  const away = awayIn(state, 'players');
  return (
    <>
      {state.players.size > 0 ? <Players {...state} /> : <CurrentStreams {...state} />}
      {away === undefined ? null : <Away what={translate('backend_players')} {...away} />}
      <SleepMoon {...state} />
    </>
  );
}

/** The backend, if it is not up. */
export function awayIn({ backends }: NodeState, name: ChildName): BackendInfo | undefined {
  const backend = backends.get(name);
  return backend?.state === 'up' ? undefined : backend;
}

function isDisplayed(state: NodeState, { id, backend }: SectionRow): boolean {
  const { backends } = state;
  const isSilent = backends.get('audio')?.state !== 'up';
  // If the sound server is away, the outputs show that, and it is unknown what plays.
  if (id === 'now') return !isSilent || backends.has('players');
  if (id === 'streams') return !isSilent;
  if (id === 'inputs') return !isSilent && state.inputs.size > 0;
  return backend === undefined || backends.has(backend);
}

export function Sections({ state: known, only }: Readonly<{ state: NodeState; only: View['only'] }>) {
  // The unfolding is kept here while the sound server is away.
  const state = { ...known, upgrade: useSteps(known.upgrade), unfolding: useState(false) };
  const displayed = SECTIONS.filter(
    (section) => (only?.has(section.id) ?? true) && isDisplayed(state, section),
  );
  const drawn = displayed.slice(0, useGrowing(SECTIONS.length, 1, true));
  /** A column keeps its place while its backend is away, so that nothing else moves there. */
  const isKept = (own: number): boolean =>
    only === undefined &&
    SECTIONS.some(({ column, backend }) => column === own && backend && state.backends.has(backend));
  return (
    <>
      {[0, 1, 2].map((column) => (
        <div key={column} class={`column ${isKept(column) ? 'kept' : ''}`}>
          {drawn
            .filter((section) => section.column === column)
            .map((row) => (
              <Section key={row.id} row={row} state={state} />
            ))}
        </div>
      ))}
    </>
  );
}

function Section({ row, state }: Readonly<{ row: SectionRow; state: SectionState }>) {
  const { id, backend, Content } = row;
  const away = backend && awayIn(state, backend);
  // With the part's name where the section is called otherwise.
  const what = id === 'outputs' && { what: translate('backend_audio') };
  // For the layout with one column.
  const style = { order: SECTIONS.indexOf(row) };
  return (
    <section class="section" id={id} style={style} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{translate(id)}</h2>
      {away === undefined ? <Content {...state} /> : <Away {...what} {...away} />}
    </section>
  );
}
