// From the bytes of a request body to a value of one of the body schemas, or a problem that names field and fault.
// The schemas are loaded with the first body that needs them: a node that never gets one never loads the validator.

import type { BodyName, BodyOf } from '../protocol/actor/schemas.js';
import type { ParsedBody } from './body-schemas.js';
import { type Problem, problem } from './problem.js';

/** A body as it arrived; `gone`: there is nobody left to answer. */
export type ReceivedBody =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'too-slow' }
  | { readonly kind: 'gone' };

/** What a route takes as its body. */
export interface Body<T> {
  /** Undefined: it takes none. */
  readonly schema: BodyName | undefined;
  readonly isRequired: boolean;
  /** `json` is undefined where nothing was sent. */
  check(json: unknown): Promise<ParsedBody<T>>;
}

/** As it was sent. */
export interface RawBody {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** An empty one, `{}` or `null` is let pass, as some clients always send JSON. */
export const NO_BODY: Body<undefined> = {
  schema: undefined,
  isRequired: false,
  check: async (json) => {
    if (json === null || isEmptyBody(json)) return { ok: true, value: undefined };
    return badBody('This route takes no fields');
  },
};

export function requiredBody<K extends BodyName>(schema: K): Body<BodyOf<K>> {
  const check = async (json: unknown) => (await import('./body-schemas.js')).checkBody(schema, json);
  return { schema, isRequired: true, check };
}

/** None, and one without fields, stand for `absent`. */
export function optionalBody<K extends BodyName>(schema: K, absent: BodyOf<K>): Body<BodyOf<K>> {
  const { check } = requiredBody(schema);
  return {
    schema,
    isRequired: false,
    check: async (json) => (isEmptyBody(json) ? { ok: true, value: absent } : check(json)),
  };
}

/** An empty body counts as none, whatever its content type. */
export async function decodeBody<T>(body: Body<T>, { contentType, bytes }: RawBody): Promise<ParsedBody<T>> {
  if (bytes.byteLength === 0) return body.check(undefined);
  const refusal = checkContentType(contentType);
  if (refusal !== undefined) return refusal;
  const json = parseJson(bytes);
  return json.ok ? body.check(json.value) : json;
}

/** Parameters are allowed; of them only a charset means anything, and JSON has one charset. */
export function checkContentType(contentType: string): Problem | undefined {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json') {
    const got = type === '' ? 'none' : JSON.stringify(type);
    return problem('unsupported-type', `Content-Type: must be application/json, got ${got}`);
  }
  const charset = parameters
    .map((parameter) => /^charset\s*=\s*"?([^"]*)"?$/.exec(parameter)?.[1])
    .find((value) => value !== undefined);
  if (charset === undefined || charset === 'utf-8' || charset === 'utf8') return undefined;
  return problem(
    'unsupported-type',
    `Content-Type: the charset must be utf-8, got ${JSON.stringify(charset)}`,
  );
}

function parseJson(bytes: Uint8Array): ParsedBody<unknown> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return badBody('The body is not valid UTF-8');
  }
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return badBody(`The body is not valid JSON: ${reason}`);
  }
}

function isEmptyBody(json: unknown): boolean {
  if (json === undefined) return true;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return false;
  return Object.keys(json).length === 0;
}

function badBody(detail: string): Problem {
  return problem('bad-body', detail);
}
