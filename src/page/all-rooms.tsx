// Draws the controls that act on all rooms together: pause, mute, and one slider that changes the volumes of
// all rooms in proportion.

import { useContext, useRef, useState } from 'preact/hooks';
import { ActionButton, Toggle } from './controls.js';
import { formatPercent, translate } from './language.js';
import { mayChange } from './may-change.js';
import { Reporting } from './notices.js';
import { canBeSilenced } from './player-controls.js';
import { loudest, type RoomVolume } from './proportion.js';
import { RoomVolumes } from './room-volumes.js';
import { Slider } from './slider.js';
import type { NamedRoom } from './use-house.js';

/** A room whose volume can be changed now. */
interface ChangeableRoom extends RoomVolume {
  readonly label: string;
  readonly muted: boolean;
  readonly setVolume: (volume: number) => Promise<unknown>;
  readonly setMuted: (muted: boolean) => Promise<unknown>;
}

/** A room in which a player can be silenced now. The room may have no output. */
interface PausableRoom {
  readonly label: string;
  readonly pause: () => Promise<unknown>;
}

/** Rooms, each with the request that was sent to it. Only the label of the room is needed. */
type SentToRooms = readonly (readonly [room: Readonly<{ label: string }>, sent: Promise<unknown>])[];

export function AllRooms({ rooms }: { readonly rooms: readonly NamedRoom[] }) {
  const report = useContext(Reporting);
  const [volumes] = useState(() => new RoomVolumes());
  const changeable = rooms.map(changeableRoom).filter((room) => room !== undefined);
  const pausable = rooms.flatMap(pausableRoom);
  /** Reports each failure with the label of its room. The returned promises never reject. */
  const reportAll = (failureTitle: string, sentToRooms: SentToRooms) =>
    sentToRooms.map(([room, sent]) => {
      // The text `because` joins label and title with a colon, as in `Kitchen: Pause did not work`.
      const titleWithRoom = translate('because', { what: room.label, reason: failureTitle });
      return report(titleWithRoom, sent);
    });
  const pauseAll = (): Promise<unknown> => {
    const failureTitle = translate('didNotWork', { what: translate('pause') });
    const sent = pausable.map((room) => [room, room.pause()] as const);
    return Promise.all(reportAll(failureTitle, sent));
  };
  const setVolume = (volume: number): Promise<unknown> => {
    const failureTitle = translate('couldNotSet', { name: translate('volumeOfAll') });
    const reports = reportAll(failureTitle, volumes.set(changeable, volume));
    // The slider sends its next value when the first room has answered, because another room may not answer.
    // A race of no promises would never end.
    return reports.length === 0 ? Promise.resolve() : Promise.race(reports);
  };
  // A room may be louder than the slider can set.
  const volumeOfAll = Math.min(1, loudest(changeable));
  return (
    <section class="card all-rooms" aria-labelledby="all-rooms">
      <div class="row">
        <h2 id="all-rooms" class="grow">
          {translate('allRooms')}
        </h2>
        <ActionButton icon="pause" disabled={pausable.length === 0} send={pauseAll}>
          {translate('pauseAll')}
        </ActionButton>
      </div>
      <div class="row">
        <MuteAllRooms rooms={changeable} reportAll={reportAll} />
        <Slider
          class="grow"
          label={translate('volumeOfAll')}
          value={volumeOfAll}
          text={formatPercent}
          disabled={changeable.length === 0}
          send={setVolume}
        />
      </div>
    </section>
  );
}

interface MuteAllProps {
  readonly rooms: readonly ChangeableRoom[];
  readonly reportAll: (failureTitle: string, sentToRooms: SentToRooms) => readonly Promise<boolean>[];
}

/**
 * Draws the button that mutes all rooms. If all rooms are muted, a press unmutes those that this button has
 * muted, or all rooms if it has muted none.
 */
function MuteAllRooms({ rooms, reportAll }: MuteAllProps) {
  /** The keys of the rooms that the button muted when it was last pressed to mute. */
  const mutedHere = useRef<readonly string[]>([]);
  const areAllMuted = rooms.length > 0 && rooms.every(({ muted }) => muted);
  const label = translate('muteAll');
  const send = (desired: boolean): Promise<unknown> => {
    const audible = rooms.filter(({ muted }) => !muted);
    const targets = desired ? audible : roomsToUnmute(rooms, mutedHere.current);
    if (desired) mutedHere.current = targets.map(({ key }) => key);
    const sentToRooms = targets.map((room) => [room, room.setMuted(desired)] as const);
    return Promise.all(reportAll(translate('couldNotSet', { name: label }), sentToRooms));
  };
  return <Toggle label={label} icon="volume" iconOn="muted" isOn={areAllMuted} send={send} />;
}

/** The rooms that the button has muted; all rooms if it has muted none of them. */
function roomsToUnmute(
  rooms: readonly ChangeableRoom[],
  mutedHere: readonly string[],
): readonly ChangeableRoom[] {
  const roomsMutedHere = rooms.filter(({ key }) => mutedHere.includes(key));
  return roomsMutedHere.length > 0 ? roomsMutedHere : rooms;
}

/** The connection to the room's node; undefined if nothing in the room can be changed now. */
function changeableLive({ live, status }: NamedRoom): NamedRoom['live'] {
  return live !== undefined && status === 'live' && mayChange(live.state) ? live : undefined;
}

/** Empty if no player of the room can be silenced now. */
function pausableRoom(room: NamedRoom): readonly PausableRoom[] {
  const live = changeableLive(room);
  if (live === undefined || ![...live.state.players.values()].some(canBeSilenced)) return [];
  return [{ label: room.label, pause: () => live.node.pausePlayers() }];
}

/** Undefined if the volume of the room cannot be changed now. */
function changeableRoom(room: NamedRoom): ChangeableRoom | undefined {
  const live = changeableLive(room);
  const { output } = room;
  if (live === undefined || output === undefined) return undefined;
  const { node } = live;
  const { id, volume, muted, volume_limit } = output;
  return {
    key: room.key,
    label: room.label,
    volume,
    muted,
    limit: volume_limit ?? 1,
    setVolume: (value) => node.setOutputVolume(id, { volume: value }),
    setMuted: (desired) => node.muteOutput(id, { muted: desired }),
  };
}
