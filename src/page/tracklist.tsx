// A player's tracklist: each track plays at a touch; where the player allows it, tracks are removed and added.

import { useRef, useState } from 'preact/hooks';
import type { PlayerRecord, TracklistRecord } from '../client/client.js';
import { ActionButton, useAction } from './controls.js';
import { translate } from './language.js';
import { node } from './node.js';
import { memoized, useGrowing } from './parts.js';

const STEP = 10;

interface TracklistProps {
  readonly player: PlayerRecord;
  readonly tracklist: TracklistRecord;
}

export function Tracklist({ player, tracklist }: TracklistProps) {
  const [isOpen, setOpen] = useState(false);
  const { identity } = player;
  const name = translate('tracks', { count: tracklist.tracks.length });
  return (
    <details class="more" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={translate('ofPlayer', { what: name, name: identity })}>{name}</summary>
      {isOpen ? <Tracks player={player} tracklist={tracklist} /> : null}
    </details>
  );
}

function Tracks({ player, tracklist: { tracks, can_edit_tracks } }: TracklistProps) {
  const { bus_name, metadata = {}, capabilities } = player;
  const drawn = useGrowing(tracks.length, STEP);
  return (
    <>
      <ol class="tracks">
        {tracks.slice(0, drawn).map((track) => (
          <TrackLine
            key={track.track_id}
            busName={bus_name}
            track={track}
            isCurrent={track.track_id === metadata['mpris:trackid']}
            canControl={capabilities.can_control}
            canEdit={can_edit_tracks}
          />
        ))}
      </ol>
      {can_edit_tracks ? <AddTrack busName={bus_name} /> : null}
    </>
  );
}

interface TrackProps {
  readonly busName: string;
  readonly track: TracklistRecord['tracks'][number];
  readonly isCurrent: boolean;
  readonly canControl: boolean;
  readonly canEdit: boolean;
}

const TrackLine = memoized(({ busName, track, isCurrent, canControl, canEdit }: TrackProps) => {
  const { track_id: id, metadata } = track;
  const { 'xesam:artist': artist } = metadata;
  const name = metadata['xesam:title'] || metadata['xesam:url'] || translate('untitled');
  return (
    <li class="row" aria-current={isCurrent}>
      <ActionButton
        class="track grow"
        label={translate('playTrack', { name: [name, artist].filter(Boolean).join(' ') })}
        disabled={!canControl}
        send={() => node.gotoTrack(busName, id)}
      >
        <bdi>{name}</bdi> <bdi class="quiet">{artist}</bdi>
      </ActionButton>
      {canEdit ? (
        <ActionButton
          icon="close"
          label={translate('removeTrack', { name })}
          disabled={!canControl}
          send={() => node.removeTrack(busName, id)}
        />
      ) : null}
    </li>
  );
});

function AddTrack({ busName }: Pick<TrackProps, 'busName'>) {
  const field = useRef<HTMLInputElement>(null);
  const add = async (): Promise<void> => {
    await node.addTrack(busName, { uri: field.current?.value ?? '' });
    if (field.current) field.current.value = '';
  };
  const [isUnderWay, begin] = useAction(add, translate('didNotWork', { what: translate('addTrack') }));
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        begin();
      }}
    >
      <input
        ref={field}
        class="text grow"
        type="url"
        required
        aria-label={translate('trackAddress')}
        placeholder={translate('trackAddress')}
      />
      <button type="submit" class="button" aria-busy={isUnderWay}>
        {translate('addTrack')}
      </button>
    </form>
  );
}
