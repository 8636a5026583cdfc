// Every view of a player shares this: cover, texts, position, and the transport (previous, play or pause,
// next, repeat) as far as possible.

import { useEffect, useRef, useState } from 'preact/hooks';
import { type ClientRecord, type NodeState, type PlayerRecord, positionOf } from '../client/client.js';
import { ActionButton, couldNotSet, useControl } from './controls.js';
import { Button, Icon } from './icons.js';
import { translate } from './language.js';
import { Late, Part } from './late.js';
import { Changing } from './may-change.js';
import { useLive, useNode } from './node.js';
import { useLater, useTicks } from './parts.js';
import { Slider } from './slider.js';

export function isPlaying({ playback_status }: PlayerRecord): boolean {
  return playback_status === 'Playing';
}

/** A stopped player may have a full list, but nothing of it to show and nothing to stop. */
export function hasTrack({ metadata = {}, playback_status }: PlayerRecord): boolean {
  return playback_status !== 'Stopped' || Boolean(metadata['xesam:title'] || metadata['xesam:url']);
}

export function titleOf(player: PlayerRecord): string {
  const { metadata = {} } = player;
  if (!hasTrack(player)) return translate('nothingPlays');
  return metadata['xesam:title'] || metadata['xesam:url'] || translate('untitled');
}

/** Artist and album, as far as they are known. */
export function artistAndAlbum({ metadata = {} }: PlayerRecord): string {
  return [metadata['xesam:artist'], metadata['xesam:album']].filter(Boolean).join(' – ');
}

export function streamsOf({ pid }: PlayerRecord, clients: NodeState['clients']): readonly ClientRecord[] {
  const isOwn = ({ props }: ClientRecord) => props?.['application.process.id'] === String(pid);
  return pid === undefined ? [] : [...clients.values()].filter(isOwn);
}

/** For each mode its look, and the mode after a press. */
const LOOPS = {
  None: { text: 'loopNone', icon: 'loop', next: 'Playlist' },
  Playlist: { text: 'loopPlaylist', icon: 'loop', next: 'Track' },
  Track: { text: 'loopTrack', icon: 'loopOne', next: 'None' },
} as const;

interface TransportProps {
  readonly player: PlayerRecord;
  /** Makes a button's label, with the player's name if there are several. */
  readonly label: (what: string) => string;
}

export function LoopButton({ player, label: of }: TransportProps) {
  const node = useNode();
  const { bus_name, loop_status = 'None', capabilities } = player;
  const send = (loop: keyof typeof LOOPS) => node.setLoop(bus_name, { loop });
  const { displayed, set } = useControl(loop_status, send, couldNotSet(of(translate('loop'))));
  const { text, icon, next } = LOOPS[displayed];
  return (
    <Changing>
      <Button
        label={of(translate('loopOf', { what: translate(text) }))}
        icon={icon}
        isPressed={displayed !== 'None'}
        disabled={!capabilities.can_control}
        onClick={() => set(next)}
      />
    </Changing>
  );
}

/** Play or pause in one button, which keeps its place and the focus. */
export function PlayButton({ player, label }: TransportProps) {
  const node = useNode();
  const { bus_name, capabilities: can } = player;
  const send = (desired: boolean) => (desired ? node.play(bus_name) : node.pause(bus_name));
  const failed = (desired: boolean): string =>
    translate('didNotWork', { what: translate(desired ? 'play' : 'pause') });
  const playing = useControl(isPlaying(player), send, failed);
  const name = playing.displayed ? 'pause' : 'play';
  return (
    <Changing>
      <Button
        class="main"
        icon={name}
        label={label(translate(name))}
        // Mopidy starts with an empty list, and does not announce that it can play when tracks have come.
        isDimmed={!playing.displayed && can.can_control && !can.can_play}
        disabled={playing.displayed ? !can.can_pause : !can.can_control}
        onClick={() => playing.set(!playing.displayed)}
      />
    </Changing>
  );
}

interface ButtonsProps extends TransportProps {
  /** The play button stands elsewhere. */
  readonly isWithoutPlay?: boolean;
}

