// Sends one request; the result is the response, or a `ProblemError`.

import { withDeadline } from './deadline.js';
import { abortedProblem, asProblem, ownProblem, ProblemError } from './problem.js';
import type { ProblemRecord } from './records.js';
import type { Transport } from './transport.js';

/** Per response. The node's own have at most 8 MiB: a cover, or the full state of a sound server. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

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

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Rejects with a `ProblemError` and nothing else. `path` is encoded. */
export async function send<T>(
  { base, fetch, timeoutMs, headers, signal: ended }: Transport,
  method: string,
  path: string,
  body: unknown,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const typed = body === undefined ? headers : { ...headers, ...JSON_TYPE };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const work = async (signal: AbortSignal): Promise<T> => {
    const response = await fetch(base + path, { method, signal, headers: typed, ...content });
    if (!response.ok) throw await problemOf(response);
    return read(response);
  };
  try {
    return await withDeadline(timeoutMs, work, ended);
  } catch (error) {
    throw ended?.aborted ? abortedProblem(ended.reason) : asProblem(error);
  }
}
