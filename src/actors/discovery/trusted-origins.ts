// Decides from which origins another node's page is trusted here (docs/http-api.md, "The house"). Only
// private addresses and names below `.local` are trusted, so that no announcement gives trust to a site of
// the web. A machine of this network gains little by an announcement, because it can send requests to
// the node anyway. Pure.

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
export const HTTPS_PORT = 443;

/** The origins as browsers send them. None for a node with odio-api, whose page cannot use this node. */
export function trustedOrigins({ api, host, addresses, port }: NodeRecord): readonly string[] {
  if (api !== 'tonearm') return [];
  const hosts = [...new Set([...addresses, host])].filter(isPrivateHost);
  const scheme = port === HTTPS_PORT ? 'https' : 'http';
  const urlHosts = hosts.map((name) => (isIPv6(name) ? `[${name}]` : name));
  const urls = urlHosts.map((urlHost) => `${scheme}://${urlHost}:${port}`);
  // A host name that begins with `xn--`, but is no encoded international name, makes no valid URL.
  return urls.flatMap((url) => (URL.canParse(url) ? new URL(url).origin : []));
}

function isPrivateHost(host: string): boolean {
  return isIP(host) === 0 ? LOCAL_HOST.test(host) : isInNetworks(PRIVATE_NETWORKS, host);
}
