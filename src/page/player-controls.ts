// Decides which controls a player has, and which of them can be used now. Pure.

import type { PlayerRecord } from '../client/client.js';

/** `absent`: the player has no such control. `disabled`: the player has it, but it cannot be used now. */
type ControlState = 'usable' | 'disabled' | 'absent';

export interface PlayerControls {
  readonly previous: ControlState;
  /** `doubtful`: the player says that it cannot play, but it may be able to by now. */
  readonly play: ControlState | 'doubtful';
  readonly pause: ControlState;
  readonly next: ControlState;
  /** The stop button beside the other buttons. Only a player that cannot pause has it. */
  readonly stop: ControlState;
  /**
   * The stop button of a player that can pause. It is among the rarely needed controls, because some players
   * forget their list when they are stopped.
   */
  readonly seldomStop: ControlState;
  readonly shuffle: ControlState;
  readonly loop: ControlState;
  /**
   * The slider of the position. It is absent if the position is not known, or if the length is not known, as
   * for a radio station.
   */
  readonly position: ControlState;
  readonly volume: ControlState;
  /** The tracks of the player's list, each of which is a button. */
  readonly tracks: ControlState;
}

export function controlsOf(player: PlayerRecord): PlayerControls {
  const { capabilities: can, shuffle, loop_status, position, volume } = player;
  const usableIfControlled = usableIf(can.can_control);
  const stop = usableIf(can.can_control && hasTrack(player));
  const hasPosition = position !== undefined && lengthOf(player) > 0;
  return {
    previous: usableIf(can.can_go_previous),
    // `can_play` may be outdated: Mopidy starts with an empty list, and when tracks come, it does not
    // announce that it can play now.
    play: can.can_control && !can.can_play ? 'doubtful' : usableIfControlled,
    pause: usableIf(can.can_pause),
    next: usableIf(can.can_go_next),
    stop: can.can_pause ? 'absent' : stop,
    seldomStop: can.can_pause ? stop : 'absent',
    shuffle: shuffle === undefined ? 'absent' : usableIfControlled,
    loop: loop_status === undefined ? 'absent' : usableIfControlled,
    position: hasPosition ? usableIf(can.can_seek) : 'absent',
    volume: volume === undefined ? 'absent' : usableIfControlled,
    tracks: usableIfControlled,
  };
}

function usableIf(isUsable: boolean): ControlState {
  return isUsable ? 'usable' : 'disabled';
}

export function isPlaying({ playback_status }: PlayerRecord): boolean {
  return playback_status === 'Playing';
}

/** True if "Pause all" silences this player. It stops a player that cannot pause, and pauses any other. */
export function canBeSilenced(player: PlayerRecord): boolean {
  const { can_pause, can_control } = player.capabilities;
  return isPlaying(player) && (can_pause || can_control);
}

/** True if the player has a current track. A stopped player may have a list without a current track. */
export function hasTrack({ metadata = {}, playback_status }: PlayerRecord): boolean {
  return playback_status !== 'Stopped' || Boolean(metadata['xesam:title'] || metadata['xesam:url']);
}

/** The length of the track in microseconds; 0 if it is not known, as for a radio station. */
export function lengthOf({ metadata }: PlayerRecord): number {
  return Number(metadata?.['mpris:length']) || 0;
}
