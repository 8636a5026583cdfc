// Makes the sentences that say at which addresses people can reach the service now, and which entries of
// `bind` are missing. Opens no socket.

import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { resolveBind } from '../gateway/bind.js';
import {
  bestFirst,
  EVERY_ADDRESS,
  EVERY_IPV4,
  hostOnThisMachine,
  type InterfaceAddresses,
  isLinkLocal,
  reachableAt,
} from '../host/own-addresses.js';
import type { Settings } from '../protocol/actor/settings.js';

export interface MachineAddresses {
  /** The interfaces with their addresses, in the order of `bestFirst`. */
  readonly interfaces: InterfaceAddresses;
  /** True if an interface of that name exists, even if it has no address. */
  hasInterface(name: string): boolean;
}

export function thisMachine(): MachineAddresses {
  return {
    interfaces: bestFirst(networkInterfaces()),
    hasInterface: (name) => existsSync(`/sys/class/net/${name}`),
  };
}

/** The last sentence contains the addresses that people can open, if there are any now. */
export function servedSentences(
  { bind, api: { port } }: Pick<Settings, 'bind' | 'api'>,
  { interfaces, hasInterface }: MachineAddresses,
): readonly string[] {
  const { present, missing } = resolveBind(bind, interfaces);
  const missingSentences = missing.map((bindEntry) =>
    hasInterface(bindEntry)
      ? `${bindEntry} is not connected now; it is served once it is connected`
      : `${bindEntry} does not exist now; it is served once it exists`,
  );
  // A link-local address does not count, because people cannot open it: URLs cannot contain its zone.
  const servedAddresses = present.map(({ address }) => address).filter((address) => !isLinkLocal(address));
  const reachable = reachableAt(servedAddresses, interfaces);
  // One address of each interface is enough. `reachableAt` lists the best address of an interface first.
  const bestAddresses = new Map<string, string>();
  for (const { interfaceName, info } of reachable)
    if (!bestAddresses.has(interfaceName)) bestAddresses.set(interfaceName, info.address);
  const urls = [...bestAddresses].map(([name, address]) => `${urlOf(address, port)} (${name})`);
  if (urls.length > 0) return [...missingSentences, `open ${urls.join(' or ')}`];
  // No other machine can reach the service now. This machine can if at least one address is served.
  const localHost = hostOnThisMachine(servedAddresses);
  if (localHost === undefined) return ['nothing is served now', ...missingSentences];
  return [
    ...missingSentences,
    `open ${urlOf(localHost, port)} on this machine; ${otherMachinesSentence(servedAddresses, missing)}`,
  ];
}

/** The sentence about other machines. The caller knows that none of them can reach the service now. */
function otherMachinesSentence(servedAddresses: readonly string[], missing: readonly string[]): string {
  if (servedAddresses.includes(EVERY_ADDRESS) || servedAddresses.includes(EVERY_IPV4))
    return 'other machines can reach it once this one is on a network';
  return missing.length > 0 ? 'other machines cannot reach it yet' : 'other machines cannot reach it';
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}
