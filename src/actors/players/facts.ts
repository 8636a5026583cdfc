// Decides which facts about one player follow from its answers to Get and GetAll and from its signals, and
// what its record is (docs/http-api.md, "Player"). Pure.

import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import { type PropertyRecord, type PropertyValues, readProperties } from '../../protocol/dbus/daemon.js';
import { PLAYER_NAMES, PLAYER_PROPERTIES, ROOT_PROPERTIES } from '../../protocol/dbus/mpris.js';
import { capped } from '../text.js';
import { type Metadata, metadataOf, NO_METADATA } from './metadata.js';
import type { Anchor, Motion } from './reckoning.js';

type PlayerProperties = Omit<PropertyValues<typeof PLAYER_PROPERTIES>, 'Metadata' | 'Position'>;

/** The properties by their MPRIS names. A property that is missing, or of a wrong type, is absent. */
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

/** The facts after properties of the root interface have come. Properties that `record` lacks stay. */
export function withRootProperties(facts: PlayerFacts, record: PropertyRecord): PlayerFacts {
  const { Identity, SupportedUriSchemes: schemes, ...root } = readProperties(ROOT_PROPERTIES, record);
  return {
    ...facts,
    root: {
      ...facts.root,
      ...root,
      ...(Identity !== undefined && { Identity: capped(Identity, IDENTITY_MAX_UNITS) }),
      ...(schemes !== undefined && {
        SupportedUriSchemes: schemes.filter((scheme) => SCHEME.test(scheme)).slice(0, SCHEMES_MAX),
      }),
    },
  };
}

/**
 * The facts after a reading or a signal of the Player interface. Properties that `record` lacks stay. The
 * position is no fact, because it is outdated as soon as it is read.
 */
export function withPlayerProperties(facts: PlayerFacts, record: PropertyRecord): PlayerFacts {
  const { Metadata, Position: _, ...player } = readProperties(PLAYER_PROPERTIES, record);
  return {
    ...facts,
    player: { ...facts.player, ...player },
    metadata: Metadata === undefined ? facts.metadata : metadataOf(Metadata),
  };
}

/** The position in microseconds; undefined if the player reports none. A negative position becomes 0. */
export function positionIn(record: PropertyRecord): number | undefined {
  const { Position } = readProperties(PLAYER_PROPERTIES, record);
  return typeof Position === 'number' ? Math.max(0, Position) : undefined;
}

/** The value as the specification writes it. Some players write `playing`. Undefined for unknown values. */
function specifiedValue<V extends string>(values: readonly V[], reported: string | undefined): V | undefined {
  return values.find((value) => value.toLowerCase() === reported?.toLowerCase());
}

export function playbackStatus({ player }: PlayerFacts): PlayerRecord['playback_status'] {
  return specifiedValue(STATUSES, player.PlaybackStatus) ?? 'Stopped';
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
  { positionUs, moment }: Anchor,
  { pid, hasTracklist }: { readonly pid?: number | undefined; readonly hasTracklist: boolean },
): PlayerRecord {
  const { root, player, metadata } = facts;
  const loop = specifiedValue(LOOPS, player.LoopStatus);
  const hundredths = Math.max(0, Math.round((player.Volume ?? Number.NaN) * 100));
  return {
    bus_name: busName,
    identity: root.Identity || busName.slice(PLAYER_NAMES.length),
    playback_status: playbackStatus(facts),
    ...(loop !== undefined && { loop_status: loop }),
    ...(player.Shuffle !== undefined && { shuffle: player.Shuffle }),
    // The player may report no volume, or a number so large that it has no exact hundredths.
    ...(Number.isSafeInteger(hundredths) && { volume: hundredths / 100 }),
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
