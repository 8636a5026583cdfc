// The position in the track, as a slider that moves by itself.

import { type PlayerRecord, positionOf } from '../client/client.js';
import { translate } from './language.js';
import { node, useLive } from './node.js';
import { useTicks } from './parts.js';
import { Slider } from './slider.js';
import { isPlaying, titleOf } from './transport.js';

const US_PER_S = 1_000_000;
const TICK_MS = 500;

export function PositionBar({ player }: { readonly player: PlayerRecord }) {
  const live = useLive();
  const runs = isPlaying(player);
  useTicks(TICK_MS, runs);
  const { bus_name, metadata, capabilities } = player;
  const position = positionOf(player, live.nodeTime());
  /** Not known, for instance, of a radio station. */
  const length = Number(metadata?.['mpris:length']);
  const track = metadata?.['mpris:trackid'];
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
      disabled={!capabilities.can_seek}
      send={(at) =>
        node.setPosition(bus_name, { position: Math.min(at, length), ...(track && { track_id: track }) })
      }
    />
  );
}

/** 83000000 -> `1:23`. */
function clockOf(us: number): string {
  const whole = Math.floor(us / US_PER_S);
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (part: number): string => String(part).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}
