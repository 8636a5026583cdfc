// The socket to a broker: TCP or TLS, to whichever of its addresses answers.

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { NameLookup } from '../name-lookup.js';

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'mqtt:': 1883, 'mqtts:': 8883 };

/**
 * The time for each address of a name but the last one: they are tried one after the other. Node's own 250 ms
 * are too short for a broker far away, and the kernel repeats a lost first packet only after a second. Four
 * dead addresses leave time for a fifth within the deadline of a connection.
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
