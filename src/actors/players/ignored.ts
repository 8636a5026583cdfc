// Decides which players are ignored, by their bus names (docs/players.md, "What is shown"). Pure.

import { PLAYER_NAME_PREFIX } from '../../protocol/dbus/mpris.js';

/**
 * A player is ignored if a pattern matches its whole bus name, with or without MPRIS' prefix. In a pattern
 * `*` stands for any characters.
 */
export function ignoredBy(patterns: readonly string[]): (busName: string) => boolean {
  const expressions = patterns.map(expressionOf);
  return (busName) => {
    const nameWithoutPrefix = busName.slice(PLAYER_NAME_PREFIX.length);
    return expressions.some((expression) => expression.test(busName) || expression.test(nameWithoutPrefix));
  };
}

function expressionOf(pattern: string): RegExp {
  // The configuration accepts only letters, digits and `. _ - *` in a pattern. Of these, only the dot and `*`
  // have a special meaning in a regular expression. The pattern `vlc.i*` becomes `^vlc\.i.*$`.
  const withEscapedDots = pattern.replaceAll('.', '\\.');
  return new RegExp(`^${withEscapedDots.replaceAll('*', '.*')}$`);
}
