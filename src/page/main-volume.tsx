// Decides which player is drawn large, which output has the main volume, and which outputs the page leaves
// out. Draws the volume of an output, and the button that mutes all outputs.

import type { ComponentChildren } from 'preact';
import { useContext, useRef, useState } from 'preact/hooks';
import type { NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { Toggle } from './controls.js';
import { Button, type IconName } from './icons.js';
import { translate } from './language.js';
import { IfMayChange } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { useLater } from './parts.js';
import { isPlaying } from './player-controls.js';
import { playerStreams, soundingStreams } from './transport.js';
import { useVolumeStep, VolumeSlider } from './volume-slider.js';

/**
 * The value at the end of a slider is at least this. Without this minimum, a slider with a volume limit of 0
 * would begin and end at 0.
 */
const SLIDER_END_MIN = 0.01;

/** The name of the output that a sound server makes while it has no card. */
const PLACEHOLDER = 'auto_null';

/**
 * Returns the output of one stream: the player's first stream, or else the first stream that is not paused.
 * Without such a stream, or if its output is hidden (`withoutHidden`) or the placeholder, returns the default
 * output. The result is neither hidden nor the placeholder, so it may be undefined.
 */
export function mainOutput({ outputs, clients }: NodeState, player?: PlayerRecord): OutputRecord | undefined {
  const candidates = [...outputs.values()].filter(({ name }) => name !== PLACEHOLDER);
  const streams = [...playerStreams(player, clients), ...soundingStreams(clients)];
  const playing = candidates.find(({ name }) => name === streams[0]?.output);
  return playing ?? candidates.find((output) => output.default);
}

interface OutputProps {
  readonly output: OutputRecord;
  /** True for the page's main volume. Only this volume has buttons for steps, and follows the mouse wheel. */
  readonly isMain?: boolean;
}

export function OutputVolume({ output, isMain = false }: OutputProps) {
  // When another output takes the place of this one, the `key` makes a new element. So a drag or a tap ends,
  // and does not set the volume of the other output.
  return (
    <div key={output.id} class={`row volume ${isMain ? 'heard' : ''}`}>
      <OutputMute output={output} isMain={isMain} />
      {isMain ? <StepButton outputId={output.id} isUp={false} /> : null}
      <OutputSlider output={output} isMain={isMain} />
      {isMain ? <StepButton outputId={output.id} isUp /> : null}
    </div>
  );
}

/** `icon` is drawn while the output is not muted. It may show the kind of the output (output-icon.ts). */
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
  const { id, label: name, muted, volume, volume_limit = 1 } = output;
  return (
    <VolumeSlider
      class="grow"
      label={translate(isMain ? 'volumeHere' : 'volumeOf', { name })}
      value={volume}
      max={Math.max(volume_limit, SLIDER_END_MIN)}
      isDim={muted}
      hasWheel={isMain}
      send={(desired) => node.setOutputVolume(id, { volume: desired })}
    >
      {children}
    </VolumeSlider>
  );
}

/** Each press sends a step, even while another request is open, because the node adds up the steps. */
function StepButton({ outputId, isUp }: { readonly outputId: number; readonly isUp: boolean }) {
  const node = useNode();
  const report = useContext(Reporting);
  const readStep = useVolumeStep();
  const label = translate(isUp ? 'louder' : 'quieter');
  const failureTitle = translate('didNotWork', { what: label });
  const press = () => {
    const delta = isUp ? readStep() : -readStep();
    return report(failureTitle, node.setOutputVolume(outputId, { delta }));
  };
  return (
    <IfMayChange>
      <Button class="step" icon={isUp ? 'plus' : 'minus'} label={label} onClick={press} />
    </IfMayChange>
  );
}

/**
 * Returns the first of these players that exists. `previous` is the result of the last call.
 * - the previous player, if it still plays
 * - the first player that plays
 * - the previous player
 * - the first player that is paused, because somebody may want to continue it
 * - the first player
 */
