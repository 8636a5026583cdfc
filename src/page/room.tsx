// One room of the house: its track with the cover, play and pause, its volume; or why it cannot be
// controlled. Its upper part leads to the room's own page.

import type { NodeState, PlayerRecord } from '../client/client.js';
import { translate } from './language.js';
import { mainOutput, OutputVolume, useCurrentPlayer, withoutHidden } from './main-volume.js';
import { ForeignLine, stateText } from './parts.js';
import { awayIn } from './sections.js';
import { artistAndAlbum, Cover, hasTrack, isPlaying, PlayButton, titleOf } from './transport.js';
import { InRoom, type NamedRoom, STATUS_TEXTS } from './use-house.js';

/** The player's track, else the first stream that sounds. */
export function playingIn({ clients }: NodeState, player: PlayerRecord | undefined): string {
  if (player !== undefined && hasTrack(player)) return titleOf(player);
  return [...clients.values()].find(({ corked }) => !corked)?.name ?? translate('nothingPlays');
}

export function RoomCard({ room }: { readonly room: NamedRoom }) {
  const { live, label, status, href } = room;
  const state = live && withoutHidden(live.state);
  const player = useCurrentPlayer([...(state?.players.values() ?? [])]);
  const text = STATUS_TEXTS[status];
  const isKnown = state !== undefined && state.backends.size > 0;
  const plays = player !== undefined && status === 'live' && isPlaying(player);
  return (
    <li class={`card room ${text === undefined ? '' : 'away'}`} data-playing={plays}>
      <InRoom room={room}>
        <fieldset disabled={status !== 'live'}>
          <div class="row">
            <a class="row grow" href={href}>
              {player === undefined ? null : <Cover player={player} />}
              <div class="grow">
                <h2 class="clip">
                  <bdi>{label}</bdi>
                </h2>
                {text === undefined ? null : <p class="quiet">{translate(text)}</p>}
                {isKnown && text === undefined ? <Playing state={state} player={player} /> : null}
              </div>
            </a>
            {player === undefined ? null : (
              <PlayButton player={player} label={(what) => translate('ofPlayer', { what, name: label })} />
            )}
          </div>
          {isKnown ? <RoomVolume state={state} player={player} name={label} /> : null}
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
  const maker = player === undefined || !hasTrack(player) ? '' : artistAndAlbum(player);
  return (
    <>
      <ForeignLine>{playingIn(state, player)}</ForeignLine>
      {maker === '' ? null : <ForeignLine class="quiet">{maker}</ForeignLine>}
    </>
  );
}

function RoomVolume({ state, player, name }: PlayingProps & { readonly name: string }) {
  const output = mainOutput(state, player);
  const away = awayIn(state, 'audio');
  if (output === undefined) return away === undefined ? null : <p class="quiet">{stateText(away.state)}</p>;
  return <OutputVolume output={{ ...output, label: name }} />;
}
