// Commands to players: the capability that each needs, the method that is called, and the fault for a refusal; in a tracklist, which track
// is meant, and what may be added (docs/players.md, "Commands" and "Tracklists").

import type { Answer, PlayersCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import type { VariantValue } from '../../protocol/dbus/method.js';
import { PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { Caller } from '../bus/bus.js';
import { faultOf, isAbsence, type Outcome } from '../bus/fault.js';
import { capabilitiesOf } from './facts.js';
import type { Player } from './player.js';

export type PlayerCommand = Exclude<PlayersCommand, { readonly do: 'cover' }>;
type TrackCommand = Extract<PlayersCommand, { readonly do: 'goto' | 'remove' | 'add' }>;
type PlainCommand = Exclude<PlayerCommand, TrackCommand>;
type PlayersBus = Caller<'players'>;
/** The outcome of the call, or why there is none. */
type Called = Outcome<undefined> | Extract<Answer, { readonly ok: false }>;

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
  const { facts, busName, plays } = player;
  // A playing player is paused by it.
  const needed = command.do === 'play_pause' && plays ? 'can_pause' : (NEEDS[command.do] ?? 'can_control');
  if (!capabilitiesOf(facts)[needed])
    return failure('not-able', `${busName} does not allow this: ${needed} is false`);
  const outcome = await (isTrackCommand(command)
    ? callTracklist(bus, player, command)
    : call(bus, player, command));
  if (outcome.ok) return { ok: true };
  if ('fault' in outcome) return outcome;
  const { fault, detail } = faultOf(outcome.error, `${busName} did not ${command.do}`);
  // The player left before it answered.
  return failure(isAbsence(outcome.error) ? 'no-such-player' : fault, detail);
}

async function call(bus: PlayersBus, player: Player, command: PlainCommand): Promise<Called> {
  const { owner, busName, facts } = player;
  const methods = playerMethods(owner);
  const set = (property: string, value: VariantValue) =>
    bus.call(methods.set, [PLAYER_INTERFACE, property, value], { path: PLAYER_PATH });
  switch (command.do) {
    case 'seek':
      return bus.call(methods.seek, [command.offset]);
    case 'position': {
      const track = command.track_id ?? facts.metadata.trackId;
      if (track !== undefined) return bus.call(methods.setPosition, [track, command.position]);
      return failure('refused', `${busName} has no current track, so no position can be set`);
    }
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

async function callTracklist(bus: PlayersBus, player: Player, command: TrackCommand): Promise<Called> {
  const { tracklist, busName, owner, facts } = player;
  const { reading } = tracklist;
  if (reading === undefined) return failure('no-tracklist', `${busName} has no tracklist`);
  if (command.do !== 'goto' && !reading.canEdit)
    return failure('not-able', `${busName} does not allow this: can_edit_tracks is false`);
  const methods = playerMethods(owner);
  const ref = command.do === 'add' ? command.after_track : command.track;
  const id = ref === undefined ? reading.lastId : tracklist.idOf(ref);
  if (id === undefined)
    return failure('no-such-track', `The tracklist of ${busName} has no track ${JSON.stringify(ref)}`);
  if (command.do === 'goto') return bus.call(methods.goTo, [id]);
  if (command.do === 'remove') return bus.call(methods.removeTrack, [id]);
  const schemes = facts.root.SupportedUriSchemes ?? [];
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(command.uri)?.[1]?.toLowerCase();
  const accepted = schemes.join(', ') || 'addresses whose scheme it names, and it names none';
  if (scheme === undefined || !schemes.some((each) => each.toLowerCase() === scheme))
    return failure('bad-value', `uri: ${busName} accepts only ${accepted}`);
  return bus.call(methods.addTrack, [command.uri, id, command.set_as_current ?? false]);
}
