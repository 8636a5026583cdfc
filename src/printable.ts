// Decides how errors, and texts of other programs, are written for people in `/health`, the log and a
// terminal, and how texts are cut. Pure.

/** How many reasons of one failure are named. Further reasons are only counted. */
const REASONS_NAMED_MAX = 4;
/** How many levels of causes are read. Causes can form a circle. */
const CAUSE_LEVELS_MAX = 4;

/**
 * Characters that would break a line of a terminal or of systemd's journal, colour it, or turn its
 * direction, and halves of characters (`Cs`), which UTF-8 has no form for.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Makes one line. Unprintable characters become `\u{HEX}`, as in `\u{1b}` for Escape. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return `\\u{${codePoint.toString(16)}}`;
  });
}

/** The beginning of the text. A character of two UTF-16 units (an emoji) is never cut into halves. */
export function capped(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text;
  // The pattern finds the first half of a character whose second half was cut off.
  return text.slice(0, maxUnits).replace(/[\uD800-\uDBFF]$/, '');
}

/** The beginning of the text, for people. If the text was longer, `...` follows, beyond `maxUnits`. */
export function clipped(text: string, maxUnits: number): string {
  return text.length <= maxUnits ? text : `${capped(text, maxUnits)}...`;
}

/**
 * A user name and password in an address, such as `mqtt://me:secret@broker`. The scheme may be missing, and
 * the password may have any characters, even `@`, because the address need not be valid. `(?=.*:.*@)`
 * demands a colon before an `@`. A text without it has no password, such as the unit `player@.service`.
 */
const USER_INFORMATION = /^(?=.*:.*@)([a-z][a-z0-9+.-]*:\/\/)?.*@/is;

/** Returns the text for messages, which must not contain a password. */
export function withoutPassword(text: string): string {
  return text.replace(USER_INFORMATION, '$1...@');
}

/**
 * The returned text is never empty, but an error's message can be. An example is the AggregateError of a
 * connection that failed at several addresses of a name: only its `errors` have the reasons.
 */
export function errorText(error: unknown): string {
  return describeError(error, CAUSE_LEVELS_MAX) || 'an error without a message';
}

/**
 * The text is empty if `error` has no words. If its message is empty, its causes are read, at most
 * `levelsLeft` levels deep.
 */
function describeError(error: unknown, levelsLeft: number): string {
  if (!(error instanceof Error)) return stringOrEmpty(error).trim();
  const message = error.message.trim();
  if (message !== '') return message;
  const causes = levelsLeft > 0 ? describeCauses(error, levelsLeft - 1) : [];
  if (causes.length > 0) return joinReasons(causes);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** Returns each reason once. */
function describeCauses(error: Error, levelsLeft: number): readonly string[] {
  const reasons = new Set(causesOf(error).map((cause) => describeError(cause, levelsLeft)));
  return [...reasons].filter((reason) => reason !== '');
}

/** An AggregateError has several causes, any other error has at most one. */
function causesOf(error: Error): readonly unknown[] {
  if (error instanceof AggregateError) return error.errors;
  const { cause } = error;
  return cause === undefined || cause === null ? [] : [cause];
}

function joinReasons(reasons: readonly string[]): string {
  const named = reasons.slice(0, REASONS_NAMED_MAX).join('; ');
  const others = reasons.length - REASONS_NAMED_MAX;
  return others > 0 ? `${named}; ${others} more` : named;
}

/** Empty if the value cannot be converted. An object may lack `toString`, or have one that throws. */
function stringOrEmpty(value: unknown): string {
  try {
    return String(value);
  } catch {
    return '';
  }
}
