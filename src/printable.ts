// Texts of others as people read them in `/health`, the log and a terminal: one line without control
// characters, and an error in words. Pure.

/** Errors of one failure that are named; the others are counted. */
const ERRORS_NAMED_MAX = 4;
/** A cause may have a cause; a circle of them must end. */
const CAUSES_MAX = 4;

/** Characters that would break, colour or turn round a line of a terminal or of the journal. */
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
  return wordsOf(error, CAUSES_MAX) || 'an error without a message';
}

function wordsOf(error: unknown, levels: number): string {
  if (!(error instanceof Error)) return textOf(error).trim();
  const message = error.message.trim();
  if (message !== '') return message;
  const parts = levels > 0 ? partsOf(error, levels - 1) : [];
  if (parts.length > 0) return joined(parts);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** The different reasons below an error: those of its parts, else that of its cause. */
function partsOf(error: Error, levels: number): readonly string[] {
  const below: readonly unknown[] = error instanceof AggregateError ? error.errors : [error.cause ?? ''];
  return [...new Set(below.map((each) => wordsOf(each, levels)))].filter((text) => text !== '');
}

function joined(parts: readonly string[]): string {
  const beyond = parts.length - ERRORS_NAMED_MAX;
  return [...parts.slice(0, ERRORS_NAMED_MAX), ...(beyond > 0 ? [`${beyond} more`] : [])].join('; ');
}

/** An object without a prototype has no text, and a text may be refused by the object itself. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return '';
  }
}
