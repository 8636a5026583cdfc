// Commands to players: the capability that each needs, the method that is called, and the fault for a refusal (docs/players.md,
// "Commands").

import type { Answer, PlayersCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import type { VariantValue } from '../../protocol/dbus/method.js';
import { PLAYER_INTERFACE, PLAYER_PATH, playerMethods } from '../../protocol/dbus/mpris.js';
import type { PlayersBus } from '../bus/bus.js';
import { faultOf, isAbsence, type Outcome } from '../bus/fault.js';
import { capabilitiesOf, type PlayerFacts } from './facts.js';
import type { Player } from './player.js';
import { callTracklist, isTrackCommand, type TrackCommand } from './track-commands.js';

export type PlayerCommand = Exclude<PlayersCommand, { readonly do: 'cover' }>;
type PlainCommand = Exclude<PlayerCommand, TrackCommand>;

type Capability = keyof PlayerRecord['capabilities'];

const NEEDS: Readonly<Record<PlayerCommand['do'], Capability>> = {
  play: 'can_play',
  pause: 'can_pause',
  play_pause: 'can_play',
  stop: 'can_control',
  next: 'can_go_next',
  previous: 'can_go_previous',
  seek: 'can_seek',
  position: 'can_seek',
  volume: 'can_control',
  loop: 'can_control',
  shuffle: 'can_control',
  goto: 'can_control',
  remove: 'can_control',
  add: 'can_control',
};

const METHODS = {
  play: 'play',
  pause: 'pause',
  play_pause: 'playPause',
  stop: 'stop',
  next: 'next',
  previous: 'previous',
} as const;

/** Sends the command; resolves when the player has accepted it. */
export async function carryOut(
  bus: Pick<PlayersBus, 'call'>,
  player: Player,
  command: PlayerCommand,
): Promise<Answer> {
  const { facts, busName, plays } = player;
  // A playing player is paused by it.
  const needed = command.do === 'play_pause' && plays ? 'can_pause' : NEEDS[command.do];
  if (!capabilitiesOf(facts)[needed])
    return failure('not-able', `${busName} does not allow this: ${needed} is false`);
  const outcome = isTrackCommand(command)
    ? await callTracklist(bus, player, command)
    : await call(bus, playerMethods(player.owner), facts, command);
  if (outcome === undefined)
    return failure('refused', `${busName} has no current track, so no position can be set`);
  if (outcome.ok) return { ok: true };
  if ('fault' in outcome) return outcome;
  const { fault, detail } = faultOf(outcome.error, `${busName} did not ${command.do}`);
  // The player left before it answered.
  return failure(isAbsence(outcome.error) ? 'no-such-player' : fault, detail);
}

async function call(
  bus: Pick<PlayersBus, 'call'>,
  methods: ReturnType<typeof playerMethods>,
  { metadata }: PlayerFacts,
  command: PlainCommand,
): Promise<Outcome<undefined> | undefined> {
  const set = (property: string, value: VariantValue) =>
    bus.call(methods.set, [PLAYER_INTERFACE, property, value], { path: PLAYER_PATH });
  switch (command.do) {
    case 'seek':
      return bus.call(methods.seek, [command.offset]);
    case 'position': {
      const track = command.trackId ?? metadata.trackId;
      return track === undefined ? undefined : bus.call(methods.setPosition, [track, command.position]);
    }
    case 'volume':
      return set('Volume', { variant: 'd', value: command.volume });
    case 'loop':
      return set('LoopStatus', { variant: 's', value: command.loop });
    case 'shuffle':
      return set('Shuffle', { variant: 'b', value: command.shuffle });
    default:
      return bus.call(methods[METHODS[command.do]], []);
  }
}
