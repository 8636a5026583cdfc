// A player's transport: previous, play or pause, next, repeat; and which of these are possible.

import type { ClientRecord, NodeState, PlayerRecord } from '../client/client.js';
import { ActionButton, useControl } from './controls.js';
import { Button } from './icons.js';
import { translate } from './language.js';
import { node } from './node.js';

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

/** Artist and album, as far as they are known. */
export function makerOf({ metadata = {} }: PlayerRecord): string {
  return [metadata['xesam:artist'], metadata['xesam:album']].filter(Boolean).join(' – ');
}

export function streamsOf({ pid }: PlayerRecord, clients: NodeState['clients']): readonly ClientRecord[] {
  const isOwn = ({ props }: ClientRecord) => props?.['application.process.id'] === String(pid);
  return pid === undefined ? [] : [...clients.values()].filter(isOwn);
}

/** For each mode its look, and the mode after a press. */
const LOOPS = {
  None: { text: 'loopNone', icon: 'loop', next: 'Playlist' },
  Playlist: { text: 'loopPlaylist', icon: 'loop', next: 'Track' },
  Track: { text: 'loopTrack', icon: 'loopOne', next: 'None' },
} as const;

interface TransportProps {
  readonly player: PlayerRecord;
  /** Makes a button's label, with the player's name if there are several. */
  readonly label: (what: string) => string;
}

export function LoopButton({ player, label: of }: TransportProps) {
  const { bus_name, loop_status = 'None', capabilities } = player;
  const send = (loop: keyof typeof LOOPS) => node.setLoop(bus_name, { loop });
  const { shown, set } = useControl(loop_status, send, of(translate('loop')));
  const { text, icon, next } = LOOPS[shown];
  return (
    <Button
      label={of(translate('loopOf', { what: translate(text) }))}
      icon={icon}
      isPressed={shown !== 'None'}
      disabled={!capabilities.can_control}
      onClick={() => set(next)}
    />
  );
}

/** Play or pause in one button, which keeps its place and the focus. */
export function PlayButton({ player, label }: TransportProps) {
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
    <Button
      class="main"
      icon={name}
      label={label(translate(name))}
      disabled={playing.shown ? !can.can_pause : !canPlay}
      onClick={() => playing.set(!playing.shown)}
    />
  );
}

export function TransportButtons({ player, label }: TransportProps) {
  const { bus_name, capabilities: can } = player;
  const button = (verb: 'previous' | 'next' | 'stop', isAble: boolean) => (
    <ActionButton
      icon={verb}
      label={label(translate(verb))}
      disabled={!isAble || !hasTrack(player)}
      send={() => node[verb](bus_name)}
    />
  );
  return (
    <>
      {button('previous', can.can_go_previous)}
      <PlayButton player={player} label={label} />
      {button('next', can.can_go_next)}
      {can.can_pause ? null : button('stop', can.can_control)}
    </>
  );
}
