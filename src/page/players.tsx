// The media players: what each plays, how far it is, and its transport.

import { useEffect, useState } from 'preact/hooks';
import { type ClientRecord, type PlayerRecord, positionOf, type Tonearm } from '../client/client.js';
import { ActionButton, Toggle, useControl } from './controls.js';
import { Icon } from './icons.js';
import { say, sayPercent } from './language.js';
import { Cards, Name, still } from './parts.js';
import { clockOf, lengthOf } from './position.js';
import { Slider } from './slider.js';

interface PlayersProps {
  readonly node: Tonearm;
  readonly players: readonly PlayerRecord[];
  readonly streams: readonly ClientRecord[];
  readonly now: () => number;
}

export function Players({ node, players, streams, now }: PlayersProps) {
  const sorted = [...players].sort((a, b) => Number(isPlaying(b)) - Number(isPlaying(a)));
  return (
    <Cards>
      {sorted.map((player) => (
        <PlayerCard
          key={player.bus_name}
          node={node}
          player={player}
          own={streamsOf(player, streams)}
          now={now}
        />
      ))}
    </Cards>
  );
}

function isPlaying({ playback_status }: PlayerRecord): boolean {
  return playback_status === 'Playing';
}

/** A text, so that it is the same one while they are. */
function streamsOf({ pid }: PlayerRecord, streams: readonly ClientRecord[]): string {
  if (pid === undefined) return '';
  return streams
    .filter(({ props }) => props?.['application.process.id'] === String(pid))
    .map(({ name }) => `\u2068${name}\u2069`)
    .join(', ');
}

interface PlayerProps {
  readonly node: Tonearm;
  readonly player: PlayerRecord;
  readonly own: string;
  readonly now: () => number;
}

const PlayerCard = still(({ node, player, own, now }: PlayerProps) => {
  const { bus_name, identity, metadata = {}, volume, shuffle, loop_status, capabilities } = player;
  const title = metadata['xesam:title'] || metadata['xesam:url'] || say('untitled');
  const maker = [metadata['xesam:artist'], metadata['xesam:album']].filter(Boolean).join(' – ');
  return (
    <li class="card player">
      <div class="row">
        <Cover node={node} player={player} />
        <div class="grow">
          <p class="title clip">
            <Name>{title}</Name>
          </p>
          {maker === '' ? null : (
            <p class="clip">
              <Name>{maker}</Name>
            </p>
          )}
          <p class="quiet clip">
            <bdi>{identity}</bdi>
          </p>
        </div>
      </div>
      <Position node={node} player={player} title={title} now={now} />
      <div class="row transport">
        <TransportButtons node={node} player={player} />
        <span class="grow" />
        {shuffle === undefined ? null : (
          <Toggle
            label={say('shuffle')}
            icon="shuffle"
            isOn={shuffle}
            disabled={!capabilities.can_control}
            send={(wanted) => node.setShuffle(bus_name, { shuffle: wanted })}
          />
        )}
        {loop_status === undefined ? null : (
          <LoopButton
            status={loop_status}
            disabled={!capabilities.can_control}
            send={(loop) => node.setLoop(bus_name, { loop })}
          />
        )}
      </div>
      {volume === undefined ? null : (
        <div class="row">
          <Icon name="volume" />
          <Slider
            class="grow"
            label={say('volumeOf', { name: identity })}
            value={volume}
            text={sayPercent}
            disabled={!capabilities.can_control}
            send={(wanted) => node.setPlayerVolume(bus_name, { volume: wanted })}
          />
        </div>
      )}
      {own === '' ? null : <p class="quiet wrap">{say('playsAs', { names: own })}</p>}
    </li>
  );
});

type LoopStatus = NonNullable<PlayerRecord['loop_status']>;

/** What a press makes of each, and how it looks. */
const LOOPS = {
  None: { text: 'loopNone', icon: 'loop', next: 'Playlist' },
  Playlist: { text: 'loopPlaylist', icon: 'loop', next: 'Track' },
  Track: { text: 'loopTrack', icon: 'loopOne', next: 'None' },
} as const;

