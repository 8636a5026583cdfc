// Decides which facts about one player follow from its properties, and what its record has (docs/http-api.md,
// "Player"). Pure.

import { capped } from '../../printable.js';
import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import { type PropertyRecord, type PropertyValues, readProperties } from '../../protocol/dbus/daemon.js';
import { PLAYER_NAME_PREFIX, PLAYER_PROPERTIES, ROOT_PROPERTIES } from '../../protocol/dbus/mpris.js';
import { type Metadata, metadataOf, NO_METADATA } from './metadata.js';
import type { Anchor, Motion } from './reckoning.js';

type PlayerProperties = Omit<PropertyValues<typeof PLAYER_PROPERTIES>, 'Metadata' | 'Position'>;

/** The reported properties, by their MPRIS names. Values of a wrong type are left out. */
export interface PlayerFacts {
  readonly root: PropertyValues<typeof ROOT_PROPERTIES>;
  readonly player: PlayerProperties;
  readonly metadata: Metadata;
}

export const NOTHING_KNOWN: PlayerFacts = { root: {}, player: {}, metadata: NO_METADATA };

const NORMAL_RATE = 1;
const IDENTITY_MAX_UNITS = 1024;
const SCHEMES_MAX = 64;
/** A scheme of a URI, such as `https` or `svn+ssh`. */
const SCHEME = /^[a-z][a-z0-9+.-]{0,31}$/i;

const PLAYBACK_STATUSES = ['Playing', 'Paused', 'Stopped'] as const;
const LOOP_STATUSES = ['None', 'Track', 'Playlist'] as const;

/** `reported`: all or some properties of the root interface. The other properties keep their values. */
export function withRootProperties(facts: PlayerFacts, reported: PropertyRecord): PlayerFacts {
  const { Identity, SupportedUriSchemes, ...otherProperties } = readProperties(ROOT_PROPERTIES, reported);
  const identity = Identity === undefined ? {} : { Identity: capped(Identity, IDENTITY_MAX_UNITS) };
  const schemes =
    SupportedUriSchemes === undefined ? {} : { SupportedUriSchemes: usableSchemes(SupportedUriSchemes) };
  return { ...facts, root: { ...facts.root, ...otherProperties, ...identity, ...schemes } };
}

function usableSchemes(schemes: readonly string[]): readonly string[] {
  return schemes.filter((scheme) => SCHEME.test(scheme)).slice(0, SCHEMES_MAX);
}

/**
 * `reported`: all or some properties of the Player interface. The other properties keep their values. The
 * position is no fact, because it is outdated as soon as it is read.
 */
export function withPlayerProperties(facts: PlayerFacts, reported: PropertyRecord): PlayerFacts {
  const { Metadata, Position: _, ...otherProperties } = readProperties(PLAYER_PROPERTIES, reported);
  return {
    ...facts,
    player: { ...facts.player, ...otherProperties },
    metadata: Metadata === undefined ? facts.metadata : metadataOf(Metadata),
  };
}

/** The position in microseconds; undefined if the player reports none. A negative position becomes 0. */
export function positionIn(reported: PropertyRecord): number | undefined {
  const { Position } = readProperties(PLAYER_PROPERTIES, reported);
  // A bigint is a number beyond 2^53. No track is so long, so a bigint counts as no position.
  return typeof Position === 'number' ? Math.max(0, Position) : undefined;
}

/** The value as the specification writes it, because some players write `playing` for `Playing`. */
function specifiedValue<V extends string>(values: readonly V[], reported: string | undefined): V | undefined {
  return values.find((value) => value.toLowerCase() === reported?.toLowerCase());
}

export function playbackStatus({ player }: PlayerFacts): PlayerRecord['playback_status'] {
  return specifiedValue(PLAYBACK_STATUSES, player.PlaybackStatus) ?? 'Stopped';
}

export function motionOf(facts: PlayerFacts): Motion {
  const rate = playbackStatus(facts) === 'Playing' ? (facts.player.Rate ?? NORMAL_RATE) : 0;
  return { rate, lengthUs: facts.metadata.lengthUs };
}

export function capabilitiesOf({ player }: PlayerFacts): PlayerRecord['capabilities'] {
  // A player that lacks `CanControl` can be controlled as far as its other properties allow it.
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
  { positionUs, moment }: Anchor,
  { pid, hasTracklist }: { readonly pid?: number | undefined; readonly hasTracklist: boolean },
): PlayerRecord {
  const { root, player, metadata } = facts;
  const loop = specifiedValue(LOOP_STATUSES, player.LoopStatus);
  const volume = roundedVolume(player.Volume);
  return {
    bus_name: busName,
    identity: root.Identity || busName.slice(PLAYER_NAME_PREFIX.length),
    playback_status: playbackStatus(facts),
    ...(loop !== undefined && { loop_status: loop }),
    ...(player.Shuffle !== undefined && { shuffle: player.Shuffle }),
    ...(volume !== undefined && { volume }),
    ...(positionUs !== undefined && { position: positionUs }),
    position_updated_at: new Date(moment.date).toISOString(),
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
 * The volume, rounded to hundredths. A negative volume becomes 0. Undefined if the player reports no volume,
 * or one that is too large to be rounded.
 */
function roundedVolume(reported: number | undefined): number | undefined {
  if (reported === undefined) return undefined;
  const hundredths = Math.max(0, Math.round(reported * 100));
  return Number.isSafeInteger(hundredths) ? hundredths / 100 : undefined;
}
