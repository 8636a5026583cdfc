// The discovery bridge's thread: wires the bridge to the runtime and to the machine's interfaces, and decides nothing.

import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { systemClock } from '../../clock.js';
import type { ActorTask } from '../../protocol/actor/messages.js';
import type { DiscoverySettings } from '../../protocol/actor/settings.js';
import { runBridge } from '../runtime.js';
import { Discovery } from './discovery.js';
import type { Interface, Interfaces } from './places.js';

export default function work(task: ActorTask<DiscoverySettings>): Promise<void> {
  const world = { interfaces: externalInterfaces, clock: systemClock };
  return runBridge<'discovery'>(task, (settings, node) => new Discovery(settings, node, world));
}

/** @throws if the system call fails, as without a free descriptor */
function externalInterfaces(): Interfaces {
  return Object.entries(networkInterfaces()).flatMap(([name, infos = []]): Interface[] => {
    const addresses = infos.filter(({ internal }) => !internal);
    const index = addresses.length === 0 ? undefined : indexOf(name);
    return index === undefined ? [] : [{ name, index, addresses }];
  });
}

/** Undefined if the interface has gone meanwhile. */
function indexOf(name: string): number | undefined {
  try {
    return Number(readFileSync(`/sys/class/net/${name}/ifindex`, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