export function currentPlayer(
  players: readonly PlayerRecord[],
  previous: PlayerRecord | undefined,
): PlayerRecord | undefined {
  const remaining = newestRecord(players, previous);
  const stillPlaying = remaining !== undefined && isPlaying(remaining) ? remaining : undefined;
  const paused = players.find(({ playback_status }) => playback_status === 'Paused');
  return stillPlaying ?? players.find(isPlaying) ?? remaining ?? paused ?? players[0];
}

/** Returns the newest record of `player`; undefined if this player is gone. */
function newestRecord(
  players: readonly PlayerRecord[],
  player: PlayerRecord | undefined,
): PlayerRecord | undefined {
  return players.find(({ bus_name }) => bus_name === player?.bus_name);
}

/** The large player does not change for this time after the last touch: a press of a pointer or a key. */
const KEPT_AFTER_TOUCH_MS = 4000;

/**
 * Returns the player that is drawn large, and the listeners for the element around all players. The large
 * player does not change while somebody uses the players, so that nothing moves under a finger.
 */
export function useLargePlayer(players: readonly PlayerRecord[]) {
  /** The result of `currentPlayer`. It is drawn large unless somebody uses the players. */
  const preferred = useRef<PlayerRecord | undefined>(undefined);
  preferred.current = currentPlayer(players, preferred.current);
  // A further touch changes the count, and thus begins the time anew. A boolean would stay the same.
  const [recentTouches, setRecentTouches] = useState(0);
  const isInUse = recentTouches > 0;
  useLater(isInUse ? KEPT_AFTER_TOUCH_MS : undefined, () => setRecentTouches(0), [recentTouches]);
  /** The player that was large in the last drawing. It stays large while somebody uses the players. */
  const drawn = useRef<PlayerRecord | undefined>(undefined);
  const keptPlayer = isInUse ? newestRecord(players, drawn.current) : undefined;
  const player = keptPlayer ?? preferred.current;
  drawn.current = player;
  const noteTouch = (): void => setRecentTouches((count) => count + 1);
  return { player, touchListeners: { onPointerDown: noteTouch, onKeyDown: noteTouch } };
}

/**
 * Mutes all outputs. When all are muted, a press unmutes only the outputs that the last muting press has
 * muted. If there are no such outputs, the press unmutes all.
 */
export function MuteAll({ outputs }: { readonly outputs: readonly OutputRecord[] }) {
  const node = useNode();
  /** The ids of the outputs that the last muting press has muted. */
  const mutedHere = useRef<readonly number[]>([]);
  const areAllMuted = outputs.every(({ muted }) => muted);
  const send = (desired: boolean): Promise<unknown> => {
    const audible = outputs.filter(({ muted }) => !muted);
    const outputsMutedHere = outputs.filter(({ id }) => mutedHere.current.includes(id));
    const toUnmute = outputsMutedHere.length > 0 ? outputsMutedHere : outputs;
    const targets = desired ? audible : toUnmute;
    if (desired) mutedHere.current = targets.map(({ id }) => id);
    return Promise.all(targets.map(({ id }) => node.muteOutput(id, { muted: desired })));
  };
  return <Toggle label={translate('muteAll')} icon="volume" iconOn="muted" isOn={areAllMuted} send={send} />;
}

/** The state without hidden outputs, and without cards that have only hidden outputs. */
export function withoutHidden(state: NodeState): NodeState {
  const outputs = [...state.outputs].filter(([, { hidden }]) => hidden !== true);
  if (outputs.length === state.outputs.size) return state;
  const cards = [...state.cards].filter(([, { name }]) => {
    const outputsOfCard = [...state.outputs.values()].filter(({ card }) => card === name);
    return outputsOfCard.length === 0 || outputsOfCard.some(({ hidden }) => hidden !== true);
  });
  return { ...state, outputs: new Map(outputs), cards: new Map(cards) };
}

/** True if there is no card, and the placeholder is the only output. Then the node cannot make sound. */
export function hasNoSoundCard({ outputs, cards }: Pick<NodeState, 'outputs' | 'cards'>): boolean {
  const names = [...outputs.values()].map(({ name }) => name);
  const hasOnlyPlaceholders = names.length > 0 && names.every((name) => name === PLACEHOLDER);
  return cards.size === 0 && hasOnlyPlaceholders;
}
