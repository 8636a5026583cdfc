// A player's transport: previous, play or pause, next, repeat; and which of these are possible.

import type { ClientRecord, PlayerRecord, Tonearm } from '../client/client.js';
import { ActionButton, useControl } from './controls.js';
import { IconButton } from './icons.js';
import { translate } from './language.js';

export function isPlaying({ playback_status }: PlayerRecord): boolean {
  return playback_status === 'Playing';
}

/** Without a track nothing can be skipped or stopped, whatever the player reports. */
export function hasTrack({ metadata = {}, playback_status }: PlayerRecord): boolean {
  return playback_status !== 'Stopped' || Boolean(metadata['xesam:title'] || metadata['xesam:url']);
}

export function titleOf(player: PlayerRecord): string {
  const { metadata = {} } = player;
  if (!hasTrack(player)) return translate('nothingPlays');
  return metadata['xesam:title'] || metadata['xesam:url'] || translate('untitled');
}

export function streamsOf({ pid }: PlayerRecord, streams: readonly ClientRecord[]): readonly ClientRecord[] {
  if (pid === undefined) return [];
  return streams.filter(({ props }) => props?.['application.process.id'] === String(pid));
}

type LoopStatus = NonNullable<PlayerRecord['loop_status']>;

/** For each mode its look, and the mode after a press. */
const LOOPS = {
  None: { text: 'loopNone', icon: 'loop', next: 'Playlist' },
  Playlist: { text: 'loopPlaylist', icon: 'loop', next: 'Track' },
  Track: { text: 'loopTrack', icon: 'loopOne', next: 'None' },
} as const;

/** A button's label, with the player's name if there are several. */
export type Label = (what: string) => string;

interface LoopProps {
  readonly status: LoopStatus;
  readonly label: Label;
  readonly disabled: boolean;
  readonly send: (status: LoopStatus) => Promise<unknown>;
}

export function LoopButton({ status, label: of, disabled, send }: LoopProps) {
  const { shown, set } = useControl(status, send, of(translate('loop')));
  const { text, icon, next } = LOOPS[shown];
  const label = of(translate('loopOf', { what: translate(text) }));
  return <IconButton {...{ label, icon, disabled }} isPressed={shown !== 'None'} onClick={() => set(next)} />;
}

interface TransportProps {
  readonly node: Tonearm;
  readonly player: PlayerRecord;
  readonly label: Label;
}

/** Play or pause in one button, which keeps its place and the focus. */
export function PlayButton({ node, player, label }: TransportProps) {
  const { bus_name, capabilities: can, tracklist_supported, identity } = player;
  const playing = useControl(
    isPlaying(player),
    (wanted) => (wanted ? node.play(bus_name) : node.pause(bus_name)),
    identity,
  );
  // A player with a track list starts it; others would accept the command and do nothing.
  const canPlay = can.can_play && (hasTrack(player) || tracklist_supported);
  const name = playing.shown ? 'pause' : 'play';
  return (
    <IconButton
      class="main"
      icon={name}
      label={label(translate(name))}
      disabled={playing.shown ? !can.can_pause : !canPlay}
      onClick={() => playing.set(!playing.shown)}
    />
  );
}

export function TransportButtons({ node, player, label }: TransportProps) {
  const { bus_name, capabilities: can } = player;
  const isAble = hasTrack(player);
  return (
    <>
      <ActionButton
        class="icon-button"
        icon="previous"
        label={label(translate('previous'))}
        disabled={!can.can_go_previous || !isAble}
        send={() => node.previous(bus_name)}
      />
      <PlayButton node={node} player={player} label={label} />
      <ActionButton
        class="icon-button"
        icon="next"
        label={label(translate('next'))}
        disabled={!can.can_go_next || !isAble}
        send={() => node.next(bus_name)}
      />
      {can.can_pause ? null : (
        <ActionButton
          class="icon-button"
          icon="stop"
          label={label(translate('stop'))}
          disabled={!can.can_control || !isAble}
          send={() => node.stop(bus_name)}
        />
      )}
    </>
  );
}
