// Decides whether a command to a player is carried out or refused, calls the player's method for it, and
// words the answer (docs/players.md, "Commands" and "Tracklists").

import { type Answer, DONE, type PlayersCommand } from '../../protocol/actor/commands.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import type { Failure } from '../../protocol/actor/result.js';
import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import type { VariantValue } from '../../protocol/dbus/method.js';
import { NO_TRACK, PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { Caller } from '../bus/bus.js';
import { type BusResult, faultOf, isAbsence } from '../bus/fault.js';
import { capabilitiesOf, NOTHING_KNOWN, withPlayerProperties } from './facts.js';
import type { Metadata } from './metadata.js';
import type { Player } from './player.js';
import { CALL_OPTIONS, isWithoutReply } from './properties.js';

/** A command to one player. */
export type PlayerCommand = Exclude<PlayersCommand, { readonly do: 'cover' | 'pause_all' }>;
type TrackCommand = Extract<PlayersCommand, { readonly do: 'goto' | 'remove' | 'add' }>;
type PositionCommand = Extract<PlayersCommand, { readonly do: 'position' }>;
type PlainCommand = Exclude<PlayerCommand, TrackCommand | PositionCommand>;
type PlayersBus = Caller<'players'>;
type Refusal = Failure<Fault>;

/** The capability that a command needs. A command that is not listed needs `can_control`. */
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

/** Sends the command. Resolves when the player has accepted it, or when it is refused. */
export async function carryOut(bus: PlayersBus, player: Player, command: PlayerCommand): Promise<Answer> {
  const isRefusedByKnownFacts = refusalOf(player, command) !== undefined;
  if (isRefusedByKnownFacts) {
    // The facts may be outdated, because not every player announces that it can do more than before. Mopidy
    // announces nothing when its list is filled.
    const isAnswered = await player.readAll(isTrackCommand(command));
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

/** Makes the answer to a command from the player's reply to the call. */
function answerOf(player: Player, command: PlayerCommand, reply: BusResult<undefined>): Answer {
  if (reply.ok) return DONE;
  const { fault, detail } = faultOf(reply.error, `${player.busName} did not ${command.do}`).error;
  const hasLeft = isAbsence(reply.error);
  return failure(hasLeft ? 'no-such-player' : fault, detail);
}

/** `question`: what the player was asked, as the end of a sentence. */
function refusalWithoutReply({ busName, readings }: Player, question: string): Refusal {
  if (readings.isStopped) return failure('no-such-player', `${busName} has left`);
  return failure('timeout', `${busName} did not answer ${question}`);
}

/** The refusal of the command by the known facts of the player; undefined if the command may be sent. */
function refusalOf(player: Player, command: PlayerCommand): Refusal | undefined {
  const capability = neededCapability(player, command);
  if (!capabilitiesOf(player.facts)[capability])
    return failure('not-able', `${player.busName} does not allow this: ${capability} is false`);
  return isTrackCommand(command) ? trackRefusalOf(player, command) : undefined;
}

function neededCapability({ isPlaying }: Player, command: PlayerCommand): keyof PlayerRecord['capabilities'] {
  const isPause = command.do === 'play_pause' && isPlaying;
  return isPause ? 'can_pause' : (NEEDED_CAPABILITIES[command.do] ?? 'can_control');
}

/**
 * A player ignores a position beyond the end of its track, and one for another track than the current one
 * (MPRIS, `SetPosition`). Such a command is refused, because it would have no effect.
 */
function positionRefusalOf(
  { trackId, texts, lengthUs }: Metadata,
  { position, track_id: requestedId }: PositionCommand,
): Refusal | undefined {
  // A client sends the track's id as the record has it. The player's methods may not accept this id.
  const currentId = trackId ?? texts['mpris:trackid'] ?? NO_TRACK;
  if (requestedId !== undefined && requestedId !== currentId)
    return failure('other-track', `track_id: the current track is not ${requestedId} but ${currentId}`);
  const isBeyondEnd = trackId !== undefined && lengthUs !== undefined && position > lengthUs;
  if (!isBeyondEnd) return undefined;
  return failure('bad-value', `position: the track ends at ${lengthUs} microseconds`);
}

function trackRefusalOf(player: Player, command: TrackCommand): Refusal | undefined {
  const { tracklist, busName } = player;
  const { reading } = tracklist;
  if (reading === undefined) return failure('no-tracklist', `${busName} has no tracklist`);
  if (command.do !== 'goto' && !reading.canEdit)
    return failure('not-able', `${busName} does not allow this: can_edit_tracks is false`);
  const reference = trackReferenceIn(command);
  if (reference !== undefined && tracklist.idOf(reference) === undefined)
    return failure('no-such-track', `The tracklist of ${busName} has no track ${JSON.stringify(reference)}`);
  return command.do === 'add' ? uriRefusalOf(player, command.uri) : undefined;
}

/** Refuses a URI unless the player names its scheme as one that it can play. */
function uriRefusalOf({ facts, busName }: Player, uri: string): Refusal | undefined {
  const schemes = facts.root.SupportedUriSchemes ?? [];
  const ownScheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase();
  const isSupported = schemes.some((scheme) => scheme.toLowerCase() === ownScheme);
  if (isSupported) return undefined;
  const accepted = schemes.join(', ') || 'addresses whose scheme it names, and it names none';
  return failure('bad-value', `uri: ${busName} accepts only ${accepted}`);
}

/** A reference to a track in the command: the track's id, or the last segment of that id. */
function trackReferenceIn(command: TrackCommand): string | undefined {
  return command.do === 'add' ? command.after_track : command.track;
}

async function callPlayer(
  bus: PlayersBus,
  player: Player,
  command: PlainCommand,
): Promise<BusResult<undefined>> {
  const methods = playerMethods(player.owner);
  const set = (property: string, value: VariantValue) =>
    bus.call(methods.set, [PLAYER_INTERFACE, property, value], { path: PLAYER_PATH });
  switch (command.do) {
    case 'seek':
      return bus.call(methods.seek, [command.offset]);
    case 'volume':
      return set('Volume', { variant: 'd', value: command.volume });
    case 'loop':
      return set('LoopStatus', { variant: 's', value: command.loop });
    case 'shuffle':
      return set('Shuffle', { variant: 'b', value: command.shuffle });
    case 'play_pause':
      return bus.call(methods.playPause, []);
    default:
      return bus.call(methods[command.do], []);
  }
}

/**
 * Sets the position by the id of the current track. If that track has no usable id, the player seeks by the
 * difference from its present position instead.
 */
async function setPosition(bus: PlayersBus, player: Player, command: PositionCommand): Promise<Answer> {
  const methods = playerMethods(player.owner);
  const metadata = await readMetadata(bus, player);
  if (metadata === undefined) return refusalWithoutReply(player, 'which track is the current one');
  const refusal = positionRefusalOf(metadata, command);
  if (refusal !== undefined) return refusal;
  const { trackId, lengthUs = Number.MAX_SAFE_INTEGER } = metadata;
  const { position } = command;
  if (trackId !== undefined) {
    const reply = await bus.call(methods.setPosition, [trackId, position]);
    return answerOf(player, command, reply);
  }
  const positionUs = await player.readPosition();
  if (positionUs === undefined)
    return failure(
      'refused',
      `${player.busName} names neither its track nor its position, so none can be set`,
    );
  // A player that seeks beyond the end goes to its next track.
  const offsetUs = Math.min(position, lengthUs) - positionUs;
  const reply = await bus.call(methods.seek, [offsetUs]);
  return answerOf(player, command, reply);
}

/**
 * Reads the metadata of the current track, because the known metadata may be outdated. Resolves to undefined
 * without a reply, and to the known metadata if the player answers with an error.
 */
async function readMetadata(bus: PlayersBus, player: Player): Promise<Metadata | undefined> {
  const { owner, facts, readings } = player;
  const read = await bus.call(playerMethods(owner).get, [PLAYER_INTERFACE, 'Metadata'], CALL_OPTIONS);
  if (!read.ok) return isWithoutReply(read.error) ? undefined : facts.metadata;
  const { metadata } = withPlayerProperties(NOTHING_KNOWN, { Metadata: read.value });
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
  const reference = trackReferenceIn(command);
  const knownId = reference === undefined ? tracklist.reading?.lastId : tracklist.idOf(reference);
  // `refusalOf` has made sure that the list and the track are known.
  const id = knownId ?? NO_TRACK;
  if (command.do === 'goto') return bus.call(methods.goTo, [id]);
  if (command.do === 'remove') return bus.call(methods.removeTrack, [id]);
  return bus.call(methods.addTrack, [command.uri, id, command.set_as_current ?? false]);
}
