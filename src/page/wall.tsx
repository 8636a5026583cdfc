// Draws the page for a wall or a television: what plays, as large as possible, and a clock.

import { useEffect, useState } from 'preact/hooks';
import type { NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { translate } from './language.js';
import { InputWatch } from './liveness.js';
import { OutputVolume } from './main-volume.js';
import { ForeignText, useTicks } from './parts.js';
import { hasTrack, isPlaying } from './player-controls.js';
import { Receivers } from './receivers.js';
import {
  artistAndAlbum,
  Cover,
  isSounding,
  NoCover,
  PositionBar,
  playingTitle,
  TransportButtons,
} from './transport.js';
import { useTint } from './use-tint.js';

/** The page is dimmed after this time without input. */
const DIM_AFTER_MS = 15_000;
const DIM_CHECK_MS = 250;
/** The page moves by some pixels at this interval. A picture that does not move burns into the screen. */
const SHIFT_MS = 60_000;
const SHIFTS_PX = [0, 6, 12, 6, 0, -6, -12, -6] as const;
const CLOCK_MS = 1000;

interface WallProps {
  readonly state: NodeState;
  readonly player: PlayerRecord | undefined;
  readonly output: OutputRecord | undefined;
  /** The name of the node. It is displayed if there is no output. */
  readonly name: string;
}

export function Wall({ state, player, output, name }: WallProps) {
  const isDimmed = useIsDimmed();
  const setPicture = useTint();
  const hasNoTrack = player === undefined || !hasTrack(player);
  const artist = hasNoTrack ? '' : artistAndAlbum(player);
  const next = player === undefined ? undefined : nextTitle(player, state.tracklists);
  const isSilent = !isSounding(state) && (player === undefined || !isPlaying(player));
  // A track is drawn with its own cover. If there is no track and no sound, the last cover is drawn. If there
  // is a sound without a track, the last cover would be wrong, so an icon is drawn.
  const playerOfCover = hasNoTrack && !isSilent ? undefined : player;
  return (
    <div class={`wall ${isDimmed ? 'rests' : ''} ${isSilent ? 'silent' : ''}`} id="now" style={useShift()}>
      {/* This background also shows the cover, but page.css blurs it. */}
      <div class="wall-ground">{playerOfCover === undefined ? null : <Cover player={playerOfCover} />}</div>
      {playerOfCover === undefined ? (
        <div class="cover" aria-hidden="true">
          <NoCover showsLastCover={isSilent} />
        </div>
      ) : (
        <Cover player={playerOfCover} onPicture={setPicture} />
      )}
      <div class="wall-side">
        <p class="wall-room">
          <bdi>{output?.label ?? name}</bdi>
          <WallClock />
        </p>
        <ForeignText class="wall-title">{playingTitle(state, player)}</ForeignText>
        {artist === '' ? null : <ForeignText>{artist}</ForeignText>}
        {hasNoTrack && isSilent ? <Receivers state={state} /> : null}
        {player === undefined ? null : (
          <>
            <PositionBar player={player} />
            <div class="row transport">
              <TransportButtons player={player} label={(what) => what} />
            </div>
          </>
        )}
        {output === undefined ? null : <OutputVolume output={output} isMain />}
        {next === undefined ? null : (
          <ForeignText class="quiet">{translate('nextTrack', { name: next })}</ForeignText>
        )}
      </div>
    </div>
  );
}

function useIsDimmed(): boolean {
  const [isDimmed, setDimmed] = useState(false);
  useEffect(() => {
    const input = new InputWatch(document);
    const timer = setInterval(() => setDimmed(input.idleMs > DIM_AFTER_MS), DIM_CHECK_MS);
    return () => clearInterval(timer);
  }, []);
  return isDimmed;
}

/** The vertical shift is two steps ahead of the horizontal one, so that the picture moves in a circle. */
function useShift(): { readonly '--shift': string } {
  useTicks(SHIFT_MS);
  const count = Math.floor(Date.now() / SHIFT_MS);
  const x = SHIFTS_PX[count % SHIFTS_PX.length] ?? 0;
  const y = SHIFTS_PX[(count + 2) % SHIFTS_PX.length] ?? 0;
  return { '--shift': `translate(${x}px, ${y}px)` };
}

function WallClock() {
  useTicks(CLOCK_MS);
  return <time>{formatClock(new Date())}</time>;
}

/** The title of the track after the current one; undefined if the title is not known. */
function nextTitle({ bus_name, metadata }: PlayerRecord, lists: NodeState['tracklists']): string | undefined {
  const tracks = lists.get(bus_name)?.tracks ?? [];
  const current = tracks.findIndex(({ track_id }) => track_id === metadata?.['mpris:trackid']);
  return current < 0 ? undefined : tracks[current + 1]?.metadata['xesam:title'];
}

/** The time of the day as `09:05`. */
function formatClock(time: Date): string {
  const twoDigits = (part: number): string => String(part).padStart(2, '0');
  return `${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}`;
}
