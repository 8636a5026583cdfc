// From the configuration's `bind` to the addresses to listen on. Pure: the machine's interfaces are an argument.

import { isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';

/** As `os.networkInterfaces()` gives them: only interfaces that are up and have an address. */
export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export type BindResult =
  | { readonly ok: true; readonly addresses: readonly string[]; readonly notes: readonly string[] }
  /** `name` is neither an address nor an interface with one. */
  | { readonly ok: false; readonly name: string };

/** `bind` holds interface names, IP addresses or `all`. The order is kept, duplicates are left out. */
export function resolveBind(bind: readonly string[], interfaces: Interfaces): BindResult {
  if (bind.includes('all')) return { ok: true, addresses: [everywhere(interfaces)], notes: [] };
  const addresses = new Set<string>();
  const notes: string[] = [];
  for (const name of bind) {
    const found = isIP(name) === 0 ? addressesOf(name, interfaces) : [name];
    const usable = found.filter((address) => !isLinkLocal(address));
    for (const address of found) {
      // They need a zone, which clients cannot write into a URL; an interface has other addresses.
      if (isLinkLocal(address)) notes.push(`bind: ${name}: the link-local address ${address} is left out`);
    }
    if (usable.length === 0) return { ok: false, name };
    for (const address of usable) addresses.add(address);
  }
  return { ok: true, addresses: [...addresses], notes };
}

function addressesOf(name: string, interfaces: Interfaces): readonly string[] {
  const infos = Object.hasOwn(interfaces, name) ? interfaces[name] : undefined;
  return (infos ?? []).map((info) => info.address);
}

/** One dual-stack socket where the machine speaks IPv6 at all. */
function everywhere(interfaces: Interfaces): string {
  const infos = Object.values(interfaces).flatMap((list) => list ?? []);
  return infos.some((info) => info.family === 'IPv6') ? '::' : '0.0.0.0';
}

function isLinkLocal(address: string): boolean {
  return /^fe[89ab]/i.test(address) && isIP(address) === 6;
}
