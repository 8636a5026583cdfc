// Decides how texts of other programs, and errors, are written for people in `/health`, the log and a
// terminal. `printable` makes one line without control characters, and `errorText` is never empty. Pure.

/** How many reasons of one failure are named. Further reasons are only counted. */
const REASONS_NAMED_MAX = 4;
/** How many levels of causes are read. There must be a limit, because causes can form a circle. */
const CAUSES_MAX = 4;

/** Characters that would break a line of a terminal or of the journal, colour it, or turn its direction. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** `text` on one line; unprintable characters become `\u{HEX}`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/**
 * An error in words, never empty. A connection to a name with several addresses fails with an AggregateError,
 * whose own message is empty: the reasons are in its `errors`.
 */
export function errorText(error: unknown): string {
  return reasonOf(error, CAUSES_MAX) || 'an error without a message';
}

/** Empty if nothing can be read from `error`. Causes are followed `causesMax` levels down. */
function reasonOf(error: unknown, causesMax: number): string {
  if (!(error instanceof Error)) return textOf(error).trim();
  const message = error.message.trim();
  if (message !== '') return message;
  const causes = causesMax > 0 ? reasonsOfCauses(error, causesMax - 1) : [];
  if (causes.length > 0) return joinReasons(causes);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/**
 * The different reasons of the errors in an AggregateError. For any other error, the reason of its cause.
 */
function reasonsOfCauses(error: Error, causesMax: number): readonly string[] {
  const causes: readonly unknown[] = error instanceof AggregateError ? error.errors : [error.cause ?? ''];
  const reasons = new Set(causes.map((cause) => reasonOf(cause, causesMax)));
  return [...reasons].filter((reason) => reason !== '');
}

function joinReasons(reasons: readonly string[]): string {
  const named = reasons.slice(0, REASONS_NAMED_MAX).join('; ');
  const others = reasons.length - REASONS_NAMED_MAX;
  return others > 0 ? `${named}; ${others} more` : named;
}

/** Empty if the value cannot be converted: an object may lack `toString`, or have one that throws. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return '';
  }
}
