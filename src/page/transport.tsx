// Draws the parts that several views of a player share: cover, position and buttons. Decides their texts.

import { useEffect, useRef, useState } from 'preact/hooks';
import { type ClientRecord, type NodeState, type PlayerRecord, positionOf } from '../client/client.js';
import { ActionButton, couldNotSet, useControl } from './controls.js';
import { Button, Icon } from './icons.js';
import { translate } from './language.js';
import { Late, LatePart } from './late.js';
import { IfMayChange } from './may-change.js';
import { useLive, useNode } from './node.js';
import { useLater, useTicks } from './parts.js';
import { controlsOf, hasTrack, isPlaying, lengthOf } from './player-controls.js';
import { Slider } from './slider.js';

export function titleOf(player: PlayerRecord): string {
  const { metadata = {} } = player;
  if (!hasTrack(player)) return translate('nothingPlays');
  return metadata['xesam:title'] || metadata['xesam:url'] || translate('untitled');
}

export function artistAndAlbum({ metadata = {} }: PlayerRecord): string {
  return [metadata['xesam:artist'], metadata['xesam:album']].filter(Boolean).join(' – ');
}

/** Returns the streams of sound (`ClientRecord`) that the player's process plays. */
export function playerStreams(
  player: PlayerRecord | undefined,
  clients: NodeState['clients'],
): readonly ClientRecord[] {
  const pid = player?.pid;
  const isOfPlayer = ({ props }: ClientRecord) => props?.['application.process.id'] === String(pid);
  return pid === undefined ? [] : [...clients.values()].filter(isOfPlayer);
}

/** True for a stream that plays an input at an output. Such a stream runs even while the input is silent. */
const isOfInput = ({ input }: ClientRecord): boolean => input !== undefined;

/** Returns the streams that are not paused. The streams of inputs come last. */
export function soundingStreams(clients: NodeState['clients']): readonly ClientRecord[] {
  const streams = [...clients.values()].filter(({ corked }) => !corked);
  return streams.sort((a, b) => Number(isOfInput(a)) - Number(isOfInput(b)));
}

/** True if at least one stream is not paused. The streams of inputs do not count. */
export function isSounding({ clients }: NodeState): boolean {
  const [first] = soundingStreams(clients);
  return first !== undefined && !isOfInput(first);
}

/**
 * Returns the title of the player's track, also while the player is paused. Without a player or a track,
 * returns the name of the first stream in `soundingStreams`. Without such a stream, the returned text says
 * that nothing plays.
 */
export function playingTitle({ clients }: NodeState, player?: PlayerRecord): string {
  if (player !== undefined && hasTrack(player)) return titleOf(player);
  return soundingStreams(clients)[0]?.name ?? translate('nothingPlays');
}

/** The text and the icon of each loop mode. A press of the button sets the `next` mode. */
const LOOP_MODES = {
  None: { text: 'loopNone', icon: 'loop', next: 'Playlist' },
  Playlist: { text: 'loopPlaylist', icon: 'loop', next: 'Track' },
  Track: { text: 'loopTrack', icon: 'loopOne', next: 'None' },
} as const;

interface TransportProps {
  readonly player: PlayerRecord;
  /** Makes the label of a button from the button's text. The label may also name the player or the room. */
  readonly label: (what: string) => string;
}

export function LoopButton({ player, label }: TransportProps) {
  const node = useNode();
  const { bus_name, loop_status = 'None' } = player;
  const send = (loop: keyof typeof LOOP_MODES) => node.setLoop(bus_name, { loop });
  const { displayed, set } = useControl(loop_status, send, couldNotSet(label(translate('loop'))));
  const { text, icon, next } = LOOP_MODES[displayed];
  return (
    <IfMayChange>
      <Button
        label={label(translate('loopOf', { what: translate(text) }))}
        icon={icon}
        isPressed={displayed !== 'None'}
        disabled={controlsOf(player).loop === 'disabled'}
        onClick={() => set(next)}
      />
    </IfMayChange>
  );
}

/** One button plays and pauses, so that it keeps its place and the focus. */
export function PlayButton({ player, label }: TransportProps) {
  const node = useNode();
  const { bus_name } = player;
  const send = (desired: boolean) => (desired ? node.play(bus_name) : node.pause(bus_name));
  const failureTitle = (desired: boolean): string =>
    translate('didNotWork', { what: translate(desired ? 'play' : 'pause') });
  const playing = useControl(isPlaying(player), send, failureTitle);
  const verb = playing.displayed ? 'pause' : 'play';
  const state = controlsOf(player)[verb];
  return (
    <IfMayChange>
      <Button
        class="main"
        icon={verb}
        label={label(translate(verb))}
        // A dimmed button can be pressed, because the player may be able to play by now.
        isDimmed={state === 'doubtful'}
        disabled={state === 'disabled'}
        onClick={() => playing.set(!playing.displayed)}
      />
    </IfMayChange>
  );
}

interface ButtonsProps extends TransportProps {
  /** True if the view has its play button in another place. */
  readonly isWithoutPlay?: boolean;
}

export function TransportButtons({ player, label, isWithoutPlay = false }: ButtonsProps) {
  const node = useNode();
  const controls = controlsOf(player);
  const button = (verb: 'previous' | 'next' | 'stop') => (
    <ActionButton
      icon={verb}
      label={label(translate(verb))}
      disabled={controls[verb] === 'disabled'}
      send={() => node[verb](player.bus_name)}
    />
  );
  return (
    <>
      {button('previous')}
      {isWithoutPlay ? null : <PlayButton player={player} label={label} />}
      {button('next')}
      {controls.stop === 'absent' ? null : button('stop')}
    </>
  );
}

const US_PER_S = 1_000_000;
const TICK_MS = 500;

