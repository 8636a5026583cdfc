// All rooms of the house at once: pause, mute, and one volume that moves all in proportion.

import { useContext, useRef, useState } from 'preact/hooks';
import type { Tonearm } from '../client/client.js';
import { ActionButton, Toggle } from './controls.js';
import { formatPercent, translate } from './language.js';
import { mainOutput, withoutHidden } from './main-volume.js';
import { mayChange } from './may-change.js';
import { Reporting } from './notices.js';
import { loudest, type RoomVolume } from './proportion.js';
import { RoomVolumes } from './room-volumes.js';
import { Slider } from './slider.js';
import { isPlaying } from './transport.js';
import type { NamedRoom } from './use-house.js';

/** A room that can be changed now. */
interface OpenRoom extends RoomVolume {
  readonly label: string;
  readonly node: Tonearm;
  readonly muted: boolean;
  readonly setVolume: (volume: number) => Promise<unknown>;
  readonly setMuted: (muted: boolean) => Promise<unknown>;
  /** The bus names of the players that play and can be paused. */
  readonly playing: readonly string[];
}

export function AllRooms({ rooms }: { readonly rooms: readonly NamedRoom[] }) {
  const report = useContext(Reporting);
  const [volumes] = useState(() => new RoomVolumes());
  const open = rooms.flatMap(openRoom);
  const latest = useRef(open);
  latest.current = open;
  /** Never rejects: each failure is reported with the name of its room. */
  const reportAll = (what: string, sent: readonly (readonly [OpenRoom, Promise<unknown>])[]) =>
    sent.map(([{ label }, each]) => report(translate('because', { what: label, reason: what }), each));
  const pauseAll = (): Promise<unknown> => {
    const sent = latest.current.flatMap((room) =>
      room.playing.map((player) => [room, room.node.pause(player)] as const),
    );
    return Promise.all(reportAll(translate('didNotWork', { what: translate('pause') }), sent));
  };
  const setVolume = (volume: number): Promise<unknown> => {
    const failed = translate('couldNotSet', { name: translate('volumeOfAll') });
    // The first room that has it is enough: one that does not answer must not hold the slider back.
    return Promise.race(reportAll(failed, volumes.set(latest.current, volume)));
  };
  return (
    <section class="card all-rooms" aria-labelledby="all-rooms">
      <div class="row">
        <h2 id="all-rooms" class="grow">
          {translate('allRooms')}
        </h2>
        <ActionButton
          icon="pause"
          disabled={open.every(({ playing }) => playing.length === 0)}
          send={pauseAll}
        >
          {translate('pauseAll')}
        </ActionButton>
      </div>
      <div class="row">
        <MuteAllRooms rooms={open} reportAll={reportAll} />
        <Slider
          class="grow"
          label={translate('volumeOfAll')}
          value={Math.min(1, loudest(open))}
          text={formatPercent}
          disabled={open.length === 0}
          send={setVolume}
        />
      </div>
    </section>
  );
}

interface MuteAllProps {
  readonly rooms: readonly OpenRoom[];
  readonly reportAll: (
    what: string,
    sent: readonly (readonly [OpenRoom, Promise<unknown>])[],
  ) => readonly Promise<boolean>[];
}

/** Rooms that were muted before stay muted when the others are unmuted. */
function MuteAllRooms({ rooms, reportAll }: MuteAllProps) {
  const mutedHere = useRef<readonly string[]>([]);
  const isSilent = rooms.length > 0 && rooms.every(({ muted }) => muted);
  const label = translate('muteAll');
  const send = (desired: boolean): Promise<unknown> => {
    const own = rooms.filter(({ key }) => mutedHere.current.includes(key));
    const others = own.length > 0 ? own : rooms;
    const targets = desired ? rooms.filter(({ muted }) => !muted) : others;
    if (desired) mutedHere.current = targets.map(({ key }) => key);
    const sent = targets.map((room) => [room, room.setMuted(desired)] as const);
    return Promise.all(reportAll(translate('couldNotSet', { name: label }), sent));
  };
  return <Toggle label={label} icon="volume" iconOn="muted" isOn={isSilent} send={send} />;
}

function openRoom({ live, status, key, label }: NamedRoom): readonly OpenRoom[] {
  if (live === undefined || status !== 'live' || !mayChange(live.state)) return [];
  const { node } = live;
  const state = withoutHidden(live.state);
  const players = [...state.players.values()];
  const output = mainOutput(state, players.find(isPlaying));
  if (output === undefined) return [];
  const { id, volume, muted, volume_limit: limit = 1 } = output;
  const playing = players.filter((each) => isPlaying(each) && each.capabilities.can_pause);
  return [
    {
      key,
      label,
      node,
      volume,
      muted,
      limit,
      setVolume: (value) => node.setOutputVolume(id, { volume: value }),
      setMuted: (desired) => node.muteOutput(id, { muted: desired }),
      playing: playing.map(({ bus_name }) => bus_name),
    },
  ];
}
