// Decides how players are silenced: which of them play, and whether each of these is paused or stopped
// (docs/players.md, "Everything stops").

import { type Answer, DONE, type PlayersCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { capabilitiesOf } from './facts.js';
import type { Player } from './player.js';

/** Carries out a command to this player. */
type Run = (player: Player, command: SilencingCommand) => Promise<Answer>;
type SilencingCommand = Extract<PlayersCommand, { readonly do: 'pause' | 'stop' }>;

/** Pauses the player. A player that cannot pause, such as a radio, is stopped. */
export function silence(player: Player, run: Run): Promise<Answer> {
  const { can_pause: canPause } = capabilitiesOf(player.facts);
  return run(player, { do: canPause ? 'pause' : 'stop', player: player.busName });
}

/**
 * Silences all players that play, all at the same time, so that a player that hangs delays no other. The
 * answer is the first fault, with the details of all players that could not be silenced.
 */
export async function silenceAll(players: readonly Player[], run: Run): Promise<Answer> {
  const answers = await Promise.all(players.map((player) => silenceIfPlaying(player, run)));
  const faults = answers.flatMap((answer) => (answer.ok ? [] : [answer.error]));
  const [firstFault] = faults;
  if (firstFault === undefined) return DONE;
  const details = faults.map(({ detail }) => detail).join('; ');
  return failure(firstFault.fault, details);
}

/** A player that has left counts as silent. */
async function silenceIfPlaying(player: Player, run: Run): Promise<Answer> {
  // Not every player announces that it plays.
  const isAnswered = await player.readAll(false);
  if (player.readings.isStopped || !player.isPlaying) return DONE;
  if (!isAnswered) return failure('timeout', `${player.busName} did not answer whether it plays`);
  const answer = await silence(player, run);
  const hasLeft = !answer.ok && answer.error.fault === 'no-such-player';
  return hasLeft ? DONE : answer;
}