/** If the track's length is not known, `control` is `absent`, and the position is drawn as a text. */
export function PositionBar({ player }: { readonly player: PlayerRecord }) {
  const node = useNode();
  const live = useLive();
  const movesByItself = isPlaying(player);
  useTicks(TICK_MS, movesByItself);
  const { bus_name, metadata } = player;
  const position = positionOf(player, live.nodeTime());
  const length = lengthOf(player);
  const id = metadata?.['mpris:trackid'] ?? '';
  const control = controlsOf(player).position;
  // The last step of the slider may be beyond the end of the track.
  const clamped = (us: number): number => Math.min(us, length);
  if (position === undefined) return null;
  if (control === 'absent') return <p class="quiet">{clockText(position)}</p>;
  // `key` ends a drag when another player takes the place of this one. `subjectId` ends a drag when another
  // track begins. A track may have no id, so its title and length are in `subjectId`, too.
  return (
    <Slider
      key={bus_name}
      class="position"
      label={translate('positionOf', { name: titleOf(player) })}
      value={position}
      max={length}
      step={US_PER_S}
      setsOnRelease
      subjectId={`${id} ${titleOf(player)} ${length}`}
      movesByItself={movesByItself}
      text={(us) =>
        translate('positionText', { position: clockText(clamped(us)), length: clockText(length) })
      }
      ends={(us) => [clockText(clamped(us)), `-${clockText(length - clamped(us))}`]}
      disabled={control === 'disabled'}
      send={(us) => node.setPosition(bus_name, { position: clamped(us), track_id: id })}
    />
  );
}

/** 83000000 microseconds become `1:23`. */
function clockText(us: number): string {
  const wholeSeconds = Math.floor(us / US_PER_S);
  const hours = Math.floor(wholeSeconds / 3600);
  const minutes = Math.floor(wholeSeconds / 60) % 60;
  const seconds = wholeSeconds % 60;
  const twoDigits = (part: number): string => String(part).padStart(2, '0');
  if (hours === 0) return `${minutes}:${twoDigits(seconds)}`;
  return `${hours}:${twoDigits(minutes)}:${twoDigits(seconds)}`;
}

const LAST_COVER = new LatePart(async () => (await import('./pictures.js')).LastCover);

/**
 * A cover that could not be loaded is requested again after this time. The web may have been slow, or the
 * player may not have written the whole file of the cover yet.
 */
const COVER_RELOAD_MS = 60_000;

interface CoverProps {
  readonly player: PlayerRecord;
  /** Called with each cover when it has loaded, and with undefined when a cover is no longer drawn. */
  readonly onPicture?: (picture: HTMLImageElement | undefined) => void;
}

/**
 * Loads covers only from the node, because another host would learn what is played. The page's policy stops
 * redirections to other hosts. While the player has no track, its last cover stays, but pale.
 */
export function Cover({ player, onPicture }: CoverProps) {
  const node = useNode();
  const identity = coverIdentity(player);
  /** The identity of the cover that could not be loaded; empty if there is none. */
  const [brokenCover, setBrokenCover] = useState('');
  useLater(brokenCover === '' ? undefined : COVER_RELOAD_MS, () => setBrokenCover(''), [brokenCover]);
  // The identity begins with the cover's address. The node serves only covers with one of these schemes.
  const hasCover = /^(?:file|data|https?):/i.test(identity) && brokenCover !== identity;
  /** The last cover that has loaded. */
  const lastCover = useRef({ address: '', player: '' });
  const { bus_name } = player;
  const isLastCover = !hasTrack(player) && lastCover.current.player === bus_name;
  const lastAddress = isLastCover ? lastCover.current.address : '';
  // All covers of a player have the same path. A new `of` makes the browser load the new cover. A player
  // without a cover and without a track keeps its last cover. For a track without a cover, `address` is ''.
  const address = hasCover ? `${node.coverUrl(bus_name)}?of=${hashOf(identity)}` : lastAddress;
  const hasPicture = address !== '';
  // This effect is only a cleanup, which runs when a cover is no longer drawn.
  useEffect(() => (hasPicture ? () => onPicture?.(undefined) : undefined), [hasPicture, onPicture]);
  // Only a large cover has `onPicture`: that of the large player, or of the wall.
  const isLargeWithoutTrack = onPicture !== undefined && !hasTrack(player);
  return (
    <div class={`cover ${isLastCover ? 'past' : ''}`} aria-hidden="true">
      {hasPicture ? (
        <img
          src={address}
          alt=""
          onLoad={({ currentTarget }) => {
            lastCover.current = { address, player: bus_name };
            onPicture?.(currentTarget);
          }}
          onError={() => setBrokenCover(identity)}
        />
      ) : (
        <NoCover showsLastCover={isLargeWithoutTrack} />
      )}
    </div>
  );
}

/**
 * With `showsLastCover`, the last cover in the storage of the browser's tab is drawn, if there is one
 * (last-cover.tsx). It may be the cover of another player.
 */
export function NoCover({ showsLastCover }: { readonly showsLastCover: boolean }) {
  return showsLastCover ? <Late part={LAST_COVER} props={{}} /> : <Icon name="note" />;
}

/**
 * Begins with the address of the cover. Some players have one address for the covers of all tracks, so other
 * fields follow. The title is not among them, because the title of a radio station often changes.
 */
function coverIdentity({ metadata = {} }: PlayerRecord): string {
  const fields = ['mpris:artUrl', 'xesam:url', 'xesam:album', 'mpris:trackid'] as const;
  return fields.map((field) => metadata[field]).join();
}

/** Returns a number for the text. Different texts almost always have different numbers. */
function hashOf(text: string): number {
  let hash = 7;
  for (const letter of text) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_000_007;
  return hash;
}