interface LoopProps {
  readonly status: LoopStatus;
  readonly disabled: boolean;
  readonly send: (status: LoopStatus) => Promise<unknown>;
}

function LoopButton({ status, disabled, send }: LoopProps) {
  const { shown, set } = useControl(status, send);
  const { text, icon, next } = LOOPS[shown];
  const label = say('loopOf', { what: say(text) });
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      title={label}
      aria-pressed={shown !== 'None'}
      disabled={disabled}
      onClick={() => set(next)}
    >
      <Icon name={icon} />
    </button>
  );
}

function TransportButtons({ node, player }: { readonly node: Tonearm; readonly player: PlayerRecord }) {
  const { bus_name, capabilities: can } = player;
  const playing = useControl(isPlaying(player), (wanted) =>
    wanted ? node.play(bus_name) : node.pause(bus_name),
  );
  const name = playing.shown ? 'pause' : 'play';
  return (
    <>
      <ActionButton
        class="icon-button"
        icon="previous"
        label={say('previous')}
        disabled={!can.can_go_previous}
        send={() => node.previous(bus_name)}
      />
      <button
        type="button"
        class="icon-button main"
        aria-label={say(name)}
        title={say(name)}
        disabled={playing.shown ? !can.can_pause : !can.can_play}
        onClick={() => playing.set(!playing.shown)}
      >
        <Icon name={name} />
      </button>
      <ActionButton
        class="icon-button"
        icon="next"
        label={say('next')}
        disabled={!can.can_go_next}
        send={() => node.next(bus_name)}
      />
      <ActionButton
        class="icon-button"
        icon="stop"
        label={say('stop')}
        disabled={!can.can_control}
        send={() => node.stop(bus_name)}
      />
    </>
  );
}

const US_PER_S = 1_000_000;
/** Twice in each second that it shows. */
const TICK_MS = 500;

interface PositionProps {
  readonly node: Tonearm;
  readonly player: PlayerRecord;
  readonly title: string;
  readonly now: () => number;
}

function Position({ node, player, title, now }: PositionProps) {
  const [, draw] = useState(0);
  const runs = isPlaying(player);
  useEffect(() => {
    if (!runs) return undefined;
    const timer = setInterval(() => document.hidden || draw((times) => times + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [runs]);
  const position = positionOf(player, now());
  const length = lengthOf(player);
  if (position === undefined) return null;
  if (length === undefined) return <p class="quiet">{clockOf(position)}</p>;
  const track = player.metadata?.['mpris:trackid'];
  return (
    <Slider
      class="position"
      label={say('positionOf', { name: title })}
      value={position}
      max={length}
      step={US_PER_S}
      late
      text={(at) => say('positionText', { position: clockOf(at), length: clockOf(length) })}
      disabled={!player.capabilities.can_seek}
      send={(at) =>
        node.setPosition(player.bus_name, {
          position: Math.min(at, length),
          ...(track && { track_id: track }),
        })
      }
    />
  );
}

/** Of the node only: a cover that lies elsewhere on the network would tell others what is played here. */
function Cover({ node, player }: { readonly node: Tonearm; readonly player: PlayerRecord }) {
  const art = player.metadata?.['mpris:artUrl'] ?? '';
  const [broken, setBroken] = useState('');
  const isOurs = /^(?:file|data):/i.test(art) && broken !== art;
  return (
    <div class="cover" aria-hidden="true">
      {isOurs ? (
        <img
          src={`${node.coverUrl(player.bus_name)}?of=${hashOf(art)}`}
          alt=""
          onError={() => setBroken(art)}
        />
      ) : (
        <Icon name="note" />
      )}
    </div>
  );
}

/** Another picture has another address, and an image that is shown is not asked for again. */
function hashOf(text: string): number {
  return [...text].reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_000_007, 7);
}
