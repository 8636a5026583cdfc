// Shows what plays on a wall or a television: as large as it can be, with a clock while nobody is at it.

import { useEffect, useState } from 'preact/hooks';
import type { NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { formatClock, translate } from './language.js';
import { OutputVolume } from './main-volume.js';
import { ForeignLine, useTicks } from './parts.js';
import { Hands } from './pulse.js';
import { Receivers } from './receivers.js';
import {
  artistAndAlbum,
  Cover,
  hasTrack,
  isPlaying,
  NoCover,
  PositionBar,
  TransportButtons,
  titleOf,
} from './transport.js';
import { useTint } from './use-tint.js';

/** Dimmed after this time without input. */
const REST_MS = 15_000;
const REST_CHECK_MS = 250;
/** Everything moves by some pixels after this time, so that nothing burns in. */
const SHIFT_MS = 60_000;
const SHIFTS_PX = [0, 6, 12, 6, 0, -6, -12, -6] as const;
const CLOCK_MS = 1000;

interface WallProps {
  readonly state: NodeState;
  readonly player: PlayerRecord | undefined;
  readonly output: OutputRecord | undefined;
  /** The name of the room. */
  readonly name: string;
}

export function Wall({ state, player, output, name }: WallProps) {
  const rests = useRest();
  const setPicture = useTint();
  const maker = player === undefined ? '' : artistAndAlbum(player);
  const next = player === undefined ? undefined : nextOf(player, state.tracklists);
  const isSilent = player === undefined || !isPlaying(player);
  return (
    <div class={`wall ${rests ? 'rests' : ''} ${isSilent ? 'silent' : ''}`} id="now" style={useShift()}>
      <div class="wall-ground">{player === undefined ? null : <Cover player={player} />}</div>
      {player === undefined ? (
        <div class="cover" aria-hidden="true">
          <NoCover isLarge />
        </div>
      ) : (
        <Cover player={player} onPicture={setPicture} />
      )}
      <div class="wall-side">
        <p class="wall-room">
          <bdi>{output?.label ?? name}</bdi>
          <Clock />
        </p>
        <ForeignLine class="wall-title">
          {player === undefined ? translate('nothingPlays') : titleOf(player)}
        </ForeignLine>
        {maker === '' ? null : <ForeignLine>{maker}</ForeignLine>}
        {player === undefined || !hasTrack(player) ? <Receivers state={state} /> : null}
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
          <ForeignLine class="quiet">{translate('nextTrack', { name: next })}</ForeignLine>
        )}
      </div>
    </div>
  );
}

function useRest(): boolean {
  const [rests, setRests] = useState(false);
  useEffect(() => {
    const hands = new Hands(document);
    const timer = setInterval(() => setRests(hands.idleMs > REST_MS), REST_CHECK_MS);
    return () => clearInterval(timer);
  }, []);
  return rests;
}

function useShift(): { readonly '--shift': string } {
  useTicks(SHIFT_MS);
  const minute = Math.floor(Date.now() / SHIFT_MS);
  const [x = 0, y = 0] = [0, 2].map((ahead) => SHIFTS_PX[(minute + ahead) % SHIFTS_PX.length] ?? 0);
  return { '--shift': `translate(${x}px, ${y}px)` };
}

function Clock() {
  useTicks(CLOCK_MS);
  return <time>{formatClock(new Date())}</time>;
}

/** The title of the track after the current one, where the player has a list. */
function nextOf({ bus_name, metadata }: PlayerRecord, lists: NodeState['tracklists']): string | undefined {
  const tracks = lists.get(bus_name)?.tracks ?? [];
  const at = tracks.findIndex(({ track_id }) => track_id === metadata?.['mpris:trackid']);
  return at < 0 ? undefined : tracks[at + 1]?.metadata['xesam:title'];
}
