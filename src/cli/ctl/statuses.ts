// Lists the exit statuses (docs/ctl.md, "Exit statuses"), and decides which of them a problem causes. The
// problem's HTTP status and code decide, so no operation has exit statuses of its own.

import type { ProblemError } from '../../client/problem.js';
import type { FaultRow } from '../../protocol/actor/faults.js';

/** These numbers come from sysexits(3). */
export const EXIT = {
  ok: 0,
  usage: 64,
  badValue: 65,
  notFound: 66,
  unreachable: 68,
  unavailable: 69,
  failed: 70,
  cannotWrite: 74,
  conflict: 75,
  notTonearm: 76,
  forbidden: 77,
  badConfig: 78,
} as const;

export type ExitName = keyof typeof EXIT;

/** `--help` prints these texts; the manual and docs/ctl.md have the same in more words. */
export const MEANINGS: Readonly<Record<ExitName, string>> = {
  ok: 'it is done',
  usage: 'the command line is wrong',
  badValue: 'the node does not accept the value',
  notFound: 'there is no such thing',
  unreachable: 'the node cannot be reached, or does not answer',
  unavailable: 'the part of the node that does this is away or not enabled',
  failed: 'that part refused it, or failed',
  cannotWrite: 'the output cannot be written',
  conflict: 'not as things are now, or several things have that name',
  notTonearm: 'the answer does not come from tonearm',
  forbidden: 'it is forbidden',
  badConfig: 'the configuration of this machine is wrong',
};

/** 401 and 407 come from a proxy that asks for a password. The others are in the table of faults. */
const EXIT_BY_HTTP_STATUS: Readonly<Record<FaultRow['status'] | 401 | 407, ExitName>> = {
  400: 'badValue',
  401: 'forbidden',
  403: 'forbidden',
  404: 'notFound',
  407: 'forbidden',
  409: 'conflict',
  502: 'failed',
  503: 'unavailable',
  504: 'unavailable',
};

const PROXY_REFUSALS: readonly number[] = [401, 403, 407];

/**
 * The problem's code if the node has no route for the request: its configuration does not enable the route,
 * or the node is older than `tonearm ctl`.
 */
const NO_ROUTE = 'not-found';

export function exitFor({ code, status }: ProblemError): ExitName {
  // The client sets the status 0 if it does not know the HTTP status, mostly because no response has come.
  // If a response has come, but is no JSON, the code is `not-the-service`.
  if (status === 0) return code === 'not-the-service' ? 'notTonearm' : 'unreachable';
  // The code `not-the-service` means that another program has answered. Its status counts only if
  // this other program is a proxy that demands a password or forbids the request.
  if (code === 'not-the-service' && !PROXY_REFUSALS.includes(status)) return 'notTonearm';
  if (code === NO_ROUTE) return 'unavailable';
  const exits: Readonly<Record<number, ExitName>> = EXIT_BY_HTTP_STATUS;
  return exits[status] ?? 'failed';
}
