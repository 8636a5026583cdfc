// Draws one room of the house, with a link to its page. Shows why a room cannot be controlled.

import type { NodeState, PlayerRecord } from '../client/client.js';
import { translate } from './language.js';
import { mainOutput, OutputVolume, soundingStreams, useCurrentPlayer, withoutHidden } from './main-volume.js';
import { ForeignText, stateText } from './parts.js';
import { hasTrack, isPlaying } from './player-controls.js';
import { awayBackend } from './sections.js';
import { artistAndAlbum, Cover, PlayButton, titleOf } from './transport.js';
import { InRoom, type NamedRoom, STATUS_TEXTS } from './use-house.js';

/**
 * Returns the title of the player's track, also while the player is paused. Without a track, it returns the
 * name of the first stream that is not paused. Without such a stream, the returned text says that nothing
 * plays.
 */
export function playingTitle({ clients }: NodeState, player: PlayerRecord | undefined): string {
  if (player !== undefined && hasTrack(player)) return titleOf(player);
  return soundingStreams(clients)[0]?.name ?? translate('nothingPlays');
}

export function RoomCard({ room }: { readonly room: NamedRoom }) {
  const { live, label, status, href } = room;
  const state = live && withoutHidden(live.state);
  const players = state?.players.values() ?? [];
  const player = useCurrentPlayer([...players]);
  /** Why the room cannot be controlled; undefined if it can. */
  const obstacle = STATUS_TEXTS[status];
  // The state has backends once the node has sent its first events.
  const isKnown = state !== undefined && state.backends.size > 0;
  const isPlayingNow = player !== undefined && obstacle === undefined && isPlaying(player);
  return (
    <li class={`card room ${obstacle === undefined ? '' : 'away'}`} data-playing={isPlayingNow}>
      <InRoom room={room}>
        <fieldset disabled={obstacle !== undefined}>
          <div class="row">
            <a class="row grow" href={href}>
              {player === undefined ? null : <Cover player={player} />}
              <div class="grow">
                <h2 class="clip">
                  <bdi>{label}</bdi>
                </h2>
                {obstacle === undefined ? null : <p class="quiet">{translate(obstacle)}</p>}
                {isKnown && obstacle === undefined ? <Playing state={state} player={player} /> : null}
              </div>
            </a>
            {player === undefined ? null : (
              <PlayButton
                player={player}
                label={(what) => translate('labelWithName', { what, name: label })}
              />
            )}
          </div>
          {isKnown ? <RoomVolumeRow state={state} player={player} name={label} /> : null}
        </fieldset>
      </InRoom>
    </li>
  );
}

interface PlayingProps {
  readonly state: NodeState;
  readonly player: PlayerRecord | undefined;
}

function Playing({ state, player }: PlayingProps) {
  const artist = player !== undefined && hasTrack(player) ? artistAndAlbum(player) : '';
  return (
    <>
      <ForeignText>{playingTitle(state, player)}</ForeignText>
      {artist === '' ? null : <ForeignText class="quiet">{artist}</ForeignText>}
    </>
  );
}

function RoomVolumeRow({ state, player, name }: PlayingProps & { readonly name: string }) {
  const output = mainOutput(state, player);
  const awayAudio = awayBackend(state, 'audio');
  // The labels of the volume's controls name the room and not the output.
  if (output !== undefined) return <OutputVolume output={{ ...output, label: name }} />;
  return awayAudio === undefined ? null : <p class="quiet">{stateText(awayAudio.state)}</p>;
}
