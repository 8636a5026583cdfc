// Silences players (docs/players.md, "Everything stops"): decides which of them play, and whether one is
// paused or stopped.

import { type Answer, DONE, type PlayersCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { capabilitiesOf } from './facts.js';
import type { Player } from './player.js';

/** Carries out a command to this player. */
type Run = (player: Player, command: SilencingCommand) => Promise<Answer>;
type SilencingCommand = Extract<PlayersCommand, { readonly do: 'pause' | 'stop' }>;

/** A player that plays and cannot pause, such as one of a radio, is stopped. */
export function silence(player: Player, run: Run): Promise<Answer> {
  const { can_pause: canPause } = capabilitiesOf(player.facts);
  return run(player, { do: canPause ? 'pause' : 'stop', player: player.busName });
}

/**
 * Silences all that play, at the same time, so that one that hangs delays no other. The state of each is read
 * first, as not every player announces that it plays. A failure names all players that could not be silenced.
 */
export async function silenceAll(players: readonly Player[], run: Run): Promise<Answer> {
  const answers = await Promise.all(players.map((player) => silenceIfItPlays(player, run)));
  const faults = answers.flatMap((answer) => (answer.ok ? [] : [answer.error]));
  const [first] = faults;
  if (first === undefined) return DONE;
  return failure(first.fault, faults.map(({ detail }) => detail).join('; '));
}

async function silenceIfItPlays(player: Player, run: Run): Promise<Answer> {
  const isAnswered = await player.readAll(false);
  if (player.readings.isStopped || !player.plays) return DONE;
  if (!isAnswered) return failure('timeout', `${player.busName} did not answer whether it plays`);
  const answer = await silence(player, run);
  const hasLeft = !answer.ok && answer.error.fault === 'no-such-player';
  return hasLeft ? DONE : answer;
}
