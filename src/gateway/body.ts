// Parses the body of a request, and checks it against its schema. If a field is wrong, the problem names this
// field, and says why.

import { errorText } from '../printable.js';
import type { ChangeOperation } from '../protocol/actor/operations.js';
import { failed, type Result, success } from '../protocol/actor/result.js';
import { type Problem, problem } from './problem.js';

/** Larger bodies are refused with 413 (docs/http-api.md, "Routes"). */
export const BODY_LIMIT_BYTES = 64 * 1024;

export const BODY_TOO_LARGE = problem('body-too-large', `The body is larger than ${BODY_LIMIT_BYTES} bytes`);

/** `gone` means that the client has disconnected before the end of the body. */
export type ReceivedBody =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'too-slow' }
  | { readonly kind: 'gone' };

/**
 * The parsed JSON of a body. If there is no body, the value is undefined (`parseBody`) or `defaultBody`
 * (`checkBody`).
 */
export type ParsedBody = Result<unknown, Problem>;

const badBody = (detail: string): ParsedBody => failed(problem('bad-body', detail));

/** An empty body counts as no body, whatever its content type. */
export function parseBody(contentType: string, bytes: Uint8Array): ParsedBody {
  if (bytes.byteLength === 0) return success(undefined);
  const typeProblem = contentTypeProblem(contentType);
  return typeProblem === undefined ? parseJson(bytes) : failed(typeProblem);
}

/** If no body is required, `{}` and `null` count as no body, because some clients always send JSON. */
export async function checkBody(
  {
    body: bodyName,
    isBodyRequired,
    defaultBody,
  }: Pick<ChangeOperation, 'body' | 'isBodyRequired' | 'defaultBody'>,
  json: unknown,
): Promise<ParsedBody> {
  if (countsAsNoBody(json) && !isBodyRequired) return success(defaultBody);
  if (bodyName === undefined) return badBody('This route takes no fields');
  // This import loads typebox, which takes megabytes of memory. So it runs only when a body must be checked.
  const { bodyFault } = await import('./body-schemas.js');
  const mismatch = bodyFault(bodyName, json);
  return mismatch === undefined ? success(json) : badBody(mismatch);
}

/**
 * Checks the type, and the parameter `charset`, because JSON must be UTF-8. Other parameters are ignored.
 * The charset may have quotes, as in `charset="utf-8"`.
 */
export function contentTypeProblem(contentType: string): Problem | undefined {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  const wrong = (detail: string): Problem => problem('unsupported-type', `Content-Type: ${detail}`);
  const typeText = type === '' ? 'none' : JSON.stringify(type);
  if (type !== 'application/json') return wrong(`must be application/json, got ${typeText}`);
  const charset = parameters
    .map((parameter) => /^charset\s*=\s*"?([^"]*)"?$/.exec(parameter)?.[1])
    .find((value) => value !== undefined);
  if (charset === undefined || charset === 'utf-8' || charset === 'utf8') return undefined;
  return wrong(`the charset must be utf-8, got ${JSON.stringify(charset)}`);
}

function parseJson(bytes: Uint8Array): ParsedBody {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return badBody('The body is not valid UTF-8');
  }
  try {
    return success(JSON.parse(text));
  } catch (error) {
    const reason = errorText(error);
    return badBody(`The body is not valid JSON: ${reason}`);
  }
}

function countsAsNoBody(json: unknown): boolean {
  if (json === undefined || json === null) return true;
  if (typeof json !== 'object' || Array.isArray(json)) return false;
  return Object.keys(json).length === 0;
}
