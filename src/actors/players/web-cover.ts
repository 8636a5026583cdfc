// Fetches a cover from the web. Connects only to public addresses, never to a device in the house
// (docs/players.md, "Covers from the web"). All addresses of a name are checked first, and the connection is
// made to one of these addresses, because a second look-up of the name could give other addresses.

import { Resolver } from 'node:dns/promises';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type Clock, within } from '../../host/clock.js';
import { bodyWithin } from '../response-body.js';
import { COVER_MAX_BYTES, type ImageAnswer, imageOf } from './cover.js';
import { isPublic } from './public-address.js';

/** The time from the first look-up to the last byte. */
const FETCH_MAX_MS = 5_000;
const REDIRECTS_MAX = 1;
const REDIRECT_STATUSES: readonly number[] = [301, 302, 303, 307, 308];
const ADDRESSES_MAX = 16;
/**
 * The addresses of a name are tried one after the other. Each address except the last has this time to
 * answer. Node.js's usual 250 ms are too short for a server far away, and for a lost first packet, which the
 * kernel repeats only after 1 s. After two dead addresses there is still time for a third within
 * `FETCH_MAX_MS`.
 */
const TIME_PER_ADDRESS_MS = 1_500;

/** The addresses and ports that a fetch may reach. A test may allow some that `PUBLIC_WEB` refuses. */
export interface WebAccess {
  readonly isPublic: (address: string) => boolean;
  /** Asks only name servers, because `/etc/hosts` of the node may give a name any address. */
  readonly addressesOf: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** `port`: as in a URL, where '' is the usual port of the scheme. */
  readonly isAllowedPort: (port: string) => boolean;
}

const PUBLIC_WEB: WebAccess = {
  isPublic: (address) => isPublic(address, ownNetworks()),
  addressesOf,
  isAllowedPort: (port) => port === '',
};

/** Undefined if the image cannot be fetched. Never rejects if `url` is valid; cover.ts has checked that. */
export async function webCover(
  url: string,
  clock: Clock,
  web = PUBLIC_WEB,
): Promise<ImageAnswer | undefined> {
  const abortController = new AbortController();
  const fetched = fetchImage(new URL(url), web, abortController.signal, REDIRECTS_MAX).catch(() => undefined);
  return within(clock, FETCH_MAX_MS, fetched).finally(() => abortController.abort());
}

async function fetchImage(
  url: URL,
  web: WebAccess,
  signal: AbortSignal,
  redirectsLeft: number,
): Promise<ImageAnswer | undefined> {
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  const hasUser = url.username !== '' || url.password !== '';
  const isAllowed = isWeb && !hasUser && web.isAllowedPort(url.port);
  if (!isAllowed) return undefined;
  const addresses = await checkedAddresses(url.hostname, web, signal);
  if (addresses.length === 0 || signal.aborted) return undefined;
  const response = await responseOf(url, addresses, signal);
  try {
    const { statusCode = 0, headers } = response;
    if (statusCode === 200) {
      const body = await bodyWithin(response, COVER_MAX_BYTES);
      return body.ok ? imageOf(body.value) : undefined;
    }
    const location = REDIRECT_STATUSES.includes(statusCode) ? headers.location : undefined;
    if (location === undefined || redirectsLeft === 0) return undefined;
    const target = new URL(location, url);
    return await fetchImage(target, web, signal, redirectsLeft - 1);
  } finally {
    response.destroy();
  }
}

/** Empty if not all addresses of the host are public. An IPv6 address in `hostname` has brackets. */
async function checkedAddresses(hostname: string, web: WebAccess, signal: AbortSignal): Promise<string[]> {
  const hostWithoutBrackets = hostname.replace(/^\[(.*)\]$/, '$1');
  const isAddress = isIP(hostWithoutBrackets) !== 0;
  const addresses = isAddress ? [hostWithoutBrackets] : await web.addressesOf(hostname, signal);
  const areAllPublic = addresses.every((address) => web.isPublic(address));
  return areAllPublic ? addresses.slice(0, ADDRESSES_MAX) : [];
}

function responseOf(url: URL, addresses: readonly string[], signal: AbortSignal): Promise<IncomingMessage> {
  const withFamilies = addresses.map((address) => ({ address, family: isIP(address) }));
  // Node.js needs all addresses here: `autoSelectFamily` tries one after the other.
  const lookup: LookupFunction = (_host, _options, callback) => callback(null, withFamilies);
  const request = url.protocol === 'https:' ? secureRequest : plainRequest;
  // TypeScript's type for the options of `request` lacks some of these options. The compiler accepts them in
  // a variable that is spread, but not in the literal below.
  const socketOptions = {
    lookup,
    // Without this option, NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would allow any certificate.
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: TIME_PER_ADDRESS_MS,
  };
  return new Promise((resolve, reject) => {
    request(url, {
      ...socketOptions,
      agent: false,
      signal,
      headers: { Accept: 'image/*', 'Accept-Encoding': 'identity', 'User-Agent': 'tonearm' },
    })
      .on('response', resolve)
      .on('error', reject)
      .end();
  });
}

function ownNetworks(): readonly string[] {
  const allAddresses = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return allAddresses.map(({ cidr }) => cidr).filter((network) => network !== null);
}

/**
 * The `Resolver` asks only name servers. Node.js's usual look-up (getaddrinfo) would also use mDNS and
 * `/etc/hosts`, and would block one of the process's few file threads while it waits.
 */
async function addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new Resolver();
  signal.addEventListener('abort', () => resolver.cancel(), { once: true });
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
}
