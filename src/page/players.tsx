// The media players: the track, the position and the transport of each.

import type {
  ClientRecord,
  NodeState,
  OutputRecord,
  PlayerRecord,
  Tonearm,
  TracklistRecord,
} from '../client/client.js';
import { ActionButton, Toggle } from './controls.js';
import { Cover } from './cover.js';
import { formatPercent, isolated, translate } from './language.js';
import { mainOutput, OutputVolume } from './main-volume.js';
import { Cards, ForeignLine, memoized } from './parts.js';
import { PositionBar } from './position-bar.js';
import { Slider } from './slider.js';
import { Tracklist } from './tracklist.js';
import { hasTrack, isPlaying, LoopButton, streamsOf, TransportButtons, titleOf } from './transport.js';

interface PlayersProps {
  readonly node: Tonearm;
  readonly players: readonly PlayerRecord[];
  readonly tracklists: NodeState['tracklists'];
  readonly streams: readonly ClientRecord[];
  readonly outputs: readonly OutputRecord[];
  readonly now: () => number;
}

export function Players({ node, players, tracklists, streams, outputs, now }: PlayersProps) {
  // The order does not depend on what plays, so that a card does not move while it is used.
  const sorted = [...players].sort((a, b) => (a.bus_name < b.bus_name ? -1 : 1));
  return (
    <Cards>
      {sorted.map((player) => (
        <PlayerCard
          key={player.bus_name}
          node={node}
          player={player}
          tracklist={tracklists.get(player.bus_name)}
          own={namesOf(streamsOf(player, streams))}
          output={mainOutput(outputs, streams, player)}
          now={now}
          isAlone={players.length === 1}
        />
      ))}
    </Cards>
  );
}

/** One text, so that it compares equal while the names are the same. */
function namesOf(streams: readonly ClientRecord[]): string {
  return streams.map(({ name }) => isolated(name)).join(', ');
}

interface PlayerProps {
  readonly node: Tonearm;
  readonly player: PlayerRecord;
  readonly tracklist: TracklistRecord | undefined;
  readonly own: string;
  /** The output that it plays to. */
  readonly output: OutputRecord | undefined;
  readonly now: () => number;
  /** With several players, button labels contain the player's name. */
  readonly isAlone: boolean;
}

const PlayerCard = memoized(({ node, player, tracklist, own, output, now, isAlone }: PlayerProps) => {
  const { bus_name, identity, metadata = {}, shuffle, loop_status, capabilities } = player;
  const title = titleOf(player);
  const label = (what: string): string => (isAlone ? what : translate('ofPlayer', { what, name: identity }));
  const maker = [metadata['xesam:artist'], metadata['xesam:album']].filter(Boolean).join(' – ');
  return (
    <li class="card player" data-playing={isPlaying(player)}>
      <div class="row">
        <Cover node={node} player={player} />
        <div class="grow">
          <ForeignLine class="title">{title}</ForeignLine>
          {maker === '' ? null : <ForeignLine>{maker}</ForeignLine>}
          <ForeignLine class="quiet">{identity}</ForeignLine>
        </div>
      </div>
      <PositionBar node={node} player={player} title={title} now={now} />
      <div class="row transport">
        <TransportButtons node={node} player={player} label={label} />
        <span class="grow" />
        {shuffle === undefined ? null : (
          <Toggle
            label={label(translate('shuffle'))}
            icon="shuffle"
            isOn={shuffle}
            disabled={!capabilities.can_control}
            send={(wanted) => node.setShuffle(bus_name, { shuffle: wanted })}
          />
        )}
        {loop_status === undefined ? null : (
          <LoopButton
            status={loop_status}
            label={label}
            disabled={!capabilities.can_control}
            send={(loop) => node.setLoop(bus_name, { loop })}
          />
        )}
      </div>
      {output === undefined ? null : <OutputVolume node={node} output={output} isMain />}
      {tracklist === undefined ? null : <Tracklist node={node} player={player} tracklist={tracklist} />}
      <PlayerMore node={node} player={player} own={own} />
    </li>
  );
});

/** Rarely needed controls. Stop is here if the player can pause, because some players forget their list when stopped. */
function PlayerMore({ node, player, own }: Pick<PlayerProps, 'node' | 'player' | 'own'>) {
  const { bus_name, identity, volume, capabilities } = player;
  if (volume === undefined && !capabilities.can_pause && own === '') return null;
  return (
    <details class="more">
      <summary aria-label={translate('moreOf', { name: identity })}>{translate('more')}</summary>
      {volume === undefined ? null : (
        <div class="field">
          <span aria-hidden="true">{translate('playerVolume')}</span>
          <Slider
            class="grow"
            label={translate('volumeOf', { name: identity })}
            value={volume}
            text={formatPercent}
            disabled={!capabilities.can_control}
            send={(wanted) => node.setPlayerVolume(bus_name, { volume: wanted })}
          />
        </div>
      )}
      {capabilities.can_pause ? (
        <ActionButton
          class="button small"
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
