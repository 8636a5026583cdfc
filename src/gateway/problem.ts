// Decides which HTTP status and title each failure of a request has, and makes its RFC 9457 document. Pure.

import { FAULTS, type FaultCode } from '../protocol/actor/faults.js';
import type { HttpReply } from './reply.js';

/** The gateway itself finds these failures. No backend reports them. */
const GATEWAY_PROBLEMS = {
  'bad-request': { status: 400, title: 'The request is malformed' },
  'bad-path': { status: 400, title: 'The path is malformed' },
  'bad-query': { status: 400, title: 'The query is not acceptable' },
  'bad-body': { status: 400, title: 'The body is not acceptable' },
  'foreign-host': { status: 403, title: 'The node does not answer under this host name' },
  'foreign-origin': { status: 403, title: 'The origin may not use this interface' },
  'read-only': { status: 403, title: 'Nothing may be changed from here' },
  'not-found': { status: 404, title: 'There is no such route' },
  'wrong-method': { status: 405, title: 'The route has no such method' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-type': { status: 415, title: 'The body is not JSON' },
  'gateway-failed': { status: 500, title: 'The request failed inside the service' },
  'too-many-streams': { status: 503, title: 'Too many event streams are open' },
  'shutting-down': { status: 503, title: 'The service is shutting down' },
} as const;

export type ProblemCode = FaultCode | keyof typeof GATEWAY_PROBLEMS;

/** The reason why a request failed. The `Fault` of a backend's answer is a problem, too. */
export interface Problem {
  readonly fault: ProblemCode;
  /**
   * One sentence for users about the failure. The gateway's own sentences begin with a capital letter, unless
   * the first word is a key of the configuration or the name of a player.
   */
  readonly detail: string;
}

export const PROBLEMS: {
  readonly [C in ProblemCode]: { readonly status: HttpReply['status']; readonly title: string };
} = { ...FAULTS, ...GATEWAY_PROBLEMS };

/**
 * A backend that has lost its sound server or bus is usually connected again within this time, after one or
 * two attempts (docs/http-api.md, "Backends that are away").
 */
const RETRY_AFTER_S = 2;

export function problem(fault: ProblemCode, detail: string): Problem {
  return { fault, detail };
}

export const SHUTTING_DOWN = problem(
  'shutting-down',
  'The service is shutting down and takes no more requests',
);
const GATEWAY_FAILED = problem('gateway-failed', 'The log of the service gives the reason');

/**
 * The problem for an error that was thrown while a request was served. The codes EMFILE and ENFILE mean
 * that no file descriptor was free to load a module that the request needs. Descriptors become free after a
 * time, so the problem is `unavailable`: clients may repeat the request.
 */
export function problemOfError(error: unknown): Problem {
  const isOutOfDescriptors =
    error instanceof Error && 'code' in error && ['EMFILE', 'ENFILE'].includes(`${error.code}`);
  return isOutOfDescriptors ? problem('unavailable', 'The node has no free file descriptor') : GATEWAY_FAILED;
}

/** `headers` such as `Allow` are added to the headers that each problem document has. */
export function problemReply({ fault, detail }: Problem, headers: HttpReply['headers'] = []): HttpReply {
  const { status, title } = PROBLEMS[fault];
  const documentHeaders: [string, string][] = [['Content-Type', 'application/problem+json']];
  if (status === 503) documentHeaders.push(['Retry-After', String(RETRY_AFTER_S)]);
  const body = JSON.stringify({ type: `urn:tonearm:problem:${fault}`, title, status, detail });
  return { status, headers: [...documentHeaders, ...headers], body };
}
