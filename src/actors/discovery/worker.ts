// The discovery bridge's thread: wires the announcer to the runtime, and nothing else.

import { systemClock } from '../../clock.js';
import type { ActorTask } from '../../protocol/actor/messages.js';
import type { DiscoverySettings } from '../../protocol/actor/settings.js';
import { runBridge } from '../runtime.js';
import { Announcer } from './announcer.js';
import { interfacesNow } from './interfaces.js';

export default function work(task: ActorTask<DiscoverySettings>): Promise<void> {
  const world = { interfaces: interfacesNow, clock: systemClock };
  return runBridge<'discovery'>(task, (settings, node) => new Announcer(settings, node, world));
}
