// Opens a TCP or TLS socket to a broker. If the broker's name has several addresses, the socket uses the
// first address that answers.

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { NameLookup } from '../name-lookup.js';

/** The default port of each URL scheme. The configuration allows no other schemes. */
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'mqtt:': 1883, 'mqtts:': 8883 };

/**
 * The addresses of a name are tried one after the other. Each address except the last has this time to
 * answer. Node.js's default of 250 ms is too short: a broker far away may need longer, and the kernel repeats
 * a lost first packet only after 1 s. `CONNECT_DEADLINE_MS` (broker.ts) is 10 s. Four dead addresses take
 * 8 s, so there is still time for a fifth address.
 */
const TIME_PER_ADDRESS_MS = 2_000;

/** `ca` has the trusted certificates in PEM. If it is undefined, Node.js's own list is used. */
export function dialBroker(url: string, ca: string | undefined, nameLookup: NameLookup): Socket {
  const { protocol, hostname, port } = new URL(url);
  // An IPv6 address in a URL has brackets, such as `[::1]`.
  const hostWithoutBrackets = hostname.replace(/^\[|\]$/g, '');
  // `lookupFor` returns undefined for an IP address or localhost, because Node.js's own look-up is enough
  // for these (name-lookup.ts).
  const lookup = nameLookup.lookupFor(hostWithoutBrackets);
  const lookupOption = lookup === undefined ? {} : { lookup };
  const target = {
    ...lookupOption,
    host: hostWithoutBrackets,
    port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: TIME_PER_ADDRESS_MS,
  };
  if (protocol !== 'mqtts:') return connectTcp(target);
  // TLS allows no IP address as the name of the server (RFC 6066, section 3).
  const serverNameOption = isIP(hostWithoutBrackets) === 0 ? { servername: hostWithoutBrackets } : {};
  const caOption = ca === undefined ? {} : { ca };
  return connectTls({ ...target, ...caOption, ...serverNameOption });
}
