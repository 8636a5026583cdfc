// The moon: lets the music end after some minutes or with the track, and shows when it will.

import { type NodeState, type PlayerRecord, positionOf } from '../client/client.js';
import { ActionButton } from './controls.js';
import { Icon } from './icons.js';
import { translate } from './language.js';
import { useMayChange } from './may-change.js';
import { useLive, useNode } from './node.js';
import { useTicks } from './parts.js';
import { isPlaying } from './transport.js';

const CHOICES = [15, 30, 60];
const MINUTE_MS = 60_000;
/** The node takes no shorter one. */
const MINUTES_MIN = 1;
/** By default the fade lasts so long; it ends with the track. */
const FADE_MS = 20_000;
const TICK_MS = 10_000;

/** It draws nothing where the node has no sleep, as without sound, or lets nobody set it. */
export function SleepMoon({ sleep, players }: Pick<NodeState, 'sleep' | 'players'>) {
  const node = useNode();
  const live = useLive();
  const mayChange = useMayChange();
  useTicks(TICK_MS, sleep?.active === true);
  if (sleep === undefined || !mayChange) return null;
  const leftMs = Date.parse(sleep.until ?? '') - live.nodeTime();
  const minutes = Math.max(0, Math.ceil(leftMs / MINUTE_MS));
  const text = sleep.active ? translate('sleepIn', { minutes }) : translate('sleep');
  const player = [...players.values()].find((each) => isPlaying(each) && lengthOf(each) > 0);
  const startAtEnd = (ending: PlayerRecord) =>
    node.startSleep({ minutes: minutesLeft(ending, live.nodeTime()) });
  return (
    <details class="card health sleep">
      <summary>
        <Icon name="moon" />
        {text}
      </summary>
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
    </details>
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
