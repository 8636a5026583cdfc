// Decides from which origins another node's page is trusted here (docs/http-api.md, "The house"). Only
// private addresses and names below `.local` are trusted, so that no announcement gives trust to a site of
// the web. If a machine of this network announces itself, it gains little, because it can send requests to
// this node anyway. This node's own page may connect to all trusted origins, and to the origins of the
// configured nodes. Pure.

import { isIP, isIPv6 } from 'node:net';
import type { NodeRecord } from '../../protocol/actor/schemas.js';
import { isInNetworks } from '../networks.js';
import { LOCAL_HOST } from './sighting.js';

/** The networks of private (RFC 1918), link-local and unique local addresses. */
const PRIVATE_NETWORKS = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  'fc00::/7',
  'fe80::/10',
];
/**
 * A host name without the characters that mean something in a Content-Security-Policy: `;`, `,`, `*`. The
 * host of a valid URL may have these characters.
 */
const PLAIN_NAME = /^[\w.-]{1,253}$/;
export const HTTPS_PORT = 443;

/**
 * The origins from which the page of `node` may be trusted, in the form in which browsers send an origin. A
 * node with odio-api has no such origins, because its page cannot use the daemon's own node.
 */
export function trustedOrigins(node: NodeRecord): readonly string[] {
  return originsAt(node, isPrivateHost);
}

/**
 * The origins of a node that the configuration names. The page of the daemon's own node may connect to them.
 * A node with odio-api has no such origins, because the page cannot use that node.
 */
export function configuredOrigins(node: NodeRecord): readonly string[] {
  return originsAt(node, (host) => isIP(host) !== 0 || PLAIN_NAME.test(host));
}

function originsAt(
  { api, host, addresses, port }: NodeRecord,
  isAccepted: (host: string) => boolean,
): readonly string[] {
  if (api !== 'tonearm') return [];
  const hosts = [...new Set([...addresses, host])].filter(isAccepted);
  // The record of a node has no scheme, so the port decides the scheme.
  const scheme = port === HTTPS_PORT ? 'https' : 'http';
  const urlHosts = hosts.map((name) => (isIPv6(name) ? `[${name}]` : name));
  const urls = urlHosts.map((urlHost) => `${scheme}://${urlHost}:${port}`);
  // A host name that begins with `xn--`, but is no encoded international name, makes no valid URL.
  return urls.flatMap((url) => (URL.canParse(url) ? new URL(url).origin : []));
}

function isPrivateHost(host: string): boolean {
  return isIP(host) === 0 ? LOCAL_HOST.test(host) : isInNetworks(PRIVATE_NETWORKS, host);
}
