// Sends one request, reads its response, and makes a `ProblemError` of a failure.

import { withDeadline } from './deadline.js';
import { abortedProblem, asProblem, ownProblem, ProblemError } from './problem.js';
import type { ProblemRecord } from './records.js';
import type { Transport } from './transport.js';

/**
 * The longest responses of a node are covers, and the full state of a sound server. A cover has at most
 * 8 MiB (actors/players/cover.ts). This limit leaves room for responses that are longer than a cover.
 */
const RESPONSE_MAX_BYTES = 16 * 1024 * 1024;

/** Rejects if the body is larger than `RESPONSE_MAX_BYTES`. */
async function contentOf(response: Response): Promise<Blob> {
  // The body is null if a response has no content.
  const reader = response.body?.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
    pieces.push(piece.value);
    size += piece.value.byteLength;
    if (size > RESPONSE_MAX_BYTES) {
      await reader?.cancel();
      throw ownProblem('not-the-service', 'An answer that does not end', response.status);
    }
  }
  return new Blob(pieces, { type: response.headers.get('Content-Type') ?? '' });
}

async function jsonOf<T>(response: Response): Promise<T> {
  return JSON.parse(await (await contentOf(response)).text()) as T;
}

/** Call this only with a response that is not what the request asks for. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const type = response.headers.get('Content-Type') ?? '';
  const { status } = response;
  const title = `${status} ${response.statusText}`.trim();
  if (type.startsWith('application/problem+json')) {
    // A problem document of another program may lack any of these members (RFC 9457, section 3.1).
    const problem = await jsonOf<Partial<ProblemRecord> | null>(response);
    return new ProblemError({ type: 'about:blank', title, status, detail: '', ...problem });
  }
  await response.body?.cancel();
  return ownProblem('not-the-service', title, status);
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/**
 * `path` is already encoded. Resolves with the blob or the record that a `GET` reads, and with undefined for
 * a command. If the request fails, the promise rejects with a `ProblemError`.
 */
export async function send(
  { base, fetch, timeoutMs, headers, signal: callerSignal }: Transport,
  method: string,
  path: string,
  body: unknown,
  isBlob: boolean,
): Promise<unknown> {
  const headersAndBody = {
    headers: { ...headers, ...(body === undefined ? {} : JSON_TYPE) },
    body: JSON.stringify(body),
  };
  const request = async (signal: AbortSignal): Promise<unknown> => {
    const response = await fetch(base + path, { method, signal, ...headersAndBody });
    const isRead = method === 'GET';
    // A blob of the node is never a text. If a text comes, it is from another program.
    const isText = response.headers.get('Content-Type')?.startsWith('text/');
    // If the node accepts a command, the status is 202. A 200 may come with a proxy's own page. Or a proxy
    // has redirected the command, so that `fetch` has sent a `GET`.
    const isSuccess = isRead ? response.ok : response.status === 202;
    if (!isSuccess || (isBlob && isText)) throw await problemOf(response);
    if (isBlob) return contentOf(response);
    return isRead ? jsonOf(response) : undefined;
  };
  try {
    return await withDeadline(timeoutMs, request, callerSignal);
  } catch (error) {
    throw callerSignal?.aborted ? abortedProblem(callerSignal.reason) : asProblem(error);
  }
}
