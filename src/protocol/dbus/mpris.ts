// MPRIS (org.mpris.MediaPlayer2): the methods, signals and properties of media players that are used. Data only.
// Reference: MPRIS D-Bus Interface Specification, version 2.2. Players are called by their unique names: nobody is started by that.

import { BUS_NAME, getAll, setProperty } from './daemon.js';
import { type Match, methodsOf, signalRow } from './method.js';
import type { PropertyTable } from './properties.js';

const ROOT = 'org.mpris.MediaPlayer2';

/** What every player's bus name begins with. */
export const PLAYER_NAMES = `${ROOT}.`;
export const PLAYER_PATH = '/org/mpris/MediaPlayer2';
export const ROOT_INTERFACE = ROOT;
export const PLAYER_INTERFACE = `${ROOT}.Player`;

/** Players that come, go or change hands. */
export const PLAYER_OWNERS: Match = {
  sender: BUS_NAME,
  interface: BUS_NAME,
  member: 'NameOwnerChanged',
  arg0Namespace: ROOT,
};

/** All that a connection says as a player. */
export function playerSignals(owner: string): Match {
  return { sender: owner, path: PLAYER_PATH };
}

/** The position, in microseconds, to which the player has jumped. */
export const SEEKED = signalRow(PLAYER_INTERFACE, 'Seeked', 'x');

/** The methods of the player that a connection is. */
export function playerMethods(owner: string) {
  const player = methodsOf(owner, PLAYER_PATH, PLAYER_INTERFACE);
  return {
    play: player('Play', ['', ''], 'players'),
    pause: player('Pause', ['', ''], 'players'),
    playPause: player('PlayPause', ['', ''], 'players'),
    stop: player('Stop', ['', ''], 'players'),
    next: player('Next', ['', ''], 'players'),
    previous: player('Previous', ['', ''], 'players'),
    /** By so many microseconds. */
    seek: player('Seek', ['x', ''], 'players'),
    /** Track and position in it, in microseconds. Ignored by the player when another track plays, or when it lies beyond the end. */
    setPosition: player('SetPosition', ['ox', ''], 'players'),
    /** Called on PLAYER_PATH, as is the next. */
    getAll: getAll(owner),
    set: setProperty(owner, 'players'),
  } as const;
}

export const ROOT_PROPERTIES = {
  Identity: 's',
  CanRaise: 'b',
  CanQuit: 'b',
} as const satisfies PropertyTable;

/** `Position` and `mpris:length` of the metadata are microseconds. */
export const PLAYER_PROPERTIES = {
  PlaybackStatus: 's',
  LoopStatus: 's',
  Rate: 'd',
  Shuffle: 'b',
  Metadata: 'a{sv}',
  Volume: 'd',
  Position: 'x',
  CanGoNext: 'b',
  CanGoPrevious: 'b',
  CanPlay: 'b',
  CanPause: 'b',
  CanSeek: 'b',
  CanControl: 'b',
} as const satisfies PropertyTable;
