// Draws the sheet of the sleep timer: the music ends after some minutes, with the track, or not at all.

import { type NodeState, type PlayerRecord, positionOf } from '../client/client.js';
import { ActionButton } from './controls.js';
import { translate } from './language.js';
import { useLive, useNode } from './node.js';
import { isPlaying, lengthOf } from './player-controls.js';
import { Sheet } from './sheet.js';

const CHOICES_MINUTES = [15, 30, 60];
const MINUTE_MS = 60_000;
/** The node accepts no shorter time. */
const MINUTES_MIN = 1;
/** When the minutes are over, the node fades the music out. By default the fade takes this long. */
const FADE_MS = 20_000;

interface SleepProps {
  readonly title: string;
  readonly sleep: NonNullable<NodeState['sleep']>;
  readonly players: NodeState['players'];
  readonly onClose: () => void;
}

export function Sleep({ title, sleep, players, onClose }: SleepProps) {
  const node = useNode();
  const live = useLive();
  const playingPlayers = [...players.values()].filter(isPlaying);
  // The end of a track is known only if the track has a length. A radio station has no length.
  const playerWithLength = playingPlayers.find((player) => lengthOf(player) > 0);
  const endWithTrackOf = (player: PlayerRecord) => {
    const minutes = minutesToFade(player, live.nodeTime());
    return node.startSleep({ minutes });
  };
  return (
    <Sheet title={title} onClose={onClose}>
      <div class="row wrap-row">
        {CHOICES_MINUTES.map((minutes) => (
          <ActionButton key={minutes} send={() => node.startSleep({ minutes })}>
            {translate('sleepMinutes', { minutes })}
          </ActionButton>
        ))}
        {playerWithLength === undefined ? null : (
          <ActionButton send={() => endWithTrackOf(playerWithLength)}>{translate('sleepTrack')}</ActionButton>
        )}
        {sleep.active ? (
          <ActionButton send={() => node.stopSleep()}>{translate('sleepStop')}</ActionButton>
        ) : null}
      </div>
    </Sheet>
  );
}

/** Returns the minutes until the fade must begin, so that the fade ends with the track. */
function minutesToFade(player: PlayerRecord, now: number): number {
  const leftUs = lengthOf(player) - (positionOf(player, now) ?? 0);
  // A player that reports no rate, or a rate of 0, counts as playing at the usual speed.
  const leftMs = leftUs / 1000 / (player.rate || 1);
  return Math.max(MINUTES_MIN, (leftMs - FADE_MS) / MINUTE_MS);
}
