// The volume control of an output, and the main one, for the output that plays now: beside the current track,
// and at the foot of a phone's page. Which outputs are hidden.

import { useContext, useRef } from 'preact/hooks';
import type { ClientRecord, NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { Toggle } from './controls.js';
import { Button } from './icons.js';
import { translate } from './language.js';
import { Changing } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { Empty, ForeignLine } from './parts.js';
import { isPlaying, PlayButton, streamsOf, titleOf } from './transport.js';
import { useVolumeStep, VolumeSlider } from './volume-slider.js';

/** Where no sound is allowed, a slider still needs an end above its beginning. */
const SLIDER_END_MIN = 0.01;

/** The output of the player's stream, else of any stream that plays, else the default. */
export function mainOutput({ outputs, clients }: NodeState, player?: PlayerRecord): OutputRecord | undefined {
  const all = [...outputs.values()];
  const [stream] = player === undefined ? soundingOf(clients) : streamsOf(player, clients);
  return all.find(({ name }) => name === stream?.output) ?? all.find((each) => each.default);
}

function soundingOf(clients: NodeState['clients']): readonly ClientRecord[] {
  return [...clients.values()].filter(({ corked }) => !corked);
}

export function OutputVolume({
  output,
  isMain = false,
}: Readonly<{ output: OutputRecord; isMain?: boolean }>) {
  const node = useNode();
  const { id, label: name, muted, volume, volume_limit: limit = 1 } = output;
  return (
    <div class={`row ${isMain ? 'heard' : ''}`}>
      <Toggle
        label={translate(isMain ? 'muteHere' : 'muteOf', { name })}
        icon="volume"
        iconOn="muted"
        isOn={muted}
        send={(desired) => node.muteOutput(id, { muted: desired })}
      />
      {isMain ? <StepButton output={id} isUp={false} /> : null}
      <VolumeSlider
        class="grow"
        label={translate(isMain ? 'volumeHere' : 'volumeOf', { name })}
        value={volume}
        max={Math.max(limit, SLIDER_END_MIN)}
        dim={muted}
        wheel={isMain}
        send={(desired) => node.setOutputVolume(id, { volume: desired })}
      />
      {isMain ? <StepButton output={id} isUp /> : null}
    </div>
  );
}

/** Each press counts, also while another is in progress: the node adds them up. */
function StepButton({ output, isUp }: { readonly output: number; readonly isUp: boolean }) {
  const node = useNode();
  const report = useContext(Reporting);
  const step = useVolumeStep();
  const label = translate(isUp ? 'louder' : 'quieter');
  const failed = translate('didNotWork', { what: label });
  const press = () => report(failed, node.setOutputVolume(output, { delta: isUp ? step() : -step() }));
  return (
    <Changing>
      <Button class="step" icon={isUp ? 'plus' : 'minus'} label={label} onClick={press} />
    </Changing>
  );
}

interface FootProps {
  readonly state: NodeState;
  readonly player: PlayerRecord | undefined;
  readonly output: OutputRecord;
  /** Nothing can be sent now. */
  readonly isGone: boolean;
}

/** Stays in place while the page scrolls. */
export function Foot({ state: { clients, outputs }, player, output, isGone }: FootProps) {
  const sounding = soundingOf(clients)[0]?.name ?? translate('nothingPlays');
  const name = player === undefined ? sounding : titleOf(player);
  const label = (what: string): string => translate('ofPlayer', { what, name });
  return (
    <footer class="foot">
      <fieldset disabled={isGone}>
        <div class="row">
          {player === undefined ? null : <PlayButton player={player} label={label} />}
          <ForeignLine class="strong grow">{name}</ForeignLine>
          <MuteAll outputs={[...outputs.values()]} />
        </div>
        <OutputVolume output={output} isMain />
      </fieldset>
    </footer>
  );
}

/** The player that plays, else the last one that did, else the first. */
export function useCurrentPlayer(players: readonly PlayerRecord[]): PlayerRecord | undefined {
  const last = useRef<string | undefined>(undefined);
  const kept = players.find(({ bus_name }) => bus_name === last.current);
  const current = (kept && isPlaying(kept) ? kept : players.find(isPlaying)) ?? kept ?? players[0];
  last.current = current?.bus_name;
  return current;
}

/** Outputs that were muted before stay muted when the others are unmuted. */
function MuteAll({ outputs }: { readonly outputs: readonly OutputRecord[] }) {
  const node = useNode();
  const mutedHere = useRef<readonly number[]>([]);
  const isSilent = outputs.every(({ muted }) => muted);
  const send = (desired: boolean): Promise<unknown> => {
    const own = outputs.filter(({ id }) => mutedHere.current.includes(id));
    const targets = desired ? outputs.filter(({ muted }) => !muted) : own.length > 0 ? own : outputs;
    if (desired) mutedHere.current = targets.map(({ id }) => id);
    return Promise.all(targets.map(({ id }) => node.muteOutput(id, { muted: desired })));
  };
  return <Toggle label={translate('muteAll')} icon="volume" iconOn="muted" isOn={isSilent} send={send} />;
}

/** The current streams in one sentence, for nodes without a media player. */
export function CurrentStreams(state: NodeState) {
  const sounding = soundingOf(state.clients);
  const [first] = sounding;
  if (first === undefined) return <Empty>{translate('nothingPlays')}</Empty>;
  const output = mainOutput(state);
  const where = output?.label ?? first.output;
  return (
    <div class="card sounding">
      <ForeignLine class="title">{first.name}</ForeignLine>
      <p class="quiet clip">
        <bdi>{first.app}</bdi>
        {where === undefined ? '' : ' · '}
        <bdi>{where}</bdi>
        {sounding.length > 1 ? ` · ${translate('andMore', { count: sounding.length - 1 })}` : ''}
      </p>
      {output?.muted || first.muted ? <p class="warn">{translate('muted')}</p> : null}
      {output === undefined ? null : <OutputVolume output={output} isMain />}
    </div>
  );
}

/** Cards of which all outputs are hidden are left out, too. */
export function withoutHidden(state: NodeState): NodeState {
  const outputs = [...state.outputs].filter(([, { hidden }]) => hidden !== true);
  if (outputs.length === state.outputs.size) return state;
  const cards = [...state.cards].filter(([, { name }]) => {
    const own = [...state.outputs.values()].filter(({ card }) => card === name);
    return own.length === 0 || own.some(({ hidden }) => hidden !== true);
  });
  return { ...state, outputs: new Map(outputs), cards: new Map(cards) };
}

/** The output that stands for none while the sound server has no card. */
const PLACEHOLDER = 'auto_null';

/** True if nothing can be heard on any of the outputs. */
export function hasNoSoundCard({ outputs, cards }: Pick<NodeState, 'outputs' | 'cards'>): boolean {
  const all = [...outputs.values()];
  return cards.size === 0 && all.length > 0 && all.every(({ name }) => name === PLACEHOLDER);
}
