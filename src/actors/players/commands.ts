// Commands to players: what is known to stand against each, the method that is called, and the fault for a
// refusal; in a tracklist, which track is meant, and what may be added (docs/players.md, "Commands" and
// "Tracklists").

import type { Answer, PlayersCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import type { VariantValue } from '../../protocol/dbus/method.js';
import { NO_TRACK, PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { Caller } from '../bus/bus.js';
import { type BusResult, faultOf, isAbsence } from '../bus/fault.js';
import { capabilitiesOf } from './facts.js';
import type { Player } from './player.js';

export type PlayerCommand = Exclude<PlayersCommand, { readonly do: 'cover' }>;
type TrackCommand = Extract<PlayersCommand, { readonly do: 'goto' | 'remove' | 'add' }>;
type PlainCommand = Exclude<PlayerCommand, TrackCommand>;
type PositionCommand = Extract<PlayersCommand, { readonly do: 'position' }>;
type PlayersBus = Caller<'players'>;
type Refusal = Extract<Answer, { readonly ok: false }>;
/** The outcome of the call, or why there is none. */
type Called = BusResult<undefined> | Refusal;

/** All others need `can_control`. */
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
    // Some players announce nothing of it when they become able to do more (Mopidy, when its list is filled).
    const isAnswered = await player.readAll(isTrackCommand(command));
    if (!isAnswered) return unansweredBy(player);
    const refusal = refusalOf(player, command);
    if (refusal !== undefined) return refusal;
  }
  const outcome = await (isTrackCommand(command)
    ? callTracklist(bus, player, command)
    : call(bus, player, command));
  if (outcome.ok) return { ok: true };
  if ('fault' in outcome) return outcome;
  const { fault, detail } = faultOf(outcome.error, `${player.busName} did not ${command.do}`);
  // The player left before it answered.
  return failure(isAbsence(outcome.error) ? 'no-such-player' : fault, detail);
}

function unansweredBy({ busName, readings }: Player): Refusal {
  if (readings.isStopped) return failure('no-such-player', `${busName} has left`);
  return failure('timeout', `${busName} did not answer what it can do now`);
}

/** Why the command is not sent, by what was read of the player before. */
function refusalOf(player: Player, command: PlayerCommand): Refusal | undefined {
  const { facts, busName, plays } = player;
  // A playing player is paused by it.
  const needed = command.do === 'play_pause' && plays ? 'can_pause' : (NEEDS[command.do] ?? 'can_control');
  if (!capabilitiesOf(facts)[needed])
    return failure('not-able', `${busName} does not allow this: ${needed} is false`);
  if (command.do === 'position') return positionRefusalOf(player, command);
  return isTrackCommand(command) ? trackRefusalOf(player, command) : undefined;
}

/** A player does nothing for a position beyond the end of its track (MPRIS, `SetPosition`). */
function positionRefusalOf({ facts }: Player, command: PositionCommand): Refusal | undefined {
  const { trackId, lengthUs } = facts.metadata;
  if (trackId === undefined || lengthUs === undefined || command.position <= lengthUs) return undefined;
  if (command.track_id !== undefined && command.track_id !== trackId) return undefined;
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

/** The track that the command names, by its id or the last segment of it. */
function trackIn(command: TrackCommand): string | undefined {
  return command.do === 'add' ? command.after_track : command.track;
}

async function call(bus: PlayersBus, player: Player, command: PlainCommand): Promise<Called> {
  const methods = playerMethods(player.owner);
  const set = (property: string, value: VariantValue) =>
    bus.call(methods.set, [PLAYER_INTERFACE, property, value], { path: PLAYER_PATH });
  switch (command.do) {
    case 'seek':
      return bus.call(methods.seek, [command.offset]);
    case 'position':
      return setPosition(bus, player, command);
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
async function setPosition(
  bus: PlayersBus,
  player: Player,
  { position, track_id: named }: PositionCommand,
): Promise<Called> {
  const methods = playerMethods(player.owner);
  const { trackId, lengthUs = Number.MAX_SAFE_INTEGER } = player.facts.metadata;
  if (trackId !== undefined) return bus.call(methods.setPosition, [named ?? trackId, position]);
  const positionUs = await player.readPosition();
  if (positionUs === undefined)
    return failure(
      'refused',
      `${player.busName} names neither its track nor its position, so none can be set`,
    );
  // Beyond the end, a player would go to its next track.
  return bus.call(methods.seek, [Math.min(position, lengthUs) - positionUs]);
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
