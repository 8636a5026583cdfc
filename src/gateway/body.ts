// From the bytes of a request body to a value of one of the body schemas, or a problem that names field and fault.
// The schemas are loaded with the first body that needs them: a node that never gets one never loads the validator.

import type { MoveBody, MuteBody, VolumeBody } from '../protocol/actor/schemas.js';
import { type Problem, problem } from './problem.js';

/** What each kind of body decodes to. */
export interface Bodies {
  /** The route takes no body; an empty one, `{}` or `null` is let pass, as some clients always send JSON. */
  readonly none: undefined;
  /** Without a body the state is toggled. */
  readonly mute: MuteBody | undefined;
  readonly volume: VolumeBody;
  readonly move: MoveBody;
}

export type BodyName = keyof Bodies;

export type Decoded<T> = { readonly ok: true; readonly value: T } | Problem;

type Decoders = { readonly [K in BodyName]: (json: unknown) => Promise<Decoded<Bodies[K]>> };

const ABSENT: Decoded<undefined> = { ok: true, value: undefined };

const DECODERS: Decoders = {
  none: async (json) => {
    if (json === null || isNothing(json)) return ABSENT;
    return badBody('This route takes no fields');
  },
  mute: async (json) => (isNothing(json) ? ABSENT : (await schemas()).checkMute(json)),
  volume: async (json) => (await schemas()).checkVolume(json),
  move: async (json) => (await schemas()).checkMove(json),
};

/** An empty body counts as none, whatever its content type. */
export async function decodeBody<K extends BodyName>(
  name: K,
  contentType: string,
  bytes: Uint8Array,
): Promise<Decoded<Bodies[K]>> {
  if (bytes.byteLength === 0) return DECODERS[name](undefined);
  const refusal = checkContentType(contentType);
  if (refusal !== undefined) return refusal;
  const json = parseJson(bytes);
  return json.ok ? DECODERS[name](json.value) : json;
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

function parseJson(bytes: Uint8Array): Decoded<unknown> {
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
    return badBody(`The body is not valid JSON: ${reason}${place(text, reason)}`);
  }
}

/** The parser names an offset for some errors only; line and column are what an editor shows. */
function place(text: string, reason: string): string {
  const offset = /at position (\d+)/.exec(reason)?.[1];
  if (offset === undefined) return '';
  const before = text.slice(0, Number(offset)).split('\n');
  return ` (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
}

function isNothing(json: unknown): boolean {
  if (json === undefined) return true;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return false;
  return Object.keys(json).length === 0;
}

function badBody(detail: string): Problem {
  return problem('bad-body', detail);
}

function schemas(): Promise<typeof import('./body-schemas.js')> {
  return import('./body-schemas.js');
}
