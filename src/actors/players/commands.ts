// Decides whether a command to a player is carried out or refused. Calls the player's method for the command,
// and makes the answer (docs/players.md, "Commands" and "Tracklists").

import { type Answer, DONE, type PlayersCommand } from '../../protocol/actor/commands.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import type { Failure } from '../../protocol/actor/result.js';
import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import type { VariantValue } from '../../protocol/dbus/method.js';
import { NO_TRACK, PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { BusCaller } from '../bus/bus.js';
import { type BusResult, busFault, isAbsence } from '../bus/fault.js';
import { capabilitiesOf, NOTHING_KNOWN, withPlayerProperties } from './facts.js';
import type { Metadata } from './metadata.js';
import type { Player } from './player.js';
import { CALL_OPTIONS, isWithoutReply } from './properties.js';
import type { TracklistReading } from './tracklist.js';

/** A command to one player. */
export type PlayerCommand = Exclude<PlayersCommand, { readonly do: 'cover' | 'pause_all' }>;
type TrackCommand = Extract<PlayersCommand, { readonly do: 'goto' | 'remove' | 'add' }>;
type PositionCommand = Extract<PlayersCommand, { readonly do: 'position' }>;
type PlainCommand = Exclude<PlayerCommand, TrackCommand | PositionCommand>;
type PlayersBus = BusCaller<'players'>;
type CommandFailure = Failure<Fault>;

/**
 * The capability that a command needs. A command that is not listed needs `can_control`. While the player
 * plays, `play_pause` needs `can_pause`, not `can_play` (`neededCapability`).
 */
const NEEDED_CAPABILITIES: Partial<
  Readonly<Record<PlayerCommand['do'], keyof PlayerRecord['capabilities']>>
> = {
  play: 'can_play',
  pause: 'can_pause',
  play_pause: 'can_play',
  next: 'can_go_next',
  previous: 'can_go_previous',
  seek: 'can_seek',
  position: 'can_seek',
};

export function isTrackCommand(command: PlayersCommand): command is TrackCommand {
  return command.do === 'goto' || command.do === 'remove' || command.do === 'add';
}

export async function carryOutPlayerCommand(
  bus: PlayersBus,
  player: Player,
  command: PlayerCommand,
): Promise<Answer> {
  const isRefusedByKnownFacts = refusalOf(player, command) !== undefined;
  if (isRefusedByKnownFacts) {
    // The facts may be outdated: not every player announces a new ability. Mopidy announces nothing when its
    // list is filled.
    const isAnswered = await player.readAll({ withTracks: isTrackCommand(command) });
    if (!isAnswered) return refusalWithoutReply(player, 'what it can do now');
    const refusal = refusalOf(player, command);
    if (refusal !== undefined) return refusal;
  }
  if (command.do === 'position') return setPosition(bus, player, command);
  const reply = isTrackCommand(command)
    ? await callTracklist(bus, player, command)
    : await callPlayer(bus, player, command);
  return answerOf(player, command, reply);
}

function answerOf(player: Player, command: PlayerCommand, reply: BusResult<undefined>): Answer {
  if (reply.ok) return DONE;
  const { fault, detail } = busFault(reply.error, `${player.busName} did not ${command.do}`).error;
  const hasLeft = isAbsence(reply.error);
  return failure(hasLeft ? 'no-such-player' : fault, detail);
}

/** `question` completes the sentence "PLAYER did not answer". */
function refusalWithoutReply({ busName, readings }: Player, question: string): CommandFailure {
  if (readings.isStopped) return failure('no-such-player', `${busName} has left`);
  return failure('timeout', `${busName} did not answer ${question}`);
}

/** Undefined if the known facts of the player allow the command. */
function refusalOf(player: Player, command: PlayerCommand): CommandFailure | undefined {
  const capability = neededCapability(player, command);
  if (!capabilitiesOf(player.facts)[capability])
    return failure('not-able', `${player.busName} does not allow this: ${capability} is false`);
  return isTrackCommand(command) ? trackRefusalOf(player, command) : undefined;
}

function neededCapability({ isPlaying }: Player, command: PlayerCommand): keyof PlayerRecord['capabilities'] {
  const isPause = command.do === 'play_pause' && isPlaying;
  return isPause ? 'can_pause' : (NEEDED_CAPABILITIES[command.do] ?? 'can_control');
}

/** Some clients send `/` if the player's record has no track id. */
const IDS_OF_NO_TRACK = ['/', NO_TRACK];

/**
 * A player ignores a position beyond the end of its track, and any position for another track than the
 * current one (MPRIS, `SetPosition`). Such a command would have no effect, so it is refused.
 */
function positionRefusalOf(
  { trackId: usableId, texts, lengthUs }: Metadata,
  { position: requestedUs, track_id: requestedId = '' }: PositionCommand,
): CommandFailure | undefined {
  // If the current track has a usable id, only this id is accepted. Otherwise two kinds of id are accepted:
  // the invalid id that the record may have (metadata.ts), and the ids that mean no track.
  const hasUsableId = usableId !== undefined;
  const currentId = usableId ?? texts['mpris:trackid'] ?? NO_TRACK;
  const acceptedIds = hasUsableId ? [usableId] : [currentId, ...IDS_OF_NO_TRACK];
  const isCurrentTrack = acceptedIds.includes(requestedId);
  if (requestedId !== '' && !isCurrentTrack)
    return failure('other-track', `track_id: the current track is not ${requestedId} but ${currentId}`);
  // Without a usable id the command becomes a seek, which `setPosition` limits to the track's end.
  const isBeyondEnd = hasUsableId && lengthUs !== undefined && requestedUs > lengthUs;
  if (!isBeyondEnd) return undefined;
  return failure('bad-value', `position: the track ends at ${lengthUs} microseconds`);
}

function trackRefusalOf(player: Player, command: TrackCommand): CommandFailure | undefined {
  const { busName } = player;
  const { newestReading } = player.tracklist;
  if (newestReading === undefined) return failure('no-tracklist', `${busName} has no tracklist`);
  if (command.do !== 'goto' && !newestReading.canEdit)
    return failure('not-able', `${busName} does not allow this: can_edit_tracks is false`);
  if (trackIdIn(newestReading, command) === undefined) {
    const reference = JSON.stringify(trackReferenceIn(command));
    return failure('no-such-track', `The tracklist of ${busName} has no track ${reference}`);
  }
  return command.do === 'add' ? uriRefusalOf(player, command.uri) : undefined;
}

/** Undefined if the player supports the URI's scheme, such as `file` in `file:///music/song.ogg`. */
function uriRefusalOf({ facts, busName }: Player, uri: string): CommandFailure | undefined {
  const schemes = facts.root.SupportedUriSchemes ?? [];
  const schemeOfUri = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase();
  const isSupported = schemes.some((scheme) => scheme.toLowerCase() === schemeOfUri);
  if (isSupported) return undefined;
  const schemeList = schemes.join(', ');
  const detail = schemeList === '' ? 'names no schemes that it accepts' : `accepts only ${schemeList}`;
  return failure('bad-value', `uri: ${busName} ${detail}`);
}

/** The command's text for a track: the track's id, or the last segment of this id; '' for no track. */
function trackReferenceIn(command: TrackCommand): string {
  return command.do === 'add' ? (command.after_track ?? '') : command.track;
}

/**
 * The id that the player gets with the command. The player plays or removes the track with this id, or adds
 * the new track after it. Undefined if the list has no such track.
 */
function trackIdIn({ ids }: TracklistReading, command: TrackCommand): string | undefined {
  const reference = trackReferenceIn(command);
  const isAppended = command.do === 'add' && reference === '';
  // The new track is added after the last track. In an empty list, the new track is added after NO_TRACK,
  // which means the beginning of the list (MPRIS, `AddTrack`).
  if (isAppended) return ids.at(-1) ?? NO_TRACK;
  const id = ids.find((each) => each === reference) ?? ids.find((each) => lastSegmentOf(each) === reference);
  // Only `add` accepts NO_TRACK or its last segment: the new track then comes first in the list.
  if (id !== undefined || command.do !== 'add') return id;
  const isBeginning = reference === NO_TRACK || reference === lastSegmentOf(NO_TRACK);
  return isBeginning ? NO_TRACK : undefined;
}

function lastSegmentOf(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}

async function callPlayer(
  bus: PlayersBus,
  player: Player,
  command: PlainCommand,
): Promise<BusResult<undefined>> {
  const methods = playerMethods(player.owner);
  const setProperty = (property: string, value: VariantValue) =>
    bus.call(methods.set, [PLAYER_INTERFACE, property, value], { path: PLAYER_PATH });
  switch (command.do) {
    case 'seek':
      return bus.call(methods.seek, [command.offset]);
    case 'volume':
      return setProperty('Volume', { variant: 'd', value: command.volume });
    case 'loop':
      return setProperty('LoopStatus', { variant: 's', value: command.loop });
    case 'shuffle':
      return setProperty('Shuffle', { variant: 'b', value: command.shuffle });
    case 'play_pause':
      return bus.call(methods.playPause, []);
    default:
      return bus.call(methods[command.do], []);
  }
}

/** If the current track has no usable id, the player seeks by the difference from its present position. */
async function setPosition(bus: PlayersBus, player: Player, command: PositionCommand): Promise<Answer> {
  const methods = playerMethods(player.owner);
  const metadata = await readMetadata(bus, player);
  if (metadata === undefined) return refusalWithoutReply(player, 'which track is the current one');
  const refusal = positionRefusalOf(metadata, command);
  if (refusal !== undefined) return refusal;
  const { trackId, lengthUs = Number.MAX_SAFE_INTEGER } = metadata;
  const { position: requestedUs } = command;
  if (trackId !== undefined) {
    const reply = await bus.call(methods.setPosition, [trackId, requestedUs]);
    return answerOf(player, command, reply);
  }
  const presentUs = await player.readPosition();
  if (presentUs === undefined)
    return failure(
      'refused',
      `${player.busName} names neither its track nor its position, so its position cannot be set`,
    );
  // A player that seeks beyond the end goes to its next track.
  const offsetUs = Math.min(requestedUs, lengthUs) - presentUs;
  const reply = await bus.call(methods.seek, [offsetUs]);
  return answerOf(player, command, reply);
}

/**
 * Reads the metadata of the current track, because the known metadata may be outdated. Resolves to undefined
 * if the player does not reply, and to the known metadata if the player replies with an error.
 */
async function readMetadata(bus: PlayersBus, player: Player): Promise<Metadata | undefined> {
  const { owner, facts, readings } = player;
  const reply = await bus.call(playerMethods(owner).get, [PLAYER_INTERFACE, 'Metadata'], CALL_OPTIONS);
  if (!reply.ok) return isWithoutReply(reply.error) ? undefined : facts.metadata;
  const { metadata } = withPlayerProperties(NOTHING_KNOWN, { Metadata: reply.value });
  // Some players do not announce a new track.
  if (JSON.stringify(metadata) !== JSON.stringify(facts.metadata)) readings.request();
  return metadata;
}

async function callTracklist(
  bus: PlayersBus,
  { tracklist, owner }: Player,
  command: TrackCommand,
): Promise<BusResult<undefined>> {
  const methods = playerMethods(owner);
  const { newestReading } = tracklist;
  // `refusalOf` has tested that the list and the track are known. So `?? NO_TRACK` is only for the compiler.
  const id = (newestReading && trackIdIn(newestReading, command)) ?? NO_TRACK;
  if (command.do === 'goto') return bus.call(methods.goTo, [id]);
  if (command.do === 'remove') return bus.call(methods.removeTrack, [id]);
  const isPlayedAtOnce = command.set_as_current ?? false;
  return bus.call(methods.addTrack, [command.uri, id, isPlayedAtOnce]);
}
