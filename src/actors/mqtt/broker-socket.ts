// The socket to a broker: TCP or TLS, to whichever of its addresses answers.

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { NameLookup } from '../name-lookup.js';

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'mqtt:': 1883, 'mqtts:': 8883 };

/**
 * The addresses of a name are tried one after the other, and Node gives each but the last 250 ms, which a
 * broker far away does not keep. The kernel repeats a lost first packet after a second. Four dead addresses
 * leave time for a fifth within the deadline of a connection.
 */
const ATTEMPT_MS = 2_000;

/** `ca`: certificates in PEM; if undefined, Node's own. `names` looks the broker's name up. */
export function dialBroker(url: string, ca: string | undefined, names: NameLookup): Socket {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const lookup = names.functionFor(host);
  const to = {
    host,
    ...(lookup !== undefined && { lookup }),
    port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
  };
  if (protocol !== 'mqtts:') return connectTcp(to);
  const name = isIP(host) === 0 ? { servername: host } : {};
  const trust = ca === undefined ? {} : { ca };
  return connectTls({ ...to, ...trust, ...name });
}
