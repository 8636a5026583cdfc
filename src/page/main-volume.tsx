// Decides which player and which output the page is about, and which outputs it leaves out. Draws the volume
// of an output.

import type { ComponentChildren } from 'preact';
import { useContext, useRef, useState } from 'preact/hooks';
import type { ClientRecord, NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { Toggle } from './controls.js';
import { Button, type IconName } from './icons.js';
import { translate } from './language.js';
import { IfMayChange } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { useLater } from './parts.js';
import { isPlaying } from './player-controls.js';
import { playerStreams } from './transport.js';
import { useVolumeStep, VolumeSlider } from './volume-slider.js';

/** The smallest end of a slider, because a slider with a volume limit of 0 would have no length. */
const SLIDER_END_MIN = 0.01;

/**
 * The output of the player's stream; without a player, that of the first stream that is not paused. The
 * default output if there is no such stream.
 */
export function mainOutput({ outputs, clients }: NodeState, player?: PlayerRecord): OutputRecord | undefined {
  const all = [...outputs.values()];
  const [stream] = player === undefined ? soundingStreams(clients) : playerStreams(player, clients);
  return all.find(({ name }) => name === stream?.output) ?? all.find((output) => output.default);
}

/** The streams that are not paused. */
export function soundingStreams(clients: NodeState['clients']): readonly ClientRecord[] {
  return [...clients.values()].filter(({ corked }) => !corked);
}

interface OutputProps {
  readonly output: OutputRecord;
  /** True for the volume of the room. This one has buttons for steps, and the mouse wheel moves it. */
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

/** `icon` shows the kind of the output. */
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
      hasWheel={isMain}
      send={(desired) => node.setOutputVolume(id, { volume: desired })}
    >
      {children}
    </VolumeSlider>
  );
}

/** Each press sends a step, also while another step is under way, because the node adds them up. */
function StepButton({ output, isUp }: { readonly output: number; readonly isUp: boolean }) {
  const node = useNode();
  const report = useContext(Reporting);
  const step = useVolumeStep();
  const label = translate(isUp ? 'louder' : 'quieter');
  const failureTitle = translate('didNotWork', { what: label });
  const press = () => report(failureTitle, node.setOutputVolume(output, { delta: isUp ? step() : -step() }));
  return (
    <IfMayChange>
      <Button class="step" icon={isUp ? 'plus' : 'minus'} label={label} onClick={press} />
    </IfMayChange>
  );
}

/** The player that plays; if none plays, the one that played last; if none has played, the first. */
export function useCurrentPlayer(players: readonly PlayerRecord[]): PlayerRecord | undefined {
  const lastName = useRef<string | undefined>(undefined);
  const last = players.find(({ bus_name }) => bus_name === lastName.current);
  const stillPlaying = last !== undefined && isPlaying(last) ? last : undefined;
  const current = stillPlaying ?? players.find(isPlaying) ?? last ?? players[0];
  lastName.current = current?.bus_name;
  return current;
}

/** The large player stays the same for this time after the last touch. */
const STAYS_MS = 4000;

/**
 * Returns the current player. While somebody uses the players, it stays the player that was current before,
 * so that nothing moves under a finger. `touchListeners` are the listeners of the element around the players.
 */
export function useLargePlayer(players: readonly PlayerRecord[]) {
  const current = useCurrentPlayer(players);
  const [touches, setTouches] = useState(0);
  useLater(touches === 0 ? undefined : STAYS_MS, () => setTouches(0), [touches]);
  const lastName = useRef<string | undefined>(undefined);
  const last = players.find(({ bus_name }) => bus_name === lastName.current);
  const player = (touches > 0 ? last : undefined) ?? current;
  lastName.current = player?.bus_name;
  const noteTouch = (): void => setTouches((count) => count + 1);
  return { player, touchListeners: { onPointerDown: noteTouch, onKeyDown: noteTouch } };
}

/** Outputs that were muted before stay muted when the others are unmuted. */
export function MuteAll({ outputs }: { readonly outputs: readonly OutputRecord[] }) {
  const node = useNode();
  const mutedHere = useRef<readonly number[]>([]);
  const isSilent = outputs.every(({ muted }) => muted);
  const send = (desired: boolean): Promise<unknown> => {
    const audible = outputs.filter(({ muted }) => !muted);
    const own = outputs.filter(({ id }) => mutedHere.current.includes(id));
    const toUnmute = own.length > 0 ? own : outputs;
    const targets = desired ? audible : toUnmute;
    if (desired) mutedHere.current = targets.map(({ id }) => id);
    return Promise.all(targets.map(({ id }) => node.muteOutput(id, { muted: desired })));
  };
  return <Toggle label={translate('muteAll')} icon="volume" iconOn="muted" isOn={isSilent} send={send} />;
}

/** The state without hidden outputs, and without cards that have only hidden outputs. */
export function withoutHidden(state: NodeState): NodeState {
  const outputs = [...state.outputs].filter(([, { hidden }]) => hidden !== true);
  if (outputs.length === state.outputs.size) return state;
  const cards = [...state.cards].filter(([, { name }]) => {
    const own = [...state.outputs.values()].filter(({ card }) => card === name);
    return own.length === 0 || own.some(({ hidden }) => hidden !== true);
  });
  return { ...state, outputs: new Map(outputs), cards: new Map(cards) };
}

/** The output that a sound server makes while it has no card. */
const PLACEHOLDER = 'auto_null';

/** True if nothing can be heard on any of the outputs. */
export function hasNoSoundCard({ outputs, cards }: Pick<NodeState, 'outputs' | 'cards'>): boolean {
  const all = [...outputs.values()];
  return cards.size === 0 && all.length > 0 && all.every(({ name }) => name === PLACEHOLDER);
}
