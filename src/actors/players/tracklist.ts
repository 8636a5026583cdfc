// The tracklist of one player: when it is read, and the part of it that clients see.

import type { Clock } from '../../host/clock.js';
import { success } from '../../protocol/actor/result.js';
import type { TracklistRecord } from '../../protocol/actor/schemas.js';
import { PROPERTIES_CHANGED, readProperties } from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import {
  NO_TRACK,
  playerMethods,
  TRACKLIST_INTERFACE,
  TRACKLIST_PROPERTIES,
} from '../../protocol/dbus/mpris.js';
import type { Caller } from '../bus/bus.js';
import type { BusResult } from '../bus/fault.js';
import { isTrack, metadataOf } from './metadata.js';
import { CALL_OPTIONS, fetchProperties, isWithoutReply } from './properties.js';
import { RepeatedReading } from './repeated-reading.js';

/** Tracks of one list, from its beginning; a longer list is cut. */
const TRACKS_MAX = 500;
/**
 * UTF-16 units of all ids, keys and values of one list; tracks beyond that are left out. A usual track has
 * 300 units.
 */
const LIST_MAX_UNITS = 256 * 1024;
/**
 * Pause between two readings: a player that is filled with an album sends signals for each track, and a long
 * list costs 50 ms.
 */
const READ_PAUSE_MS = 500;
/** VLC 3.0 sends its signals as `MediaPlayer2.TrackList`, without the beginning of the name. */
const INTERFACE_END = 'MediaPlayer2.TrackList';

type Properties = Readonly<Record<string, unknown>>;
type Track = TracklistRecord['tracks'][number];

interface TracklistReading {
  readonly json: string;
  readonly canEdit: boolean;
  readonly tracks: readonly Track[];
  /** Also of a list that was cut; NO_TRACK for an empty one. */
  readonly lastId: string;
}

export class Tracklist {
  readonly #bus: Caller<'players'>;
  readonly #methods: ReturnType<typeof playerMethods>;
  readonly #changed: () => void;
  readonly readings: RepeatedReading;
  /** Undefined if the player has none, or has not answered yet. */
  reading: TracklistReading | undefined;
  /**
   * Tracks that were added, and are not in `Tracks` yet: VLC 3.0 completes that property only when the next
   * track begins.
   */
  readonly #added = new Set<string>();

  constructor(owner: string, bus: Caller<'players'>, clock: Clock, changed: () => void) {
    this.#bus = bus;
    this.#methods = playerMethods(owner);
    this.#changed = changed;
    this.readings = new RepeatedReading(clock, READ_PAUSE_MS, () => this.#read());
  }

  /** The id of a track of the list; `ref` is that id or its last segment. */
  idOf(ref: string): string | undefined {
    const ids = this.reading?.tracks.map(({ track_id }) => track_id) ?? [];
    return ids.find((id) => id === ref) ?? ids.find((id) => id.slice(id.lastIndexOf('/') + 1) === ref);
  }

  applySignal(signal: Signal): void {
    const [iface] = signalValues(PROPERTIES_CHANGED, signal) ?? [];
    if (signal.interface.endsWith(INTERFACE_END)) this.#trackAddedOrRemoved(signal);
    else if (iface !== TRACKLIST_INTERFACE) return;
    this.readings.again();
  }

  #trackAddedOrRemoved({ member, values: [value] }: Signal): void {
    if (member === 'TrackListReplaced') this.#added.clear();
    if (member === 'TrackRemoved' && typeof value === 'string') this.#added.delete(value);
    if (member !== 'TrackAdded') return;
    // VLC 3.0 sends a list of metadata where the specification has one.
    const [metadata] = [value].flat() as readonly (Properties | undefined)[];
    const id = metadata?.['mpris:trackid'];
    if (typeof id === 'string' && isTrack(id) && this.#added.size < TRACKS_MAX) this.#added.add(id);
  }

  async #read(): Promise<boolean> {
    const read = await this.#readOnce();
    if (!read.ok) return false;
    if (this.readings.isStopped || read.value?.json === this.reading?.json) return true;
    this.reading = read.value;
    this.#changed();
    return true;
  }

  /**
   * The value is undefined for a player without a tracklist: it refuses to answer, or answers something else.
   * It is an error if the player does not answer at all.
   */
  async #readOnce(): Promise<BusResult<TracklistReading | undefined>> {
    const bus = this.#bus;
    const listed = await fetchProperties(bus, this.#methods, TRACKLIST_INTERFACE, TRACKLIST_PROPERTIES);
    if (!listed.ok) return isWithoutReply(listed.error) ? listed : success(undefined);
    const { Tracks, CanEditTracks = false } = readProperties(TRACKLIST_PROPERTIES, listed.value);
    if (Tracks === undefined) return success(undefined);
    for (const id of Tracks) this.#added.delete(id);
    const all = [...new Set([...Tracks.filter(isTrack), ...this.#added])];
    const ids = all.slice(0, TRACKS_MAX);
    const described = await bus.call(this.#methods.getTracksMetadata, [ids], CALL_OPTIONS);
    if (!described.ok && isWithoutReply(described.error)) return described;
    const tracks = tracksOf(ids, described.ok ? described.value : []);
    const record: TracklistRecord = { can_edit_tracks: CanEditTracks, tracks };
    const lastId = all.at(-1) ?? NO_TRACK;
    return success({ json: JSON.stringify(record), canEdit: CanEditTracks, tracks, lastId });
  }
}

function tracksOf(ids: readonly string[], described: readonly Properties[]): Track[] {
  const byId = new Map(described.slice(0, ids.length).map((each) => [each['mpris:trackid'], each]));
  const tracks: Track[] = [];
  let left = LIST_MAX_UNITS;
  for (const id of ids) {
    const metadata = metadataOf(byId.get(id) ?? {}).texts;
    left -= [id, ...Object.entries(metadata).flat()].reduce((sum, text) => sum + text.length, 0);
    if (left < 0) break;
    tracks.push({ track_id: id, metadata });
  }
  return tracks;
}
