// Decides which origins a node's page may have to be trusted here (docs/http-api.md, "The house"): literal
// addresses of the house, and names below `.local`, at the node's own port. Whoever announces such a node is
// in this network anyway; no announcement gives trust to a name of the web or to a public address. Pure.

import { isIP, isIPv6 } from 'node:net';
import type { NodeRecord } from '../../protocol/actor/schemas.js';
import { isIn } from '../networks.js';
import { HOST } from './sighting.js';

/** Private (RFC 1918), link-local and unique local addresses. */
const HOUSE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7', 'fe80::/10'];
const HTTPS_PORT = 443;

/** The origins as browsers send them. A node of the other kind has no page that speaks to this one. */
export function trustedOrigins({ api, host, addresses, port }: NodeRecord): readonly string[] {
  if (api !== 'tonearm') return [];
  const places = [...new Set([...addresses, host])].filter(isOfHouse);
  const scheme = port === HTTPS_PORT ? 'https' : 'http';
  const urls = places.map((place) => `${scheme}://${isIPv6(place) ? `[${place}]` : place}:${port}`);
  // A name that looks like an international one, and is none, is no valid URL.
  return urls.flatMap((url) => (URL.canParse(url) ? new URL(url).origin : []));
}

function isOfHouse(place: string): boolean {
  return isIP(place) === 0 ? HOST.test(place) : isIn(HOUSE, place);
}
