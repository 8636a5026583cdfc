// The volume control of an output, and the main one, for the output that plays now. Which player and which
// output are the current ones, and which outputs are hidden.

import type { ComponentChildren } from 'preact';
import { useContext, useRef, useState } from 'preact/hooks';
import type { ClientRecord, NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { Toggle } from './controls.js';
import { Button, type IconName } from './icons.js';
import { translate } from './language.js';
import { Changing } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { useLater } from './parts.js';
import { isPlaying, streamsOf } from './transport.js';
import { useVolumeStep, VolumeSlider } from './volume-slider.js';

/** Where no sound is allowed, a slider still needs an end above its beginning. */
const SLIDER_END_MIN = 0.01;

/** The output of the player's stream, else of any stream that plays, else the default. */
export function mainOutput({ outputs, clients }: NodeState, player?: PlayerRecord): OutputRecord | undefined {
  const all = [...outputs.values()];
  const [stream] = player === undefined ? soundingOf(clients) : streamsOf(player, clients);
  return all.find(({ name }) => name === stream?.output) ?? all.find((each) => each.default);
}

export function soundingOf(clients: NodeState['clients']): readonly ClientRecord[] {
  return [...clients.values()].filter(({ corked }) => !corked);
}

interface OutputProps {
  readonly output: OutputRecord;
  /** It stands for the room: it has buttons for steps, and the wheel moves it. */
  readonly isMain?: boolean;
}

export function OutputVolume({ output, isMain = false }: OutputProps) {
  return (
    <div class={`row volume ${isMain ? 'heard' : ''}`}>
      <OutputMute output={output} isMain={isMain} />
      {isMain ? <StepButton output={output.id} isUp={false} /> : null}
      <OutputSlider output={output} isMain={isMain} />
      {isMain ? <StepButton output={output.id} isUp /> : null}
    </div>
  );
}

/** `icon` stands for the kind of the output. */
export function OutputMute({ output, isMain, icon = 'volume' }: OutputProps & { readonly icon?: IconName }) {
  const node = useNode();
  const { id, label: name, muted } = output;
  return (
    <Toggle
      label={translate(isMain ? 'muteHere' : 'muteOf', { name })}
      icon={icon}
      iconOn="muted"
      isOn={muted}
      send={(desired) => node.muteOutput(id, { muted: desired })}
    />
  );
}

export function OutputSlider({
  output,
  isMain = false,
  children,
}: OutputProps & { readonly children?: ComponentChildren }) {
  const node = useNode();
  const { id, label: name, muted, volume, volume_limit: limit = 1 } = output;
  return (
    <VolumeSlider
      class="grow"
      label={translate(isMain ? 'volumeHere' : 'volumeOf', { name })}
      value={volume}
      max={Math.max(limit, SLIDER_END_MIN)}
      dim={muted}
      wheel={isMain}
      send={(desired) => node.setOutputVolume(id, { volume: desired })}
    >
      {children}
    </VolumeSlider>
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

/** The player that plays, else the last one that did, else the first. */
export function useCurrentPlayer(players: readonly PlayerRecord[]): PlayerRecord | undefined {
  const last = useRef<string | undefined>(undefined);
  const kept = players.find(({ bus_name }) => bus_name === last.current);
  const current = (kept && isPlaying(kept) ? kept : players.find(isPlaying)) ?? kept ?? players[0];
  last.current = current?.bus_name;
  return current;
}

/** The large player stays the same for this time after the last touch. */
const STAYS_MS = 4000;

/**
 * The current player; while somebody uses the players, the one that it was before, so that nothing moves
 * under a finger. `holding` is for the element around the players.
 */
export function useLargePlayer(players: readonly PlayerRecord[]) {
  const current = useCurrentPlayer(players);
  const [touches, setTouches] = useState(0);
  useLater(touches === 0 ? undefined : STAYS_MS, () => setTouches(0), [touches]);
  const last = useRef<string | undefined>(undefined);
  const kept = touches > 0 ? players.find(({ bus_name }) => bus_name === last.current) : undefined;
  const player = kept ?? current;
  last.current = player?.bus_name;
  const hold = (): void => setTouches((times) => times + 1);
  return { player, holding: { onPointerDown: hold, onKeyDown: hold } };
}

/** Outputs that were muted before stay muted when the others are unmuted. */
export function MuteAll({ outputs }: { readonly outputs: readonly OutputRecord[] }) {
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
