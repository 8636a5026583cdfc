// The media players: the track, the position, the transport and the tracklist of each.

import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  NodeState,
  OutputRecord,
  PlayerRecord,
  StreamedTracklist,
  TracklistRecord,
} from '../client/client.js';
import { ActionButton, Toggle, useAction } from './controls.js';
import { isolated, translate } from './language.js';
import { mainOutput, OutputVolume } from './main-volume.js';
import { Changing } from './may-change.js';
import { useNode } from './node.js';
import { Cards, Field, ForeignLine, memoized, useGrowing } from './parts.js';
import {
  Cover,
  hasTrack,
  isPlaying,
  LoopButton,
  makerOf,
  PositionBar,
  streamsOf,
  TransportButtons,
  titleOf,
} from './transport.js';
import { VolumeSlider } from './volume-slider.js';

export function Players(state: NodeState) {
  const { players, tracklists, clients } = state;
  // The order does not depend on what plays, so that a card does not move while it is used.
  const sorted = [...players.values()].sort((a, b) => (a.bus_name < b.bus_name ? -1 : 1));
  return (
    <Cards>
      {sorted.map((player) => (
        <PlayerCard
          key={player.bus_name}
          player={player}
          tracklist={tracklists.get(player.bus_name)}
          own={streamsOf(player, clients)
            .map(({ name }) => isolated(name))
            .join(', ')}
          output={mainOutput(state, player)}
          isAlone={players.size === 1}
        />
      ))}
    </Cards>
  );
}

interface PlayerProps {
  readonly player: PlayerRecord;
  readonly tracklist: StreamedTracklist | undefined;
  /** The names of its streams; one text, so that it compares equal while they are the same. */
  readonly own: string;
  /** The output that it plays to. */
  readonly output: OutputRecord | undefined;
  /** With several players, button labels contain the player's name. */
  readonly isAlone: boolean;
}

const PlayerCard = memoized(({ player, tracklist, own, output, isAlone }: PlayerProps) => {
  const node = useNode();
  const { bus_name, identity, shuffle, loop_status, capabilities } = player;
  const maker = makerOf(player);
  const label = (what: string): string => (isAlone ? what : translate('ofPlayer', { what, name: identity }));
  return (
    <li class="card player" data-playing={isPlaying(player)}>
      <div class="row">
        <Cover player={player} />
        <div class="grow">
          <ForeignLine class="title">{titleOf(player)}</ForeignLine>
          {maker === '' ? null : <ForeignLine>{maker}</ForeignLine>}
          <ForeignLine class="quiet">{identity}</ForeignLine>
        </div>
      </div>
      <PositionBar player={player} />
      <div class="row transport">
        <TransportButtons player={player} label={label} />
        <span class="grow" />
        {shuffle === undefined ? null : (
          <Toggle
            label={label(translate('shuffle'))}
            icon="shuffle"
            isOn={shuffle}
            disabled={!capabilities.can_control}
            send={(desired) => node.setShuffle(bus_name, { shuffle: desired })}
          />
        )}
        {loop_status === undefined ? null : <LoopButton player={player} label={label} />}
      </div>
      {output === undefined ? null : <OutputVolume output={output} isMain />}
      {tracklist === undefined ? null : <Tracklist player={player} tracklist={tracklist} />}
      <PlayerMore player={player} own={own} />
    </li>
  );
});

/**
 * Rarely needed controls. Stop is here if the player can pause, because some players forget their list when
 * stopped.
 */
function PlayerMore({ player, own }: Pick<PlayerProps, 'player' | 'own'>) {
  const node = useNode();
  const { bus_name, identity, volume, capabilities } = player;
  if (volume === undefined && !capabilities.can_pause && own === '') return null;
  return (
    <details class="more">
      <summary aria-label={translate('moreOf', { name: identity })}>{translate('more')}</summary>
      {volume === undefined ? null : (
        <Field name={translate('playerVolume')}>
          <VolumeSlider
            class="grow"
            label={translate('volumeOf', { name: identity })}
            value={volume}
            disabled={!capabilities.can_control}
            send={(desired) => node.setPlayerVolume(bus_name, { volume: desired })}
          />
        </Field>
      )}
      {capabilities.can_pause ? (
        <ActionButton
          icon="stop"
          label={translate('ofPlayer', { what: translate('stop'), name: identity })}
          disabled={!capabilities.can_control || !hasTrack(player)}
          send={() => node.stop(bus_name)}
        >
          {translate('stop')}
        </ActionButton>
      ) : null}
      {own === '' ? null : <p class="quiet wrap">{translate('streamsOf', { names: own })}</p>}
    </details>
  );
}

const STEP = 10;

type TracklistProps = Readonly<{ player: PlayerRecord; tracklist: StreamedTracklist }>;

/** Each track plays at a touch; where the player allows it, tracks are removed and added. */
function Tracklist({ player, tracklist }: TracklistProps) {
  const [isOpen, setOpen] = useState(false);
  const { tracks, truncated = false } = tracklist;
  const name = translate('tracks', { count: truncated ? `${tracks.length}+` : tracks.length });
  return (
    <details class="more" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={translate('ofPlayer', { what: name, name: player.identity })}>{name}</summary>
      {isOpen ? <Tracks player={player} tracklist={tracklist} /> : null}
    </details>
  );
}

/**
 * The stream has only the first tracks of a long list. All are fetched where somebody has opened it; until
 * then the first are shown.
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

function Tracks({ player, tracklist }: TracklistProps) {
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
