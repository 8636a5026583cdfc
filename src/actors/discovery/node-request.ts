// Finds out which node answers at a URL. This file sends one `GET /server`, and waits for the answer until a
// deadline. It follows no redirect, and has no state.

import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { type Clock, within } from '../../host/clock.js';
import { capped, errorText } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { NodeRecord } from '../../protocol/actor/schemas.js';
import type { NameLookup } from '../name-lookup.js';
import { bodyWithin } from '../response-body.js';
import { jsonObject } from '../text.js';

/** The longest time from the look-up of the name to the last byte of the answer. */
const ANSWER_MAX_MS = 5_000;
const ANSWER_MAX_BYTES = 1 << 16;
/**
 * How long each address of a name is tried before the next address. The last address gets the rest of
 * `ANSWER_MAX_MS`. The kernel repeats a lost first packet after one second, so the repeated packet is in
 * time.
 */
const ADDRESS_ATTEMPT_MS = 1_500;
/** In UTF-16 units. A longer version is cut. */
const VERSION_MAX_UNITS = 64;

export interface NodeAnswer {
  readonly api: NodeRecord['api'];
  readonly version?: string;
  /** The address that has answered; undefined if it ended the connection right after the answer. */
  readonly address: string | undefined;
  /** True if this machine itself has the address. */
  readonly isOwnAddress: boolean;
}

/** Resolves to the node's answer, or to a text for people that says why there is no answer. Never rejects. */
export async function requestNode(
  url: URL,
  lookup: Pick<NameLookup, 'lookupFor'>,
  clock: Clock,
): Promise<Result<NodeAnswer, string>> {
  const controller = new AbortController();
  const pendingAnswer = readAnswer(url, lookup, controller.signal).catch((error: unknown) =>
    failed(requestProblem(error)),
  );
  const answer = await within(clock, ANSWER_MAX_MS, pendingAnswer);
  controller.abort();
  return answer ?? failed(`no answer within ${ANSWER_MAX_MS / 1000} s`);
}

async function readAnswer(
  url: URL,
  lookup: Pick<NameLookup, 'lookupFor'>,
  signal: AbortSignal,
): Promise<Result<NodeAnswer, string>> {
  const response = await sendRequest(url, lookup, signal);
  try {
    // The addresses are read before the body, because a socket that has ended no longer has them.
    const { localAddress, remoteAddress } = response.socket;
    if (response.statusCode !== 200) return failed(`GET /server was answered with ${response.statusCode}`);
    const body = await bodyWithin(response, ANSWER_MAX_BYTES);
    if (!body.ok) return failed(`the answer to GET /server is ${body.error}`);
    const server = jsonObject(body.value.toString());
    const software = server?.['api_sw'];
    if (typeof software !== 'string') return failed('GET /server was not answered as a node does it');
    const version = server?.['api_version'];
    const hasVersion = typeof version === 'string' && version !== '';
    return success({
      // odio-api, the other software for nodes, has the same route. Any name except tonearm's counts as
      // odio-api.
      api: software === 'tonearm' ? software : 'odio-api',
      ...(hasVersion && { version: capped(version, VERSION_MAX_UNITS) }),
      address: remoteAddress,
      // If this machine connects to one of its own addresses, the connection also comes from that address.
      isOwnAddress: remoteAddress !== undefined && localAddress === remoteAddress,
    });
  } finally {
    response.destroy();
  }
}

function sendRequest(
  url: URL,
  lookup: Pick<NameLookup, 'lookupFor'>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const send = url.protocol === 'https:' ? secureRequest : plainRequest;
  // A URL has an IPv6 address in brackets, such as `[fd00::1]`.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  // The function is undefined for an IP address and for localhost, which need no name server.
  const lookupFunction = lookup.lookupFor(host);
  // The types of Node.js refuse these options in a literal of request options, but allow them in a spread.
  const socketOptions = {
    ...(lookupFunction && { lookup: lookupFunction }),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
  };
  return new Promise((resolve, reject) => {
    send(new URL('/server', url), {
      ...socketOptions,
      agent: false,
      signal,
      headers: { Accept: 'application/json', 'Accept-Encoding': 'identity', 'User-Agent': 'tonearm' },
    })
      .on('response', resolve)
      .on('error', reject)
      .end();
  });
}

/**
 * The reason why the request has failed, for people. If several addresses have failed, the error itself has
 * no text, but contains an error for each address.
 */
function requestProblem(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(errorText).join('; ') : errorText(error);
}
