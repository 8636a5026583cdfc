// Draws the card of one room, with a link to the page of the room's node. If the room cannot be controlled,
// the card says why.

import type { NodeState } from '../client/client.js';
import { translate } from './language.js';
import { OutputVolume } from './main-volume.js';
import { ForeignText, stateText } from './parts.js';
import { hasTrack, isPlaying } from './player-controls.js';
import { awayBackend } from './sections.js';
import { artistAndAlbum, Cover, PlayButton, playingTitle } from './transport.js';
import { InRoom, type NamedRoom, STATUS_TEXTS } from './use-house.js';

export function RoomCard({ room }: { readonly room: NamedRoom }) {
  const { live, label, status, href, player, output } = room;
  const state = live?.state;
  /** Why the room cannot be controlled; undefined if it can. */
  const obstacle = STATUS_TEXTS[status];
  // The state has backends once the node has sent its first events. A room that can no longer be controlled
  // keeps its state, so its volume stays on the page.
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
          {isKnown ? <RoomVolumeRow state={state} output={output} label={label} /> : null}
        </fieldset>
      </InRoom>
    </li>
  );
}

function Playing({ state, player }: Pick<NamedRoom, 'player'> & { readonly state: NodeState }) {
  const artistLine = player !== undefined && hasTrack(player) ? artistAndAlbum(player) : '';
  return (
    <>
      <ForeignText>{playingTitle(state, player)}</ForeignText>
      {artistLine === '' ? null : <ForeignText class="quiet">{artistLine}</ForeignText>}
    </>
  );
}

interface RoomVolumeRowProps extends Pick<NamedRoom, 'output'> {
  readonly state: NodeState;
  /** The label of the room. */
  readonly label: string;
}

function RoomVolumeRow({ state, output, label }: RoomVolumeRowProps) {
  const awayAudio = awayBackend(state, 'audio');
  // The labels of the volume's controls name the room and not the output.
  if (output !== undefined) return <OutputVolume output={{ ...output, label }} />;
  return awayAudio === undefined ? null : <p class="quiet">{stateText(awayAudio.state)}</p>;
}
