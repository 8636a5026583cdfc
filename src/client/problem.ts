// Sends one request; the result is the response, or a `ProblemError` with a problem document (RFC 9457).

import { withDeadline } from './deadline.js';
import type { FaultCode, ProblemRecord } from './records.js';

/** Problems that the client finds itself: no response in time, or one that is not from tonearm. */
export type OwnCode = 'unreachable' | 'silent' | 'offline' | 'bye' | 'not-the-service';

/** The reason for a failure. The gateway has further codes (`not-found`, `bad-body`, ...). */
export type ProblemCode = FaultCode | OwnCode | (string & {});

/** Per response. The node's own have at most 8 MiB: a cover, or the full state of a sound server. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

const TYPE = 'urn:tonearm:problem:';

const OWN_TITLES: Readonly<Record<OwnCode, string>> = {
  unreachable: 'The node cannot be reached',
  silent: 'The node has stopped answering',
  offline: 'This device is offline',
  bye: 'The service on the node has ended',
  'not-the-service': 'The answer does not come from the service',
};

/** The only error that functions of the client reject with. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  /** The node's problem document; if there was no response, one of the same form with status 0. */
  readonly problem: ProblemRecord;

  constructor(problem: ProblemRecord, options?: ErrorOptions) {
    super(problem.detail || problem.title || OWN_TITLES['not-the-service'], options);
    this.problem = problem;
  }

  /** The HTTP status; 0 if there was no response. */
  get status(): number {
    return this.problem.status;
  }

  get code(): ProblemCode {
    return this.problem.type.replace(TYPE, '');
  }
}

export function ownProblem(code: OwnCode, detail = '', status = 0, cause?: unknown): ProblemError {
  return new ProblemError({ type: TYPE + code, title: OWN_TITLES[code], status, detail }, { cause });
}

/**
 * Converts anything thrown into a problem. A SyntaxError means that the response was not JSON, so it was not
 * tonearm's.
 */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const code = error instanceof SyntaxError ? 'not-the-service' : 'unreachable';
  return ownProblem(code, wordsOf(error), 0, error);
}

/** A cause may have a cause; a circle of them must end. */
const CAUSES_MAX = 4;

/**
 * Never empty. A connection to a name with several addresses fails with an error whose own message is empty:
 * the reasons are in its `errors`.
 */
function wordsOf(error: unknown, levels = CAUSES_MAX): string {
  if (!(error instanceof Error)) return typeof error === 'object' ? '' : String(error);
  const isList = 'errors' in error && Array.isArray(error.errors);
  const below: readonly unknown[] = isList ? (error.errors as readonly unknown[]) : [error.cause ?? ''];
  const reasons = levels > 0 ? below.map((each) => wordsOf(each, levels - 1)) : [];
  return error.message || reasons.filter((text) => text !== '').join('; ') || error.name;
}

/** The whole response body; rejects if it is larger than `ANSWER_BYTES_MAX`. */
export async function contentOf(response: Response): Promise<Blob> {
  const reader = response.body?.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
    pieces.push(piece.value);
    size += piece.value.byteLength;
    if (size <= ANSWER_BYTES_MAX) continue;
    await reader?.cancel();
    throw ownProblem('not-the-service', 'An answer that does not end', response.status);
  }
  return new Blob(pieces, { type: response.headers.get('Content-Type') ?? '' });
}

export async function jsonOf<T>(response: Response): Promise<T> {
  return JSON.parse(await (await contentOf(response)).text()) as T;
}

/** The problem of a response that is not a success. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const type = response.headers.get('Content-Type') ?? '';
  const { status } = response;
  const title = `${status} ${response.statusText}`.trim();
  if (type.startsWith('application/problem+json')) {
    // Those of other programs may lack any member (RFC 9457, section 3.1).
    const problem = await jsonOf<Partial<ProblemRecord> | null>(response);
    return new ProblemError({ type: 'about:blank', title, status, detail: '', ...problem });
  }
  await response.body?.cancel();
  return ownProblem('not-the-service', title, status);
}

/** The connection settings of a node. */
export interface Transport {
  /** Without a trailing slash; empty for the page's own origin. */
  readonly base: string;
  readonly fetch: typeof globalThis.fetch;
  /** For a request and its whole response; the node itself takes at most 10 s. */
  readonly timeoutMs: number;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Rejects with a `ProblemError` and nothing else. `path` is encoded. */
export async function send<T>(
  { base, fetch, timeoutMs }: Transport,
  method: string,
  path: string,
  body: unknown,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const content = body === undefined ? {} : { headers: JSON_TYPE, body: JSON.stringify(body) };
  try {
    return await withDeadline(timeoutMs, async (signal) => {
      const response = await fetch(base + path, { method, signal, ...content });
      if (!response.ok) throw await problemOf(response);
      return read(response);
    });
  } catch (error) {
    throw asProblem(error);
  }
}
