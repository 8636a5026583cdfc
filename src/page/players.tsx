// Draws the media players: the current player as a large card, and each other player as a row.

import { useState } from 'preact/hooks';
import type { NodeState, OutputRecord, PlayerRecord, StreamedTracklist } from '../client/client.js';
import { ActionButton, Toggle } from './controls.js';
import { translate } from './language.js';
import { largePlayerButtons } from './large-player-buttons.js';
import { Late, LatePart } from './late.js';
import { OutputVolume } from './main-volume.js';
import { IfMayChange } from './may-change.js';
import { useNode } from './node.js';
import { Field, ForeignText, useUnfold } from './parts.js';
import { canBeSilenced, controlsOf, hasTrack, isPlaying } from './player-controls.js';
import { PlayingOn } from './playing-on.js';
import { Receivers } from './receivers.js';
import { StreamRows } from './streams.js';
import {
  artistAndAlbum,
  Cover,
  isSounding,
  LoopButton,
  PlayButton,
  PositionBar,
  playerStreams,
  playingTitle,
  TransportButtons,
  titleOf,
} from './transport.js';
import { useTint } from './use-tint.js';
import { VolumeSlider } from './volume-slider.js';

const TRACKS = new LatePart(async () => (await import('./tracklist.js')).Tracks);

interface PlayersProps extends NodeState {
  /** The player that is drawn large. */
  readonly player: PlayerRecord;
  /** The output that `mainOutput` finds for this player (main-volume.tsx). */
  readonly output: OutputRecord | undefined;
}

export function Players({ player, output, ...state }: PlayersProps) {
  const { players, tracklists } = state;
  // The order does not depend on what plays, so that a row does not move while it is used.
  const others = [...players.values()]
    .filter(({ bus_name }) => bus_name !== player.bus_name)
    .sort((a, b) => (a.bus_name < b.bus_name ? -1 : 1));
  const isOnlyPlayer = others.length === 0;
  // If there are several players, labels must say which one a control is for.
  const label = (what: string): string => (isOnlyPlayer ? what : labelWithPlayer(player, what));
  const setPicture = useTint();
  return (
    <>
      <article class="card hero player" data-playing={isPlaying(player)} aria-label={player.identity}>
        <Cover player={player} onPicture={setPicture} />
        <div class="hero-side">
          <div>
            <ForeignText class="title">{playingTitle(state, player)}</ForeignText>
            {hasTrack(player) ? (
              <>
                <ForeignText class="maker">{artistAndAlbum(player)}</ForeignText>
                <ForeignText class="quiet">{player.identity}</ForeignText>
              </>
            ) : null}
            {/* If there is no track, and no stream plays, the card names the apps that can play here. */}
            {hasTrack(player) || isSounding(state) ? null : <Receivers state={state} />}
          </div>
          <PositionBar player={player} />
          {/* The page's foot has a play button while these buttons are off the screen (foot.tsx). */}
          <div ref={largePlayerButtons.watch}>
            <Transport player={player} label={label} />
          </div>
          <PlayingOn output={output} state={state} />
        </div>
        {output === undefined ? null : <OutputVolume output={output} isMain />}
        <PlayerMore player={player} tracklist={tracklists.get(player.bus_name)} state={state} />
      </article>
      {isOnlyPlayer ? null : (
        <ul class="card rows">
          {others.map((other) => (
            <PlayerRow
              key={other.bus_name}
              player={other}
              tracklist={tracklists.get(other.bus_name)}
              state={state}
            />
          ))}
          <IfMayChange>
            <PauseAll players={[...players.values()]} />
          </IfMayChange>
        </ul>
      )}
    </>
  );
}

/** Draws the button even while it is disabled, so that it keeps its place when players start or stop. */
function PauseAll({ players }: { readonly players: readonly PlayerRecord[] }) {
  const node = useNode();
  // If only one player plays, its own button silences it.
  const isDisabled = players.filter(canBeSilenced).length < 2;
  return (
    <li class="pause-all">
      <ActionButton icon="pause" disabled={isDisabled} send={() => node.pausePlayers()}>
        {translate('pauseAll')}
      </ActionButton>
    </li>
  );
}

function labelWithPlayer({ identity }: PlayerRecord, what: string): string {
  return translate('labelWithName', { what, name: identity });
}

