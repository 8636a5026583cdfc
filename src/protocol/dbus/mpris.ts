// Table of the methods, signals and properties of media players in use, MPRIS (org.mpris.MediaPlayer2).
// Comments name the arguments of a method, and after `->` its reply. Data only. Reference: MPRIS D-Bus
// Interface Specification, version 2.2. Players are called by their unique names, so that a call starts no
// player.

import { getAll, getProperty, OWNER_CHANGES, type PropertyTable, setProperty } from './daemon.js';
import { type Match, methodsOf, signalRow } from './method.js';

export const ROOT_INTERFACE = 'org.mpris.MediaPlayer2';
export const PLAYER_NAMES = `${ROOT_INTERFACE}.`;
export const PLAYER_PATH = '/org/mpris/MediaPlayer2';
export const PLAYER_INTERFACE = `${PLAYER_NAMES}Player`;
export const TRACKLIST_INTERFACE = `${PLAYER_NAMES}TrackList`;
/** Stands for no track. A track that is added after it goes to the beginning of the list. */
export const NO_TRACK = `${PLAYER_PATH}/TrackList/NoTrack`;
/**
 * The interface by which playerctld is recognized. playerctld repeats the newest player under a name of its
 * own, and lists the names of the players that it stands for.
 */
export const STAND_IN_INTERFACE = 'com.github.altdesktop.playerctld';

/** Selects the signals by which the bus reports that players come, go or change their owner. */
export const PLAYER_OWNERS: Match = { ...OWNER_CHANGES, arg0namespace: ROOT_INTERFACE };

export function playerSignals(owner: string): Match {
  return { sender: owner, path: PLAYER_PATH };
}

/** The position, in microseconds, to which the player has jumped. */
export const SEEKED = signalRow(PLAYER_INTERFACE, 'Seeked', 'x');

export function playerMethods(owner: string) {
  const player = methodsOf(owner, PLAYER_PATH, PLAYER_INTERFACE);
  const tracklist = methodsOf(owner, PLAYER_PATH, TRACKLIST_INTERFACE);
  return {
    play: player('Play', ['', ''], 'players'),
    pause: player('Pause', ['', ''], 'players'),
    playPause: player('PlayPause', ['', ''], 'players'),
    stop: player('Stop', ['', ''], 'players'),
    next: player('Next', ['', ''], 'players'),
    previous: player('Previous', ['', ''], 'players'),
    /** An offset in microseconds. */
    seek: player('Seek', ['x', ''], 'players'),
    /**
     * Track, position in microseconds. The player ignores the call if another track plays, or if the position
     * is beyond the end.
     */
    setPosition: player('SetPosition', ['ox', ''], 'players'),
    /** Track ids -> metadata, each with `mpris:trackid`. */
    getTracksMetadata: tracklist('GetTracksMetadata', ['ao', 'aa{sv}'], 'none'),
    goTo: tracklist('GoTo', ['o', ''], 'players'),
    removeTrack: tracklist('RemoveTrack', ['o', ''], 'players'),
    /** URI, the track after which it is added, whether it plays at once. */
    addTrack: tracklist('AddTrack', ['sob', ''], 'players'),
    /** `getAll`, `get` and `set` are called on PLAYER_PATH. */
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
 * and says false.
 */
export const TRACKLIST_PROPERTIES = { Tracks: 'as', CanEditTracks: 'b' } as const satisfies PropertyTable;

export const STAND_IN_PROPERTIES = { PlayerNames: 'as' } as const satisfies PropertyTable;

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
