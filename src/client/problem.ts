// One request, and what becomes of it: an answer, or the problem document that says why there is none (RFC 9457).

import type { FaultCode, ProblemRecord } from './records.js';

/** What the client itself finds out: no answer in time, or one that is no answer of the service. */
export type OwnCode = 'unreachable' | 'silent' | 'offline' | 'bye' | 'not-the-service';

/** Why something failed. The gateway has codes of its own besides (`not-found`, `bad-body`, ...). */
export type ProblemCode = FaultCode | OwnCode | (string & {});

/** Of an answer. The node's own have 8 MiB at most: a cover, or the whole of a sound server. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

const TYPE = 'urn:tonearm:problem:';

const OWN_TITLES: Readonly<Record<OwnCode, string>> = {
  unreachable: 'The node cannot be reached',
  silent: 'The node has fallen silent',
  offline: 'This device is offline',
  bye: 'The service on the node has ended',
  'not-the-service': 'The answer is not of the service',
};

/** Thrown by every function of the client, and nothing else is. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  /** As the node wrote it; where it could not be asked, one of the same form, with the status 0. */
  readonly problem: ProblemRecord;

  constructor(problem: ProblemRecord, options?: ErrorOptions) {
    super(problem.detail || problem.title, options);
    this.problem = problem;
  }

  /** Of HTTP; 0 where there was no answer. */
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

/** As a problem, whatever was thrown. The service speaks JSON. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const code = error instanceof SyntaxError ? 'not-the-service' : 'unreachable';
  return ownProblem(code, error instanceof Error ? error.message : String(error), 0, error);
}

/** All of an answer, and no more than one of the node's can have. */
export async function contentOf(response: Response): Promise<Blob> {
  const reader = response.body?.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
    pieces.push(piece.value);
    size += piece.value.byteLength;
    if (size <= ANSWER_BYTES_MAX) continue;
    await reader?.cancel();
    throw ownProblem('not-the-service', 'An answer without end', response.status);
  }
  return new Blob(pieces, { type: response.headers.get('Content-Type') ?? '' });
}

export async function jsonOf<T>(response: Response): Promise<T> {
  return JSON.parse(await (await contentOf(response)).text()) as T;
}

/** The problem that an answer carries which is no success. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const type = response.headers.get('Content-Type') ?? '';
  if (type.startsWith('application/problem+json')) return new ProblemError(await jsonOf(response));
  await response.body?.cancel();
  return ownProblem('not-the-service', `${response.status} ${response.statusText}`, response.status);
}

/** How a node is reached. */
export interface Transport {
  /** Without a slash at its end; empty for the origin that a page comes from. */
  readonly base: string;
  readonly fetch: typeof globalThis.fetch;
  /** For a whole request and its answer; the node itself takes at most 10 s. */
  readonly timeoutMs: number;
}

/** Rejects with a `ProblemError` and nothing else. `path` is encoded. */
export async function send<T>(
  { base, fetch, timeoutMs }: Transport,
  method: string,
  path: string,
  body: unknown,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  try {
    const response = await fetch(base + path, {
      method,
      signal: AbortSignal.timeout(timeoutMs),
      ...(body !== undefined && {
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      }),
    });
    if (!response.ok) throw await problemOf(response);
    return await read(response);
  } catch (error) {
    throw asProblem(error);
  }
}
