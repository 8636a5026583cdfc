// The position in the track, as a slider that moves by itself.

import { type PlayerRecord, positionOf, type Tonearm } from '../client/client.js';
import { translate } from './language.js';
import { useTicks } from './parts.js';
import { Slider } from './slider.js';
import { isPlaying } from './transport.js';

const US_PER_S = 1_000_000;
const TICK_MS = 500;

interface PositionProps {
  readonly node: Tonearm;
  readonly player: PlayerRecord;
  readonly title: string;
  readonly now: () => number;
}

export function PositionBar({ node, player, title, now }: PositionProps) {
  const runs = isPlaying(player);
  useTicks(TICK_MS, runs);
  const position = positionOf(player, now());
  const length = lengthOf(player);
  if (position === undefined) return null;
  if (length === undefined) return <p class="quiet">{clockOf(position)}</p>;
  const track = player.metadata?.['mpris:trackid'];
  return (
    <Slider
      class="position"
      label={translate('positionOf', { name: title })}
      value={position}
      max={length}
      step={US_PER_S}
      late
      runs={runs}
      text={(at) => translate('positionText', { position: clockOf(at), length: clockOf(length) })}
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

/** Microseconds; undefined if not known, for instance of a radio station. */
function lengthOf({ metadata }: PlayerRecord): number | undefined {
  const length = Number(metadata?.['mpris:length']);
  return length > 0 ? length : undefined;
}

/** 83000000 -> `1:23`. */
function clockOf(us: number): string {
  const whole = Math.floor(us / US_PER_S);
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (part: number): string => String(part).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}
