// Commands to a player's tracklist: which track is meant, what may be added, and the call (docs/players.md, "Tracklists").

import type { Answer, PlayersCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { playerMethods } from '../../protocol/dbus/mpris.js';
import type { PlayersBus } from '../bus/bus.js';
import type { Outcome } from '../bus/fault.js';
import type { Player } from './player.js';

export type TrackCommand = Extract<PlayersCommand, { readonly do: 'goto' | 'remove' | 'add' }>;

type Refusal = Extract<Answer, { readonly ok: false }>;

export function isTrackCommand(command: PlayersCommand): command is TrackCommand {
  return command.do === 'goto' || command.do === 'remove' || command.do === 'add';
}

/** The outcome of the call, or why there is none. */
export async function callTracklist(
  bus: Pick<PlayersBus, 'call'>,
  { tracklist, busName, owner, facts }: Player,
  command: TrackCommand,
): Promise<Outcome<undefined> | Refusal> {
  const { reading } = tracklist;
  if (reading === undefined) return failure('no-tracklist', `${busName} has no tracklist`);
  if (command.do !== 'goto' && !reading.canEdit)
    return failure('not-able', `${busName} does not allow this: can_edit_tracks is false`);
  const methods = playerMethods(owner);
  const ref = command.do === 'add' ? command.after : command.track;
  const id = ref === undefined ? reading.lastId : tracklist.idOf(ref);
  if (id === undefined)
    return failure('no-such-track', `The tracklist of ${busName} has no track ${JSON.stringify(ref)}`);
  if (command.do === 'goto') return bus.call(methods.goTo, [id]);
  if (command.do === 'remove') return bus.call(methods.removeTrack, [id]);
  const schemes = facts.root.SupportedUriSchemes ?? [];
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(command.uri)?.[1]?.toLowerCase();
  if (scheme === undefined || !schemes.some((each) => each.toLowerCase() === scheme))
    return failure(
      'bad-value',
      `uri: ${busName} accepts only ${schemes.join(', ') || 'addresses whose scheme it names, and it names none'}`,
    );
  return bus.call(methods.addTrack, [command.uri, id, command.isCurrent]);
}
