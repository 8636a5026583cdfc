// Decides when the tracklist of one player is read, and which part of it clients get.

import type { Clock } from '../../host/clock.js';
import { success } from '../../protocol/actor/result.js';
import type { TracklistRecord } from '../../protocol/actor/schemas.js';
import { PROPERTIES_CHANGED, readProperties } from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { playerMethods, TRACKLIST_INTERFACE, TRACKLIST_PROPERTIES } from '../../protocol/dbus/mpris.js';
import type { BusCaller } from '../bus/bus.js';
import type { BusResult } from '../bus/fault.js';
import { isTrackId, metadataOf } from './metadata.js';
import { CALL_OPTIONS, fetchProperties, isWithoutReply } from './properties.js';
import { RepeatedReading } from './repeated-reading.js';

/** Clients get at most this many tracks of a list. Further tracks are left out. */
const TRACKS_MAX = 500;
/**
 * Commands can name this many tracks at the beginning of a list. They can also name the last track, because a
 * new track is usually added after it.
 */
const IDS_MAX = 20_000;
/**
 * All ids, keys and values of one list together have at most this many UTF-16 units. Further tracks are left
 * out. A usual track has 300 units.
 */
const LIST_MAX_UNITS = 256 * 1024;
/**
 * This pause is long, because a player sends signals for each track of an album that is added, and a reading
 * of a long list costs 50 ms.
 */
const READ_PAUSE_MS = 500;
/** VLC 3.0 sends the list's signals from an interface whose name lacks the beginning `org.mpris.`. */
const TRACKLIST_INTERFACE_SUFFIX = 'MediaPlayer2.TrackList';

type TrackMetadata = Readonly<Record<string, unknown>>;
type Track = TracklistRecord['tracks'][number];

export interface TracklistReading {
  /** The record of the tracklist. */
  readonly json: string;
  readonly canEdit: boolean;
  /** The first `IDS_MAX` ids of the list, and the last id. `json` may have fewer tracks. */
  readonly ids: readonly string[];
}

export class Tracklist {
  readonly #bus: BusCaller<'players'>;
  readonly #methods: ReturnType<typeof playerMethods>;
  readonly #onChange: () => void;
  readonly readings: RepeatedReading;
  /** The newest reading; undefined if the player has no tracklist, or has not answered yet. */
  newestReading: TracklistReading | undefined;
  /**
   * Signals have announced these tracks, but the property `Tracks` does not have them yet. VLC 3.0 adds a
   * track to this property only when the next track begins.
   */
  readonly #announcedIds = new Set<string>();

  /** `onChange`: called when the record of a reading differs from the record before. */
  constructor(owner: string, bus: BusCaller<'players'>, clock: Clock, onChange: () => void) {
    this.#bus = bus;
    this.#methods = playerMethods(owner);
    this.#onChange = onChange;
    this.readings = new RepeatedReading(clock, READ_PAUSE_MS, () => this.#read());
  }

  applySignal(signal: Signal): void {
    // A signal is about the list if it is of the list's interface, or announces that properties of this
    // interface have changed.
    const [changedInterface] = signalValues(PROPERTIES_CHANGED, signal) ?? [];
    if (signal.interface.endsWith(TRACKLIST_INTERFACE_SUFFIX)) this.#updateAnnouncedIds(signal);
    else if (changedInterface !== TRACKLIST_INTERFACE) return;
    this.readings.request();
  }

  #updateAnnouncedIds({ member, values }: Signal): void {
    const [value] = values;
    if (member === 'TrackListReplaced') this.#announcedIds.clear();
    if (member === 'TrackRemoved' && typeof value === 'string') this.#announcedIds.delete(value);
    if (member !== 'TrackAdded' || this.#announcedIds.size >= TRACKS_MAX) return;
    // By the specification, the value is the metadata of one track. VLC 3.0 sends a list with this metadata.
    const [metadata] = [value].flat() as readonly (TrackMetadata | undefined)[];
    const id = metadata?.['mpris:trackid'];
    if (typeof id === 'string' && isTrackId(id)) this.#announcedIds.add(id);
  }

  /** Resolves to false if the player did not answer. */
  async #read(): Promise<boolean> {
    const result = await this.#readOnce();
    if (!result.ok) return false;
    if (this.readings.isStopped) return true;
    const hasRecordChanged = result.value?.json !== this.newestReading?.json;
    // The reading is kept even if the record is the same: in a long list, `ids` may change in the part
    // that clients do not get.
    this.newestReading = result.value;
    if (hasRecordChanged) this.#onChange();
    return true;
  }

  /**
   * A player without a tracklist answers with an error, or without `Tracks`. For such a player the value is
   * undefined. The result is an error only if a call gets no reply.
   */
  async #readOnce(): Promise<BusResult<TracklistReading | undefined>> {
    const bus = this.#bus;
    const listed = await fetchProperties(bus, this.#methods, TRACKLIST_INTERFACE, TRACKLIST_PROPERTIES);
    if (!listed.ok) return isWithoutReply(listed.error) ? listed : success(undefined);
    const { Tracks, CanEditTracks = false } = readProperties(TRACKLIST_PROPERTIES, listed.value);
    if (Tracks === undefined) return success(undefined);
    for (const id of Tracks) this.#announcedIds.delete(id);
    const allIds = [...new Set([...Tracks.filter(isTrackId), ...this.#announcedIds])];
    const publishedIds = allIds.slice(0, TRACKS_MAX);
    const described = await bus.call(this.#methods.getTracksMetadata, [publishedIds], CALL_OPTIONS);
    if (!described.ok && isWithoutReply(described.error)) return described;
    // If the player refuses to describe its tracks, clients get only the ids.
    const tracks = boundedTracks(publishedIds, described.ok ? described.value : []);
    const record: TracklistRecord = { can_edit_tracks: CanEditTracks, tracks };
    const keptIds = allIds.length > IDS_MAX ? [...allIds.slice(0, IDS_MAX), ...allIds.slice(-1)] : allIds;
    return success({ json: JSON.stringify(record), canEdit: CanEditTracks, ids: keptIds });
  }
}

/** The first tracks of the list, up to `LIST_MAX_UNITS`. */
function boundedTracks(ids: readonly string[], metadataList: readonly TrackMetadata[]): Track[] {
  // A player may send the metadata of more tracks than were requested.
  const boundedList = metadataList.slice(0, ids.length);
  const metadataById = new Map(boundedList.map((metadata) => [metadata['mpris:trackid'], metadata]));
  const tracks: Track[] = [];
  let unitsLeft = LIST_MAX_UNITS;
  for (const id of ids) {
    const { texts } = metadataOf(metadataById.get(id) ?? {});
    const keysAndValues = Object.entries(texts).flat();
    unitsLeft -= [id, ...keysAndValues].join('').length;
    if (unitsLeft < 0) break;
    tracks.push({ track_id: id, metadata: texts });
  }
  return tracks;
}
