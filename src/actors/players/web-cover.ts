// Fetches a cover from the web: one request, at most one redirect, and only from the internet's own
// addresses, never from those of the house (docs/players.md, "Covers from the web"). Each address of a name
// is checked before anything is sent, and the connection is made to these addresses and no others. It keeps
// nothing.

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
const ADDRESSES_MAX = 16;
/**
 * The time for each address of a name but the last. Node's own 250 ms are too short for a server far away,
 * and the kernel repeats a lost first packet after a second; two dead addresses leave time for a third.
 */
const ATTEMPT_MS = 1_500;

export interface WebAccess {
  readonly isPublic: (address: string) => boolean;
  /** All addresses of a name, from name servers alone, because the node's own files may name anything. */
  readonly addressesOf: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** The port of a URL is acceptable: '' is the usual one of its scheme. */
  readonly isPort: (port: string) => boolean;
}

const THE_WEB: WebAccess = {
  isPublic: (address) => isPublic(address, ownNetworks()),
  addressesOf,
  isPort: (port) => port === '',
};

/** Undefined if the image cannot be fetched. Never rejects. */
export async function webCover(url: string, clock: Clock, web = THE_WEB): Promise<ImageAnswer | undefined> {
  const ending = new AbortController();
  const fetched = fetchImage(new URL(url), web, ending.signal, REDIRECTS_MAX).catch(() => undefined);
  return within(clock, FETCH_MAX_MS, fetched).finally(() => ending.abort());
}

async function fetchImage(
  url: URL,
  web: WebAccess,
  signal: AbortSignal,
  redirects: number,
): Promise<ImageAnswer | undefined> {
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  if (!isWeb || url.username !== '' || url.password !== '' || !web.isPort(url.port)) return undefined;
  const addresses = await checkedAddresses(url.hostname, web, signal);
  if (addresses.length === 0 || signal.aborted) return undefined;
  const response = await responseOf(url, addresses, signal);
  try {
    const { statusCode = 0, headers } = response;
    if (statusCode === 200) return imageOf(await bodyWithin(response, COVER_MAX_BYTES));
    const isRedirect = [301, 302, 303, 307, 308].includes(statusCode) && headers.location !== undefined;
    if (!isRedirect || redirects === 0) return undefined;
    return await fetchImage(new URL(headers.location ?? '', url), web, signal, redirects - 1);
  } finally {
    response.destroy();
  }
}

/** Empty if one of the addresses is not public. */
async function checkedAddresses(hostname: string, web: WebAccess, signal: AbortSignal): Promise<string[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  const addresses = isIP(literal) === 0 ? await web.addressesOf(hostname, signal) : [literal];
  return addresses.every((address) => web.isPublic(address)) ? addresses.slice(0, ADDRESSES_MAX) : [];
}

function responseOf(url: URL, addresses: readonly string[], signal: AbortSignal): Promise<IncomingMessage> {
  const known = addresses.map((address) => ({ address, family: isIP(address) }));
  // With `autoSelectFamily`, Node requests all addresses, and tries one after the other.
  const lookup: LookupFunction = (_host, _options, found) => found(null, known);
  const request = url.protocol === 'https:' ? secureRequest : plainRequest;
  // These are in a variable because the types of a request lack the options of its socket.
  const socketOptions = {
    lookup,
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
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
  return Object.values(networkInterfaces()).flatMap((all = []) => all.flatMap(({ cidr }) => cidr ?? []));
}

/**
 * getaddrinfo would also use mDNS and the node's own files, and would block one of the process's few file
 * threads while it waits.
 */
async function addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new Resolver();
  signal.addEventListener('abort', () => resolver.cancel(), { once: true });
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
}
