// The sheet of ends: the music ends after some minutes or with the track, or plays on.

import { type NodeState, type PlayerRecord, positionOf } from '../client/client.js';
import { ActionButton } from './controls.js';
import { translate } from './language.js';
import { useLive, useNode } from './node.js';
import { Sheet } from './sheet.js';
import { isPlaying } from './transport.js';

const CHOICES = [15, 30, 60];
const MINUTE_MS = 60_000;
/** The node takes no shorter one. */
const MINUTES_MIN = 1;
/** By default the fade lasts so long; it ends with the track. */
const FADE_MS = 20_000;

interface SleepProps {
  /** Says when the music ends. */
  readonly text: string;
  readonly sleep: NonNullable<NodeState['sleep']>;
  readonly players: NodeState['players'];
  readonly onClose: () => void;
}

export function Sleep({ text, sleep, players, onClose }: SleepProps) {
  const node = useNode();
  const live = useLive();
  const player = [...players.values()].find((each) => isPlaying(each) && lengthOf(each) > 0);
  const startAtEnd = (ending: PlayerRecord) =>
    node.startSleep({ minutes: minutesLeft(ending, live.nodeTime()) });
  return (
    <Sheet title={text} onClose={onClose}>
      <div class="row wrap-row">
        {CHOICES.map((minutes) => (
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

/** In microseconds; 0 if it is not known. */
function lengthOf({ metadata }: PlayerRecord): number {
  return Number(metadata?.['mpris:length']) || 0;
}

/** Until the fade has to begin, so that it ends with the track. */
function minutesLeft(player: PlayerRecord, now: number): number {
  const leftMs = (lengthOf(player) - (positionOf(player, now) ?? 0)) / 1000;
  return Math.max(MINUTES_MIN, (leftMs - FADE_MS) / MINUTE_MS);
}
