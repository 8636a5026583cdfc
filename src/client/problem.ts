// Makes a `ProblemError` of each failure of a request or of the event stream. The error contains a problem
// document (RFC 9457).

import type { FaultCode, ProblemRecord } from './records.js';

/** The client finds these problems itself (docs/client.md has a table of them). */
export type OwnCode = 'unreachable' | 'silent' | 'offline' | 'bye' | 'not-the-service' | 'aborted';

/**
 * The gateway has further codes (`not-found`, `bad-body`, ...). `string & {}` allows every text, but unlike
 * `string` it lets an editor suggest the codes of `FaultCode` and `OwnCode`.
 */
export type ProblemCode = FaultCode | OwnCode | (string & {});

const TYPE_PREFIX = 'urn:tonearm:problem:';

const OWN_TITLES: Readonly<Record<OwnCode, string>> = {
  unreachable: 'The node cannot be reached',
  silent: 'The node has stopped answering',
  offline: 'This device is offline',
  bye: 'The service on the node has ended',
  'not-the-service': 'The answer does not come from the service',
  aborted: 'It was ended from here',
};

/**
 * The error of a request or an event stream that fails. The message is the problem's detail, or else the
 * problem's title. If the document of another program has neither, the message is the title of
 * `not-the-service`.
 */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  /** The node's problem document. If the node has sent none, the client has made one of the same form. */
  readonly problem: ProblemRecord;

  constructor(problem: ProblemRecord, options?: ErrorOptions) {
    super(problem.detail || problem.title || OWN_TITLES['not-the-service'], options);
    this.problem = problem;
  }

  /** The HTTP status; 0 if the client does not know it, for example because there was no response. */
  get status(): number {
    return this.problem.status;
  }

  /**
   * The problem's `type` without tonearm's prefix. The `type` in the document of another program stays as it
   * is, or becomes a text if it is none.
   */
  get code(): ProblemCode {
    return String(this.problem.type).replace(TYPE_PREFIX, '');
  }
}

export function ownProblem(code: OwnCode, detail = '', status = 0, cause?: unknown): ProblemError {
  return new ProblemError({ type: TYPE_PREFIX + code, title: OWN_TITLES[code], status, detail }, { cause });
}

/**
 * Returns the problem of a request or connection that the program itself has ended. `reason` becomes the
 * detail.
 */
export function abortedProblem(reason: unknown): ProblemError {
  return ownProblem('aborted', messageOf(reason), 0, reason);
}

/** A SyntaxError means that the response was not JSON, so it did not come from tonearm. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const code = error instanceof SyntaxError ? 'not-the-service' : 'unreachable';
  return ownProblem(code, messageOf(error), 0, error);
}

/** Causes are followed only to this depth, because an error may be among its own causes. */
const CAUSE_DEPTH_MAX = 4;

/**
 * Returns a text for people. It is never empty for an `Error`. If an error has causes, their texts replace
 * the error's own message, because the message of `fetch` in Node.js is only `fetch failed`. If Node.js can
 * connect to none of several addresses of a name, the causes are in `errors`. An object that is no `Error`
 * has no text for people, so the result is empty.
 */
function messageOf(error: unknown, depthLeft = CAUSE_DEPTH_MAX): string {
  if (!(error instanceof Error)) return typeof error === 'object' ? '' : String(error);
  const hasErrorList = 'errors' in error && Array.isArray(error.errors);
  const causes: readonly unknown[] = hasErrorList
    ? (error.errors as readonly unknown[])
    : [error.cause ?? ''];
  const messages = depthLeft > 0 ? causes.map((cause) => messageOf(cause, depthLeft - 1)) : [];
  return messages.filter((text) => text !== '').join('; ') || error.message || error.name;
}
