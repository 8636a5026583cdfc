// The media players: the track, the position and the transport of each.

import type { NodeState, OutputRecord, PlayerRecord, StreamedTracklist } from '../client/client.js';
import { ActionButton, Toggle } from './controls.js';
import { isolated, translate } from './language.js';
import { mainOutput, OutputVolume } from './main-volume.js';
import { useNode } from './node.js';
import { Cards, Field, ForeignLine, memoized } from './parts.js';
import { Tracklist } from './tracklist.js';
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
