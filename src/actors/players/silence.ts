// Decides which players are silenced, and whether a player is silenced by a pause or by a stop
// (docs/players.md, "Everything stops").

import { type Answer, DONE, type PlayersCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { Beginning } from './beginning.js';
import { capabilitiesOf } from './facts.js';
import type { Player } from './player.js';
import type { PlayerPublisher } from './player-publisher.js';

type RunCommand = (player: Player, command: SilencingCommand) => Promise<Answer>;
type SilencingCommand = Extract<PlayersCommand, { readonly do: 'pause' | 'stop' }>;

interface SilenceCandidate {
  readonly published: Pick<PlayerPublisher, 'isPlaying'>;
  readonly beginning: Pick<Beginning, 'isAfter'>;
}

/**
 * The players that are silenced because `playerThatBegan` plays: all other players that are published as
 * playing, except those that seem to have begun later. If several players begin at once, the last one plays
 * on. `begunAtMs`: the monotonic time when `playerThatBegan` was first published as playing.
 */
export function playersToSilence<P extends SilenceCandidate>(
  players: Iterable<P>,
  playerThatBegan: P,
  begunAtMs: number,
): readonly P[] {
  const others = [...players].filter((player) => player !== playerThatBegan && player.published.isPlaying);
  return others.filter(({ beginning }) => !beginning.isAfter(begunAtMs));
}

/** Pauses the player. A player that cannot pause, such as a radio, is stopped. */
export function silence(player: Player, run: RunCommand): Promise<Answer> {
  const { can_pause: canPause } = capabilitiesOf(player.facts);
  return run(player, { do: canPause ? 'pause' : 'stop', player: player.busName });
}

/**
 * All players are silenced at the same time, so that none of them waits for a player that hangs. If there are
 * faults, the answer is the first one, with the details of all.
 */
export async function silenceAll(players: readonly Player[], run: RunCommand): Promise<Answer> {
  const answers = await Promise.all(players.map((player) => silenceIfPlaying(player, run)));
  const faults = answers.filter((answer) => !answer.ok).map(({ error }) => error);
  const [firstFault] = faults;
  if (firstFault === undefined) return DONE;
  const details = faults.map(({ detail }) => detail).join('; ');
  return failure(firstFault.fault, details);
}

/**
 * A player that has left counts as silent. A player that does not answer counts as silent, too, unless it is
 * known to play.
 */
async function silenceIfPlaying(player: Player, run: RunCommand): Promise<Answer> {
  // Not every player announces that it plays, so each player is read first.
  const isAnswered = await player.readAll({ withTracks: false });
  const hasLeftWhileRead = player.readings.isStopped;
  if (hasLeftWhileRead || !player.isPlaying) return DONE;
  if (!isAnswered) return failure('timeout', `${player.busName} did not answer whether it plays`);
  const answer = await silence(player, run);
  const hasLeftWhileSilenced = !answer.ok && answer.error.fault === 'no-such-player';
  return hasLeftWhileSilenced ? DONE : answer;
}
