// Draws a player's tracklist. If the player allows it, tracks can be added and removed.

import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { PlayerRecord, StreamedTracklist, TracklistRecord } from '../client/client.js';
import { ActionButton, useAction } from './controls.js';
import { Button } from './icons.js';
import { translate } from './language.js';
import { IfMayChange, useMayChange } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { memoized, useGrowing } from './parts.js';
import { controlsOf } from './player-controls.js';

const TRACKS_PER_FRAME = 10;

type TracklistProps = Readonly<{ player: PlayerRecord; tracklist: StreamedTracklist }>;

/**
 * Requests the whole of a long tracklist, because the event stream has only the beginning. Returns this
 * beginning until a response has come, and after a failed request. Returns the previous response while a
 * changed tracklist is requested.
 */
function useWholeTracklist(busName: string, streamed: StreamedTracklist): TracklistRecord {
  const node = useNode();
  const [response, setResponse] = useState<TracklistRecord>();
  useEffect(() => {
    if (streamed.truncated !== true) return undefined;
    // This controller is only a flag. It does not end the request, but an answer after `abort` is ignored.
    const effect = new AbortController();
    const show = (list: TracklistRecord | undefined): void => {
      if (!effect.signal.aborted) setResponse(list);
    };
    node.tracklist(busName).then(show, () => show(undefined));
    return () => effect.abort();
  }, [node, busName, streamed]);
  return streamed.truncated === true ? (response ?? streamed) : streamed;
}

export function Tracks({ player, tracklist }: TracklistProps) {
  const { bus_name, metadata = {} } = player;
  const { tracks, can_edit_tracks } = useWholeTracklist(bus_name, tracklist);
  const drawnCount = useGrowing(tracks.length, TRACKS_PER_FRAME);
  return (
    <>
      <ol class="tracks">
        {tracks.slice(0, drawnCount).map((track) => (
          <TrackLine
            key={track.track_id}
            busName={bus_name}
            track={track}
            isCurrent={track.track_id === metadata['mpris:trackid']}
            canControl={controlsOf(player).tracks === 'usable'}
            canEdit={can_edit_tracks}
          />
        ))}
      </ol>
      <IfMayChange>{can_edit_tracks ? <AddTrack busName={bus_name} /> : null}</IfMayChange>
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
  const mayChange = useMayChange();
  const removal = useLateRemoval(() => node.removeTrack(busName, id), name);
  return (
    <li class="row" aria-current={isCurrent}>
      {/* `ActionButton` draws nothing if the node may not be changed. Then the track is only a text. */}
      {mayChange ? null : (
        <span class="track grow">
          <bdi>{name}</bdi> <bdi class="quiet">{artist}</bdi>
        </span>
      )}
      <ActionButton
        class="track grow"
        label={translate('playTrack', { name: [name, artist].filter(Boolean).join(' ') })}
        disabled={!canControl || removal.isUnderWay}
        send={() => node.gotoTrack(busName, id)}
      >
        <bdi>{name}</bdi> <bdi class="quiet">{removal.isUnderWay ? translate('trackRemoved') : artist}</bdi>
      </ActionButton>
      {canEdit ? (
        <IfMayChange>
          {/* One button is for removal and undo, so that the button keeps its place and the focus. */}
          <Button
            icon={removal.isUnderWay ? 'undo' : 'close'}
            label={translate(removal.isUnderWay ? 'keepTrack' : 'removeTrack', { name })}
            disabled={!canControl || removal.isPending}
            onClick={removal.isUnderWay ? removal.undo : removal.begin}
          />
        </IfMayChange>
      ) : null}
    </li>
  );
});

/**
 * A removal can be undone for this time. The request is sent only after this time, because no player can undo
 * a removal.
 */
const UNDO_MS = 5000;

/**
 * Removes a track `UNDO_MS` after `begin`, unless `undo` is called before. If the line disappears or the user
 * leaves the page during this time, the track is removed at once.
 */
function useLateRemoval(remove: () => Promise<unknown>, name: string) {
  const report = useContext(Reporting);
  /** True from `begin` on, until the removal is undone or has failed. */
  const [isUnderWay, setUnderWay] = useState(false);
  /** True from the request until its answer. */
  const [isPending, setPending] = useState(false);
  /**
   * True from `undo` until the next `begin`. While it is true, the cleanup of the effect does not send the
   * removal. It is a ref, because the cleanup sees only the states of the drawing that made the cleanup.
   */
  const isUndone = useRef(false);
  useEffect(() => {
    if (!isUnderWay) return undefined;
    let isSent = false;
    const send = (): void => {
      if (isSent || isUndone.current) return;
      isSent = true;
      setPending(true);
      const failureTitle = translate('didNotWork', { what: translate('removeTrack', { name }) });
      void report(failureTitle, remove()).then((isDone) => {
        setPending(false);
        // After a success the line stays marked as removed until the tracklist comes without the track.
        if (!isDone) setUnderWay(false);
      });
    };
    const timer = setTimeout(send, UNDO_MS);
    const ended = new AbortController();
    addEventListener('pagehide', send, { signal: ended.signal });
    return () => {
      clearTimeout(timer);
      ended.abort();
      // This call is for a line that disappears. After `undo`, or after an earlier call, `send` does nothing.
      send();
    };
  }, [isUnderWay]);
  return {
    isUnderWay,
    isPending,
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
  const label = translate('trackAddress');
  return (
    <form class="row" onSubmit={submit}>
      <input ref={field} class="text grow" type="url" required aria-label={label} placeholder={label} />
      <button type="submit" class="button" aria-busy={isUnderWay}>
        {translate('addTrack')}
      </button>
    </form>
  );
}
