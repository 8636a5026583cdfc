// Lists the methods, signals and properties of media players (org.mpris.MediaPlayer2) that the daemon uses.
// Data only. Reference: MPRIS D-Bus Interface Specification, version 2.2.

import { getAll, getProperty, OWNER_CHANGES_MATCH, type PropertyTable, setProperty } from './daemon.js';
import { type Match, methodsOf, signalRow } from './method.js';

export const ROOT_INTERFACE = 'org.mpris.MediaPlayer2';
export const PLAYER_NAME_PREFIX = `${ROOT_INTERFACE}.`;
export const PLAYER_PATH = '/org/mpris/MediaPlayer2';
export const PLAYER_INTERFACE = `${PLAYER_NAME_PREFIX}Player`;
export const TRACKLIST_INTERFACE = `${PLAYER_NAME_PREFIX}TrackList`;
/** This id stands for no track. A track that is added after `NO_TRACK` becomes the first one of the list. */
export const NO_TRACK = `${PLAYER_PATH}/TrackList/NoTrack`;
/**
 * playerctld is a program that repeats the state of the player that was active last (playerctl(1)). Its name
 * on the bus is like that of a player. Only playerctld has this interface, and its property `PlayerNames`
 * lists the names of all players.
 */
export const PLAYERCTLD_INTERFACE = 'com.github.altdesktop.playerctld';

/** Selects the signals by which the bus reports that a player's name gets, changes or loses its owner. */
export const PLAYER_OWNERS: Match = { ...OWNER_CHANGES_MATCH, arg0namespace: ROOT_INTERFACE };

/** Selects all signals of the player that has the unique name `owner`. */
export function playerSignals(owner: string): Match {
  return { sender: owner, path: PLAYER_PATH };
}

/** The new position in microseconds, after a jump. */
export const SEEKED = signalRow(PLAYER_INTERFACE, 'Seeked', 'x');

/**
 * The rows for one player. `owner` is its unique name, because a call to a well-known name could start a
 * player. `methodsOf` (method.ts) explains the form of a row. Comments name the arguments. An arrow (`->`)
 * stands before the reply.
 */
export function playerMethods(owner: string) {
  const playerMethod = methodsOf(owner, PLAYER_PATH, PLAYER_INTERFACE);
  const tracklistMethod = methodsOf(owner, PLAYER_PATH, TRACKLIST_INTERFACE);
  return {
    play: playerMethod('Play', ['', ''], 'players'),
    pause: playerMethod('Pause', ['', ''], 'players'),
    playPause: playerMethod('PlayPause', ['', ''], 'players'),
    stop: playerMethod('Stop', ['', ''], 'players'),
    next: playerMethod('Next', ['', ''], 'players'),
    previous: playerMethod('Previous', ['', ''], 'players'),
    /** The offset from the present position, in microseconds. */
    seek: playerMethod('Seek', ['x', ''], 'players'),
    /**
     * Track, position in microseconds. The player ignores the call if another track plays, or if the position
     * is beyond the end.
     */
    setPosition: playerMethod('SetPosition', ['ox', ''], 'players'),
    /** Track ids -> the metadata of each track, with its id as `mpris:trackid`. */
    getTracksMetadata: tracklistMethod('GetTracksMetadata', ['ao', 'aa{sv}'], 'none'),
    goTo: tracklistMethod('GoTo', ['o', ''], 'players'),
    removeTrack: tracklistMethod('RemoveTrack', ['o', ''], 'players'),
    /** URI of the new track, the track before it in the list, whether the new track plays at once. */
    addTrack: tracklistMethod('AddTrack', ['sob', ''], 'players'),
    /** The rows of `getAll`, `get` and `set` have no path, so each call must name PLAYER_PATH. */
    getAll: getAll(owner),
    get: getProperty(owner),
    set: setProperty(owner, 'players'),
  } as const;
}

export const ROOT_PROPERTIES = {
  Identity: 's',
  CanRaise: 'b',
  CanQuit: 'b',
  SupportedUriSchemes: 'as',
} as const satisfies PropertyTable;

/**
 * A player has a tracklist if it has `Tracks`. `HasTrackList` is not used, because VLC 3.0 has a tracklist
 * although this property is false there.
 */
export const TRACKLIST_PROPERTIES = { Tracks: 'as', CanEditTracks: 'b' } as const satisfies PropertyTable;

export const PLAYERCTLD_PROPERTIES = { PlayerNames: 'as' } as const satisfies PropertyTable;

/** `Position` is in microseconds. `mpris:length` in `Metadata` is in microseconds, too. */
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
