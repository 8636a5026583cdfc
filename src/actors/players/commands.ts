// Commands to players: refuses those that the player's facts exclude, calls the method for the others, and
// answers with the fault where the player refuses (docs/players.md, "Commands" and "Tracklists").

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

/** The capability that a command needs; all other commands need `can_control`. */
const NEEDS: Partial<Readonly<Record<PlayerCommand['do'], keyof PlayerRecord['capabilities']>>> = {
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

/** Sends the command; resolves when the player has accepted it. */
export async function carryOut(bus: PlayersBus, player: Player, command: PlayerCommand): Promise<Answer> {
  if (refusalOf(player, command) !== undefined) {
    // Some players do not announce that they have become able to do more, such as Mopidy when its list is
    // filled.
    const isAnswered = await player.readAll(isTrackCommand(command));
    if (!isAnswered) return unansweredBy(player, 'what it can do now');
    const refusal = refusalOf(player, command);
    if (refusal !== undefined) return refusal;
  }
  if (command.do === 'position') return setPosition(bus, player, command);
  const called = isTrackCommand(command)
    ? await callTracklist(bus, player, command)
    : await call(bus, player, command);
  return answerOf(player, command, called);
}

function answerOf(player: Player, command: PlayerCommand, called: BusResult<undefined>): Answer {
  if (called.ok) return DONE;
  const { fault, detail } = faultOf(called.error, `${player.busName} did not ${command.do}`).error;
  // The player left before it answered.
  return failure(isAbsence(called.error) ? 'no-such-player' : fault, detail);
}

function unansweredBy({ busName, readings }: Player, question: string): Refusal {
  if (readings.isStopped) return failure('no-such-player', `${busName} has left`);
  return failure('timeout', `${busName} did not answer ${question}`);
}

/**
 * The reason why the command is not sent, by the known facts of the player; undefined if it is to be sent.
 */
function refusalOf(player: Player, command: PlayerCommand): Refusal | undefined {
  const { facts, busName, plays } = player;
  // `play_pause` pauses a player that plays.
  const needed = command.do === 'play_pause' && plays ? 'can_pause' : (NEEDS[command.do] ?? 'can_control');
  if (!capabilitiesOf(facts)[needed])
    return failure('not-able', `${busName} does not allow this: ${needed} is false`);
  return isTrackCommand(command) ? trackRefusalOf(player, command) : undefined;
}

/**
 * A player does nothing for a position beyond the end of its track, or for a track that is not the current
 * one (MPRIS, `SetPosition`).
 */
function positionRefusalOf(
  { trackId, texts, lengthUs }: Metadata,
  { position, track_id: meant }: PositionCommand,
): Refusal | undefined {
  // Clients may send an id as they got it, although it is of no use to the player.
  const current = trackId ?? texts['mpris:trackid'] ?? NO_TRACK;
  if (meant !== undefined && meant !== current)
    return failure('other-track', `track_id: the current track is not ${meant} but ${current}`);
  if (trackId === undefined || lengthUs === undefined || position <= lengthUs) return undefined;
  return failure('bad-value', `position: the track ends at ${lengthUs} microseconds`);
}

function trackRefusalOf(player: Player, command: TrackCommand): Refusal | undefined {
  const { tracklist, busName, facts } = player;
  const { reading } = tracklist;
  if (reading === undefined) return failure('no-tracklist', `${busName} has no tracklist`);
  if (command.do !== 'goto' && !reading.canEdit)
    return failure('not-able', `${busName} does not allow this: can_edit_tracks is false`);
  const ref = trackIn(command);
  if (ref !== undefined && tracklist.idOf(ref) === undefined)
    return failure('no-such-track', `The tracklist of ${busName} has no track ${JSON.stringify(ref)}`);
  if (command.do !== 'add') return undefined;
  const schemes = facts.root.SupportedUriSchemes ?? [];
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(command.uri)?.[1]?.toLowerCase();
  if (scheme !== undefined && schemes.some((each) => each.toLowerCase() === scheme)) return undefined;
  const accepted = schemes.join(', ') || 'addresses whose scheme it names, and it names none';
  return failure('bad-value', `uri: ${busName} accepts only ${accepted}`);
}

/** The track in the command: its id, or the last segment of its id. */
function trackIn(command: TrackCommand): string | undefined {
  return command.do === 'add' ? command.after_track : command.track;
}

async function call(bus: PlayersBus, player: Player, command: PlainCommand): Promise<BusResult<undefined>> {
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
    default:
      return bus.call(methods[command.do === 'play_pause' ? 'playPause' : command.do], []);
  }
}

/** A track without a usable id cannot be named to the player, so the player seeks by the difference. */
async function setPosition(bus: PlayersBus, player: Player, command: PositionCommand): Promise<Answer> {
  const methods = playerMethods(player.owner);
  const metadata = await readMetadata(bus, player);
  if (metadata === undefined) return unansweredBy(player, 'which track is the current one');
  const refusal = positionRefusalOf(metadata, command);
  if (refusal !== undefined) return refusal;
  const { trackId, lengthUs = Number.MAX_SAFE_INTEGER } = metadata;
  const { position } = command;
  if (trackId !== undefined) {
    const called = await bus.call(methods.setPosition, [trackId, position]);
    return answerOf(player, command, called);
  }
  const positionUs = await player.readPosition();
  if (positionUs === undefined)
    return failure(
      'refused',
      `${player.busName} names neither its track nor its position, so none can be set`,
    );
  // Beyond the end, a player would go to its next track.
  const offset = Math.min(position, lengthUs) - positionUs;
  return answerOf(player, command, await bus.call(methods.seek, [offset]));
}

/** The current track's metadata, which may be newer than the known ones; undefined without a reply. */
async function readMetadata(bus: PlayersBus, player: Player): Promise<Metadata | undefined> {
  const { owner, facts, readings } = player;
  const read = await bus.call(playerMethods(owner).get, [PLAYER_INTERFACE, 'Metadata'], CALL_OPTIONS);
  if (!read.ok) return isWithoutReply(read.error) ? undefined : facts.metadata;
  const { metadata } = withPlayerProperties(NOTHING_KNOWN, { Metadata: read.value });
  // Some players announce no track.
  if (JSON.stringify(metadata) !== JSON.stringify(facts.metadata)) readings.again();
  return metadata;
}

async function callTracklist(
  bus: PlayersBus,
  { tracklist, owner }: Player,
  command: TrackCommand,
): Promise<BusResult<undefined>> {
  const methods = playerMethods(owner);
  const ref = trackIn(command);
  // `refusalOf` has found both the list and the track.
  const id = (ref === undefined ? tracklist.reading?.lastId : tracklist.idOf(ref)) ?? NO_TRACK;
  if (command.do === 'goto') return bus.call(methods.goTo, [id]);
  if (command.do === 'remove') return bus.call(methods.removeTrack, [id]);
  return bus.call(methods.addTrack, [command.uri, id, command.set_as_current ?? false]);
}
