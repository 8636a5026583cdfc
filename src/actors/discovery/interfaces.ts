// The machine's interfaces as the kernel has them now: names, indices, addresses. It decides nothing.

import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import type { Interface, Interfaces } from './places.js';

/** Throws where the system does not say. */
export function interfacesNow(): Interfaces {
  return Object.entries(networkInterfaces()).flatMap(([name, infos = []]): Interface[] => {
    const addresses = infos.filter(({ internal }) => !internal);
    const index = addresses.length === 0 ? undefined : indexOf(name);
    return index === undefined ? [] : [{ name, index, addresses }];
  });
}

/** Undefined: it has gone meanwhile. */
function indexOf(name: string): number | undefined {
  try {
    return Number(readFileSync(`/sys/class/net/${name}/ifindex`, 'utf8'));
  } catch {
    return undefined;
  }
}
