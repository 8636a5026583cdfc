// Decides how errors and texts of other programs are written for people, and how a long text is cut. Pure.

/** How many reasons of one failure are named. Further reasons are only counted. */
const REASONS_NAMED_MAX = 4;
/** How many levels of causes are read. Causes can form a circle, which would be read without end. */
const CAUSE_LEVELS_MAX = 4;

/**
 * Characters that would break, colour or reverse a line in a terminal or in systemd's journal. Halves of
 * characters (`Cs`) are here, too, because UTF-8 cannot encode them.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Makes one line. Unprintable characters become `\u{HEX}`, as in `\u{1b}` for Escape. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return `\\u{${codePoint.toString(16)}}`;
  });
}

/**
 * Returns the beginning of the text, at most `maxUnits` UTF-16 units. A character of two units, such as an
 * emoji, is never cut into halves.
 */
export function capped(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text;
  // The pattern finds the first half of a character whose second half was cut off.
  return text.slice(0, maxUnits).replace(/[\uD800-\uDBFF]$/, '');
}

/** Cuts a text that is longer than `maxUnits`, and adds `...` for people. The dots are not counted. */
export function clipped(text: string, maxUnits: number): string {
  return text.length <= maxUnits ? text : `${capped(text, maxUnits)}...`;
}

/**
 * A user name and password in an address, such as `mqtt://me:secret@broker`. The address need not be valid:
 * the scheme may be missing, and the password may have any characters, even `@`. `(?=.*:.*@)` demands a colon
 * before an `@`. A text without such a colon has no password. An example is the unit `player@.service`.
 */
const USER_INFORMATION = /^(?=.*:.*@)([a-z][a-z0-9+.-]*:\/\/)?.*@/is;

/** Replaces the user name and password by `...`, because messages must not contain a password. */
export function withoutPassword(text: string): string {
  return text.replace(USER_INFORMATION, '$1...@');
}

/**
 * Returns a text that is never empty. If an error's message is empty, the text has the reasons of its causes.
 * An example is the AggregateError of a connection that failed at all addresses of a host name: only its
 * `errors` have the reasons.
 */
export function errorText(error: unknown): string {
  return describeError(error, CAUSE_LEVELS_MAX) || 'an error without a message';
}

/**
 * Returns the error's message. If the message is empty, returns the reasons of the causes, which are read at
 * most `levelsLeft` levels deep. Without such reasons, returns the code or name of the error. The result may
 * be empty.
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

/** An AggregateError has several causes. Any other error has at most one. */
function causesOf(error: Error): readonly unknown[] {
  if (error instanceof AggregateError) return error.errors;
  const { cause } = error;
  return cause === undefined || cause === null ? [] : [cause];
}

function joinReasons(reasons: readonly string[]): string {
  const named = reasons.slice(0, REASONS_NAMED_MAX).join('; ');
  const unnamedCount = reasons.length - REASONS_NAMED_MAX;
  return unnamedCount > 0 ? `${named}; ${unnamedCount} more` : named;
}

/** Empty if the value cannot be converted. An object may lack `toString`, or have one that throws. */
function stringOrEmpty(value: unknown): string {
  try {
    return String(value);
  } catch {
    return '';
  }
}
