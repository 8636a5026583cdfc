// Length and position of a track as text. Pure.

import type { PlayerRecord } from '../client/client.js';

const US_PER_S = 1_000_000;

/** Microseconds; undefined if not known, for instance of a radio station. */
export function lengthOf({ metadata }: PlayerRecord): number | undefined {
  const length = Number(metadata?.['mpris:length']);
  return length > 0 ? length : undefined;
}

/** 83000000 -> `1:23`. */
export function clockOf(us: number): string {
  const whole = Math.floor(us / US_PER_S);
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (part: number): string => String(part).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}
