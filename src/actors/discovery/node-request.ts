// Finds out which node answers at one address: by one `GET /server`, without redirects, within a deadline. It
// keeps nothing.

import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { type Clock, within } from '../../host/clock.js';
import { errorText } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { NodeRecord } from '../../protocol/actor/schemas.js';
import type { NameLookup } from '../name-lookup.js';
import { bodyWithin } from '../response-body.js';
import { capped, jsonObject } from '../text.js';

/** The time from the look-up of the name to the last byte. */
const ANSWER_MAX_MS = 5_000;
const ANSWER_MAX_BYTES = 1 << 16;
/** The time for each address of a name but the last, as a lost first packet is repeated after a second. */
const ATTEMPT_MS = 1_500;
const VERSION_MAX_UNITS = 64;

export interface NodeAnswer {
  readonly api: NodeRecord['api'];
  readonly version?: string;
  /** The address that has answered. */
  readonly address: string;
  /** The address is one of this machine. */
  readonly isOwnAddress: boolean;
}

/** The error is the reason, for people. Never rejects. */
export async function answerOf(
  url: URL,
  names: Pick<NameLookup, 'functionFor'>,
  clock: Clock,
): Promise<Result<NodeAnswer, string>> {
  const ending = new AbortController();
  const answered = request(url, names, ending.signal).catch((error: unknown) => failed(reasonOf(error)));
  const answer = await within(clock, ANSWER_MAX_MS, answered);
  ending.abort();
  return answer ?? failed(`no answer within ${ANSWER_MAX_MS / 1000} s`);
}

async function request(
  url: URL,
  names: Pick<NameLookup, 'functionFor'>,
  signal: AbortSignal,
): Promise<Result<NodeAnswer, string>> {
  const response = await responseOf(url, names, signal);
  try {
    // Both end with the socket.
    const { localAddress, remoteAddress = '' } = response.socket;
    if (response.statusCode !== 200) return failed(`GET /server was answered with ${response.statusCode}`);
    const server = jsonObject((await bodyWithin(response, ANSWER_MAX_BYTES)).toString());
    const software = server?.['api_sw'];
    if (typeof software !== 'string') return failed('GET /server was not answered as a node does it');
    const version = server?.['api_version'];
    return success({
      // The other kind of node has the same route, and a name of its own.
      api: software === 'tonearm' ? software : 'odio-api',
      ...(typeof version === 'string' && version !== '' && { version: capped(version, VERSION_MAX_UNITS) }),
      address: remoteAddress,
      // A connection to an address of this machine comes from the same one.
      isOwnAddress: localAddress === remoteAddress,
    });
  } finally {
    response.destroy();
  }
}

function responseOf(
  url: URL,
  names: Pick<NameLookup, 'functionFor'>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const send = url.protocol === 'https:' ? secureRequest : plainRequest;
  const lookup = names.functionFor(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  // These are in a variable because the types of a request lack the options of its socket.
  const socketOptions = {
    ...(lookup && { lookup }),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
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

/** The error of a name with several addresses has no text of its own, but one for each address. */
function reasonOf(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(errorText).join('; ') : errorText(error);
}