export function TransportButtons({ player, label, isWithoutPlay = false }: ButtonsProps) {
  const node = useNode();
  const { bus_name, capabilities: can } = player;
  const button = (verb: 'previous' | 'next' | 'stop', isAble: boolean) => (
    <ActionButton
      icon={verb}
      label={label(translate(verb))}
      disabled={!isAble}
      send={() => node[verb](bus_name)}
    />
  );
  return (
    <>
      {button('previous', can.can_go_previous)}
      {isWithoutPlay ? null : <PlayButton player={player} label={label} />}
      {button('next', can.can_go_next)}
      {can.can_pause ? null : button('stop', can.can_control && hasTrack(player))}
    </>
  );
}

const US_PER_S = 1_000_000;
const TICK_MS = 500;
/**
 * The ids that name a track to a player. Some players give others, and their track is then the one that
 * plays.
 */
const TRACK_ID = /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/;

/** A slider that moves by itself. */
export function PositionBar({ player }: { readonly player: PlayerRecord }) {
  const node = useNode();
  const live = useLive();
  const runs = isPlaying(player);
  useTicks(TICK_MS, runs);
  const { bus_name, metadata, capabilities } = player;
  const position = positionOf(player, live.nodeTime());
  /** Not known, for instance, of a radio station. */
  const length = Number(metadata?.['mpris:length']);
  const id = metadata?.['mpris:trackid'] ?? '';
  const track = TRACK_ID.test(id) ? { track_id: id } : {};
  if (position === undefined) return null;
  if (!(length > 0)) return <p class="quiet">{clockOf(position)}</p>;
  return (
    <Slider
      class="position"
      label={translate('positionOf', { name: titleOf(player) })}
      value={position}
      max={length}
      step={US_PER_S}
      late
      runs={runs}
      text={(at) => translate('positionText', { position: clockOf(at), length: clockOf(length) })}
      ends={(at) => [clockOf(at), `-${clockOf(length - at)}`]}
      disabled={!capabilities.can_seek}
      send={(at) => node.setPosition(bus_name, { position: Math.min(at, length), ...track })}
    />
  );
}

/** 83000000 -> `1:23`. */
function clockOf(us: number): string {
  const whole = Math.floor(us / US_PER_S);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const seconds = whole % 60;
  const two = (part: number): string => String(part).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}

const LAST_COVER = new Part(async () => (await import('./pictures.js')).LastCover);

/** A cover that failed may be there later: the web is slow, or a player still writes its file. */
const TRY_AGAIN_MS = 60_000;

interface CoverProps {
  readonly player: PlayerRecord;
  /** Called with each cover once it has loaded, and with undefined for a track without one. */
  readonly onPicture?: (picture: HTMLImageElement | undefined) => void;
}

/**
 * Only covers of the node: one from elsewhere would disclose what is played. Where the node leads to the web,
 * the page's policy stops that. While nothing plays, the last cover stays, pale.
 */
export function Cover({ player, onPicture }: CoverProps) {
  const node = useNode();
  const art = player.metadata?.['mpris:artUrl'] ?? '';
  const [broken, setBroken] = useState('');
  useLater(broken === '' ? undefined : TRY_AGAIN_MS, () => setBroken(''), [broken]);
  const isOurs = /^(?:file|data|https?):/i.test(art) && broken !== art;
  const last = useRef({ address: '', of: '' });
  const { bus_name } = player;
  if (isOurs) last.current = { address: `${node.coverUrl(bus_name)}?of=${hashOf(art)}`, of: bus_name };
  const isPast = !hasTrack(player) && last.current.of === bus_name;
  const address = isOurs || isPast ? last.current.address : '';
  useEffect(() => {
    if (address === '') onPicture?.(undefined);
  }, [address, onPicture]);
  return (
    <div class={`cover ${isPast ? 'past' : ''}`} aria-hidden="true">
      {address === '' ? (
        <NoCover isLarge={onPicture !== undefined && !hasTrack(player)} />
      ) : (
        <img
          src={address}
          alt=""
          onLoad={({ currentTarget }) => onPicture?.(currentTarget)}
          onError={() => setBroken(art)}
        />
      )}
    </div>
  );
}

/** `isLarge`: it is where a cover is large while something plays. */
export function NoCover({ isLarge }: { readonly isLarge: boolean }) {
  return isLarge ? <Late part={LAST_COVER} props={{}} /> : <Icon name="note" />;
}

/** Each picture gets its own address, so that the browser loads a picture only once. */
function hashOf(text: string): number {
  return [...text].reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_000_007, 7);
}
