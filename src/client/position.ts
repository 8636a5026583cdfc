// Decides where a player is in its track at a time. Pure.

import type { PlayerRecord } from './records.js';

/**
 * A player's position in microseconds; undefined if the player does not report one. `now` is in milliseconds
 * since the epoch by the node's clock (`Live.nodeTime`), which may be years away from this device's.
 */
export function positionOf(player: PlayerRecord, now: number): number | undefined {
  const { position, position_updated_at: updatedAt, playback_status: status, rate = 1, metadata } = player;
  if (position === undefined || status !== 'Playing') return position;
  const positionNow = position + (now - Date.parse(updatedAt)) * 1000 * rate;
  // A length that is missing or 0 limits nothing.
  const length = Number(metadata?.['mpris:length']) || positionNow;
  return Math.max(0, Math.min(length, positionNow));
}
