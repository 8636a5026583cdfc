// The facts that are known about one player, and how readings and signals change them; the extrapolation of
// its position between two readings (docs/players.md, "Positions"); and its record (docs/http-api.md,
// "Player"). Pure.

import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import { type PropertyRecord, type PropertyValues, readProperties } from '../../protocol/dbus/daemon.js';
import { PLAYER_NAMES, PLAYER_PROPERTIES, ROOT_PROPERTIES } from '../../protocol/dbus/mpris.js';
import { capped } from '../text.js';
import { type Metadata, metadataOf, NO_METADATA } from './metadata.js';

type PlayerProperties = Omit<PropertyValues<typeof PLAYER_PROPERTIES>, 'Metadata' | 'Position'>;

/** Properties by their MPRIS names; missing ones and ones of a wrong type are absent. */
export interface PlayerFacts {
  readonly root: PropertyValues<typeof ROOT_PROPERTIES>;
  readonly player: PlayerProperties;
  readonly metadata: Metadata;
}

export const NOTHING_KNOWN: PlayerFacts = { root: {}, player: {}, metadata: NO_METADATA };

const NORMAL_RATE = 1;
const IDENTITY_MAX_UNITS = 1024;
const SCHEMES_MAX = 64;
const SCHEME = /^[a-z][a-z0-9+.-]{0,31}$/i;

const STATUSES = ['Playing', 'Paused', 'Stopped'] as const;
const LOOPS = ['None', 'Track', 'Playlist'] as const;

export function withRootProperties(facts: PlayerFacts, record: PropertyRecord): PlayerFacts {
  const { Identity, SupportedUriSchemes: schemes, ...root } = readProperties(ROOT_PROPERTIES, record);
  return {
    ...facts,
    root: {
      ...facts.root,
      ...root,
      ...(Identity !== undefined && { Identity: capped(Identity, IDENTITY_MAX_UNITS) }),
      ...(schemes !== undefined && {
        SupportedUriSchemes: schemes.filter((each) => SCHEME.test(each)).slice(0, SCHEMES_MAX),
      }),
    },
  };
}

/**
 * Applies a partial record. The position is not among the facts, because it is outdated as soon as it is
 * read.
 */
export function withPlayerProperties(facts: PlayerFacts, record: PropertyRecord): PlayerFacts {
  const { Metadata, Position: _, ...player } = readProperties(PLAYER_PROPERTIES, record);
  return {
    ...facts,
    player: { ...facts.player, ...player },
    metadata: Metadata === undefined ? facts.metadata : metadataOf(Metadata),
  };
}

/** Microseconds; undefined if the player reports none. A negative position becomes 0. */
export function positionIn(record: PropertyRecord): number | undefined {
  const { Position } = readProperties(PLAYER_PROPERTIES, record);
  return typeof Position === 'number' ? Math.max(0, Position) : undefined;
}

/** The word as the specification writes it. Some players write it in lower case, such as `playing`. */
function wordIn<W extends string>(words: readonly W[], written: string | undefined): W | undefined {
  return words.find((word) => word.toLowerCase() === written?.toLowerCase());
}

export function playbackStatus({ player }: PlayerFacts): PlayerRecord['playback_status'] {
  return wordIn(STATUSES, player.PlaybackStatus) ?? 'Stopped';
}

export function motionOf(facts: PlayerFacts): Motion {
  const rate = playbackStatus(facts) === 'Playing' ? (facts.player.Rate ?? NORMAL_RATE) : 0;
  return { rate, lengthUs: facts.metadata.lengthUs };
}

export function capabilitiesOf({ player }: PlayerFacts): PlayerRecord['capabilities'] {
  const canControl = player.CanControl ?? true;
  return {
    can_play: canControl && (player.CanPlay ?? false),
    can_pause: canControl && (player.CanPause ?? false),
    can_go_next: canControl && (player.CanGoNext ?? false),
    can_go_previous: canControl && (player.CanGoPrevious ?? false),
    can_seek: canControl && (player.CanSeek ?? false),
    can_control: canControl,
  };
}

export function playerRecord(
  busName: string,
  facts: PlayerFacts,
  { positionUs, at }: Anchor,
  { pid, hasTracklist }: { readonly pid?: number | undefined; readonly hasTracklist: boolean },
): PlayerRecord {
  const { root, player, metadata } = facts;
  const loop = wordIn(LOOPS, player.LoopStatus);
  const hundredths = Math.max(0, Math.round((player.Volume ?? Number.NaN) * 100));
  return {
    bus_name: busName,
    identity: root.Identity || busName.slice(PLAYER_NAMES.length),
    playback_status: playbackStatus(facts),
    ...(loop !== undefined && { loop_status: loop }),
    ...(player.Shuffle !== undefined && { shuffle: player.Shuffle }),
    // A double may be so large that a hundred times it is no safe integer.
    ...(Number.isSafeInteger(hundredths) && { volume: hundredths / 100 }),
    ...(positionUs !== undefined && { position: positionUs }),
    position_updated_at: new Date(at.date).toISOString(),
    ...(player.Rate !== undefined && { rate: player.Rate }),
    ...(Object.keys(metadata.texts).length > 0 && { metadata: { ...metadata.texts } }),
    capabilities: capabilitiesOf(facts),
    tracklist_supported: hasTracklist,
    ...(pid !== undefined && { pid }),
    ...(root.CanRaise !== undefined && { can_raise: root.CanRaise }),
    ...(root.CanQuit !== undefined && { can_quit: root.CanQuit }),
  };
}

/**
 * One moment on both clocks, in ms. Dates are for people and may jump; durations are measured with the
 * monotonic clock.
 */
export interface Moment {
  readonly date: number;
  readonly monotonic: number;
}

export interface Anchor {
  /** Undefined if the player reports no position. */
  readonly positionUs: number | undefined;
  readonly at: Moment;
}

export interface Motion {
  /** Seconds of the track per second; 0 while it does not play. */
  readonly rate: number;
  readonly lengthUs: number | undefined;
}

/**
 * A larger difference from the extrapolated position is a jump. Players report positions in steps of some
 * tenths of a second.
 */
const JUMP_US = 500_000;
/**
 * A larger difference means that the clock was set; smaller ones are the slow corrections of a time server.
 */
const CLOCK_STEP_MS = 500;

/** The position now, in microseconds; not beyond the track's end, unless the player itself reported more. */
export function reckoned({ positionUs, at }: Anchor, motion: Motion, now: Moment): number | undefined {
  const { rate, lengthUs } = motion;
  if (positionUs === undefined) return undefined;
  const moved = positionUs + (now.monotonic - at.monotonic) * 1000 * rate;
  const end = Math.max(positionUs, lengthUs ?? Number.MAX_SAFE_INTEGER);
  return Math.round(Math.min(Math.max(moved, 0), end));
}

/** The same position, as of now. */
export function anchorAt(anchor: Anchor, motion: Motion, now: Moment): Anchor {
  return { positionUs: reckoned(anchor, motion, now), at: now };
}

export function isJump(anchor: Anchor, motion: Motion, positionUs: number | undefined, now: Moment): boolean {
  const expectedUs = reckoned(anchor, motion, now);
  if (expectedUs === undefined || positionUs === undefined) return expectedUs !== positionUs;
  return Math.abs(expectedUs - positionUs) > JUMP_US;
}

/** True if the clock was set since then, so that clients can no longer extrapolate from the anchor's date. */
export function hasClockJumped({ at }: Anchor, now: Moment): boolean {
  return Math.abs(now.date - at.date - (now.monotonic - at.monotonic)) > CLOCK_STEP_MS;
}