interface PlayerProps {
  readonly player: PlayerRecord;
  readonly tracklist: StreamedTracklist | undefined;
  readonly state: NodeState;
}

function PlayerRow({ player, tracklist, state }: PlayerProps) {
  const { isOpen, unfoldButton } = useUnfold(player.identity);
  const label = (what: string): string => labelWithPlayer(player, what);
  const details = [player.identity, artistAndAlbum(player)].filter(Boolean).join(' · ');
  return (
    <li class="player" data-playing={isPlaying(player)}>
      <div class="row player-row">
        <Cover player={player} />
        <div class="grow">
          <ForeignText class="strong title">{titleOf(player)}</ForeignText>
          <ForeignText class="quiet">{details}</ForeignText>
        </div>
        <PlayButton player={player} label={label} />
        {unfoldButton}
      </div>
      {isOpen ? (
        <>
          <PositionBar player={player} />
          <Transport player={player} label={label} isWithoutPlay />
          <PlayerMore player={player} tracklist={tracklist} state={state} />
        </>
      ) : null}
    </li>
  );
}

type TransportProps = Parameters<typeof TransportButtons>[0];

/**
 * The place of a missing shuffle or loop button stays free, so that the play button stays in the middle. A
 * player that cannot pause has a stop button, too. This button moves the play button out of the middle.
 */
function Transport({ player, label, isWithoutPlay = false }: TransportProps) {
  const node = useNode();
  const { bus_name, shuffle = false } = player;
  const controls = controlsOf(player);
  return (
    <div class="row transport">
      {controls.shuffle === 'absent' ? (
        <span class="no-button" />
      ) : (
        <Toggle
          label={label(translate('shuffle'))}
          icon="shuffle"
          isOn={shuffle}
          disabled={controls.shuffle === 'disabled'}
          send={(desired) => node.setShuffle(bus_name, { shuffle: desired })}
        />
      )}
      <TransportButtons player={player} label={label} isWithoutPlay={isWithoutPlay} />
      {controls.loop === 'absent' ? <span class="no-button" /> : <LoopButton player={player} label={label} />}
    </div>
  );
}

type TracklistProps = Readonly<{ player: PlayerRecord; tracklist: StreamedTracklist }>;

function Tracklist({ player, tracklist }: TracklistProps) {
  const [isOpen, setOpen] = useState(false);
  const { tracks, truncated = false } = tracklist;
  const text = translate('tracks', { count: truncated ? `${tracks.length}+` : tracks.length });
  return (
    <details class="more" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={translate('labelWithName', { what: text, name: player.identity })}>{text}</summary>
      {/* Without the key, a new large player would get the previous one's tracks and unfinished removals. */}
      {isOpen ? <Late key={player.bus_name} part={TRACKS} props={{ player, tracklist }} /> : null}
    </details>
  );
}

/** Draws the tracklist, and the rarely needed parts: the player's own volume, stop button and streams. */
function PlayerMore({ player, tracklist, state }: PlayerProps) {
  const node = useNode();
  const { bus_name, identity, volume = 0 } = player;
  const controls = controlsOf(player);
  const [isOpen, setOpen] = useState(false);
  const streams = playerStreams(player, state.clients);
  const hasMore = controls.volume !== 'absent' || controls.seldomStop !== 'absent' || streams.length > 0;
  return (
    <div class="player-more">
      {tracklist === undefined ? null : <Tracklist player={player} tracklist={tracklist} />}
      {hasMore ? (
        <details class="more" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary aria-label={translate('moreOf', { name: identity })}>{translate('more')}</summary>
          {controls.volume === 'absent' ? null : (
            <Field name={translate('playerVolume')}>
              <VolumeSlider
                key={bus_name}
                class="grow"
                label={translate('volumeOf', { name: identity })}
                value={volume}
                disabled={controls.volume === 'disabled'}
                send={(desired) => node.setPlayerVolume(bus_name, { volume: desired })}
              />
            </Field>
          )}
          {controls.seldomStop === 'absent' ? null : (
            <ActionButton
              icon="stop"
              label={translate('labelWithName', { what: translate('stop'), name: identity })}
              disabled={controls.seldomStop === 'disabled'}
              send={() => node.stop(bus_name)}
            >
              {translate('stop')}
            </ActionButton>
          )}
          {isOpen && streams.length > 0 ? <StreamRows streams={streams} {...state} /> : null}
        </details>
      ) : null}
    </div>
  );
}
