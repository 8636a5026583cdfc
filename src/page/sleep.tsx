// Draws the sheet in which a person chooses when the music ends: after some minutes, with the track, or not
// at all.

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
/** The length of the fade that the node makes by default after the minutes are over. */
const FADE_MS = 20_000;

interface SleepProps {
  /** The title, which says when the music ends. */
  readonly text: string;
  readonly sleep: NonNullable<NodeState['sleep']>;
  readonly players: NodeState['players'];
  readonly onClose: () => void;
}

export function Sleep({ text, sleep, players, onClose }: SleepProps) {
  const node = useNode();
  const live = useLive();
  const player = [...players.values()].find((candidate) => isPlaying(candidate) && lengthOf(candidate) > 0);
  const startAtEnd = (ending: PlayerRecord) =>
    node.startSleep({ minutes: minutesToFade(ending, live.nodeTime()) });
  return (
    <Sheet title={text} onClose={onClose}>
      <div class="row wrap-row">
        {CHOICES_MINUTES.map((minutes) => (
          <ActionButton key={minutes} send={() => node.startSleep({ minutes })}>
            {translate('sleepMinutes', { minutes })}
          </ActionButton>
        ))}
        {player === undefined ? null : (
          <ActionButton send={() => startAtEnd(player)}>{translate('sleepTrack')}</ActionButton>
        )}
        {sleep.active ? (
          <ActionButton send={() => node.stopSleep()}>{translate('sleepStop')}</ActionButton>
        ) : null}
      </div>
    </Sheet>
  );
}

/** The minutes until the fade has to begin, so that it ends with the track. */
function minutesToFade(player: PlayerRecord, now: number): number {
  const leftMs = (lengthOf(player) - (positionOf(player, now) ?? 0)) / 1000;
  return Math.max(MINUTES_MIN, (leftMs - FADE_MS) / MINUTE_MS);
}
