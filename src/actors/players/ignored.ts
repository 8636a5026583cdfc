// Decides which bus names belong to players that do not exist for anybody (docs/players.md, "What is shown").
// Pure.

import { PLAYER_NAMES } from '../../protocol/dbus/mpris.js';

/**
 * True for a bus name that one of the patterns matches: the whole name, or what follows MPRIS' prefix, with
 * `*` for any characters.
 */
export function ignoredBy(patterns: readonly string[]): (busName: string) => boolean {
  const expressions = patterns.map(
    (pattern) => new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`),
  );
  return (busName) => {
    const short = busName.slice(PLAYER_NAMES.length);
    return expressions.some((expression) => expression.test(busName) || expression.test(short));
  };
}

/** The only characters of bus names that mean something in an expression. */
function escaped(text: string): string {
  return text.replaceAll('.', '\\.');
}
