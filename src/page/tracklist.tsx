// A player's tracklist: each track plays at a touch. Where the player allows it, tracks are removed, after a
// time in which that can be undone, and added.

import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { PlayerRecord, StreamedTracklist, TracklistRecord } from '../client/client.js';
import { ActionButton, useAction } from './controls.js';
import { Button } from './icons.js';
import { translate } from './language.js';
import { Changing } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { memoized, useGrowing } from './parts.js';

const STEP = 10;

type TracklistProps = Readonly<{ player: PlayerRecord; tracklist: StreamedTracklist }>;

/**
 * The stream has only the first tracks of a long list. All are fetched where somebody has opened it; until
 * then the first are displayed.
 */
function useWhole(player: string, streamed: StreamedTracklist): TracklistRecord {
  const node = useNode();
  const [whole, setWhole] = useState<TracklistRecord>();
  useEffect(() => {
    if (streamed.truncated !== true) return undefined;
    let isCurrent = true;
    const take = (list: TracklistRecord | undefined): void => {
      if (isCurrent) setWhole(list);
    };
    node.tracklist(player).then(take, () => take(undefined));
    return () => {
      isCurrent = false;
    };
  }, [node, player, streamed]);
  return streamed.truncated === true ? (whole ?? streamed) : streamed;
}

export function Tracks({ player, tracklist }: TracklistProps) {
  const { bus_name, metadata = {}, capabilities } = player;
  const { tracks, can_edit_tracks } = useWhole(bus_name, tracklist);
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
      <Changing>{can_edit_tracks ? <AddTrack busName={bus_name} /> : null}</Changing>
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
  const node = useNode();
  const { track_id: id, metadata } = track;
  const { 'xesam:artist': artist } = metadata;
  const name = metadata['xesam:title'] || metadata['xesam:url'] || translate('untitled');
  const removing = useLateRemoval(() => node.removeTrack(busName, id), name);
  return (
    <li class="row" aria-current={isCurrent}>
      <Changing
        still={
          <span class="track grow">
            <bdi>{name}</bdi> <bdi class="quiet">{artist}</bdi>
          </span>
        }
      />
      <ActionButton
        class="track grow"
        label={translate('playTrack', { name: [name, artist].filter(Boolean).join(' ') })}
        disabled={!canControl || removing.isUnderWay}
        send={() => node.gotoTrack(busName, id)}
      >
        <bdi>{name}</bdi> <bdi class="quiet">{removing.isUnderWay ? translate('trackRemoved') : artist}</bdi>
      </ActionButton>
      {canEdit ? (
        <Changing>
          {/* One button for both, so that it keeps its place and the focus. */}
          <Button
            icon={removing.isUnderWay ? 'undo' : 'close'}
            label={translate(removing.isUnderWay ? 'keepTrack' : 'removeTrack', { name })}
            disabled={!canControl}
            onClick={removing.isUnderWay ? removing.undo : removing.begin}
          />
        </Changing>
      ) : null}
    </li>
  );
});

/** The time in which a removal can be undone. No player brings a track back, so it is removed only then. */
const UNDO_MS = 5000;

/** Removes a track after `UNDO_MS`, or when its line is left; not if `undo` was called before. */
function useLateRemoval(remove: () => Promise<unknown>, name: string) {
  const report = useContext(Reporting);
  const [isUnderWay, setUnderWay] = useState(false);
  const isUndone = useRef(false);
  useEffect(() => {
    if (!isUnderWay) return undefined;
    let isSent = false;
    const send = (): void => {
      if (isSent || isUndone.current) return;
      isSent = true;
      const failed = translate('didNotWork', { what: translate('removeTrack', { name }) });
      void report(failed, remove()).then((isDone) => isDone || setUnderWay(false));
    };
    const timer = setTimeout(send, UNDO_MS);
    const left = new AbortController();
    addEventListener('pagehide', send, left);
    return () => {
      clearTimeout(timer);
      left.abort();
      send();
    };
  }, [isUnderWay]);
  return {
    isUnderWay,
    begin: () => {
      isUndone.current = false;
      setUnderWay(true);
    },
    undo: () => {
      isUndone.current = true;
      setUnderWay(false);
    },
  };
}

function AddTrack({ busName }: Pick<TrackProps, 'busName'>) {
  const node = useNode();
  const field = useRef<HTMLInputElement>(null);
  const add = async (): Promise<void> => {
    await node.addTrack(busName, { uri: field.current?.value ?? '' });
    if (field.current) field.current.value = '';
  };
  const [isUnderWay, begin] = useAction(add, translate('didNotWork', { what: translate('addTrack') }));
  const submit = (event: Event): void => {
    event.preventDefault();
    begin();
  };
  const name = translate('trackAddress');
  return (
    <form class="row" onSubmit={submit}>
      <input ref={field} class="text grow" type="url" required aria-label={name} placeholder={name} />
      <button type="submit" class="button" aria-busy={isUnderWay}>
        {translate('addTrack')}
      </button>
    </form>
  );
}
