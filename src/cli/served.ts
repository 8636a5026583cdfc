// Where people reach the service, in sentences for them: what of `bind` is here now, and what is served when it comes. It listens nowhere.

import { existsSync } from 'node:fs';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { type InterfaceAddresses, resolveBind } from '../gateway/bind.js';
import type { Settings } from '../protocol/actor/settings.js';

export interface Machine {
  readonly interfaces: InterfaceAddresses;
  /** Whether there is an interface of that name, also one without an address. */
  hasInterface(name: string): boolean;
}

const EVERY_ADDRESS = ['::', '0.0.0.0'];
/** What `localhost` leads to, alone or with others. */
const LOCALHOST = ['127.0.0.1', '::1', ...EVERY_ADDRESS];
/** An address that means nothing without its zone, which no URL can hold. */
const LINK_LOCAL = /^fe[89ab]/i;

export function thisMachine(): Machine {
  return {
    interfaces: networkInterfaces(),
    hasInterface: (name) => existsSync(`/sys/class/net/${name}`),
  };
}

/** The last one says what to open, if anything is served now. */
export function servedSentences(
  { bind, api: { port } }: Pick<Settings, 'bind' | 'api'>,
  { interfaces, hasInterface }: Machine,
): readonly string[] {
  const { wanted, waiting } = resolveBind(bind, interfaces);
  const absent = waiting.map((name) =>
    hasInterface(name)
      ? `${name} is not connected now; it is served when it is`
      : `${name} is not here now; it is served when it comes`,
  );
  const served = wanted.map(({ address }) => address).filter((address) => !LINK_LOCAL.test(address));
  const isServed = ({ address, family, internal }: NetworkInterfaceInfo): boolean =>
    !internal &&
    !LINK_LOCAL.test(address) &&
    [address, '::', family === 'IPv4' ? '0.0.0.0' : '::'].some((one) => served.includes(one));
  const urls = Object.entries(interfaces).flatMap(([name, infos = []]) => {
    const open = infos.filter(isServed);
    // One is enough to reach it; what is easier to type first.
    const best = open.find(({ family }) => family === 'IPv4') ?? open[0];
    return best === undefined ? [] : [`${url(best.address, port)} (${name})`];
  });
  if (urls.length > 0) return [...absent, `open ${urls.join(' or ')}`];
  const [first] = served;
  if (first === undefined) return ['nothing is served now', ...absent];
  const here = url(LOCALHOST.includes(first) ? 'localhost' : first, port);
  return [...absent, `open ${here} on this machine; ${others(served, waiting)}`];
}

/** Why only this machine reaches it. */
function others(served: readonly string[], waiting: readonly string[]): string {
  if (EVERY_ADDRESS.some((address) => served.includes(address)))
    return 'other machines reach it once this one is on a network';
  return waiting.length > 0 ? 'other machines cannot reach it yet' : 'other machines cannot reach it';
}

function url(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}
