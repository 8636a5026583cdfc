// The upgrade actor's thread: wires the backend to the runtime and to the machine, and nothing else.

import { readFileSync } from 'node:fs';
import { systemClock } from '../../clock.js';
import type { ActorTask } from '../../protocol/actor/messages.js';
import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import { runActor } from '../runtime.js';
import { UpgradeBackend } from './backend.js';

/** A new id after each boot of the kernel (random(4)). */
function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

export default function work(task: ActorTask<UpgradeSettings>): Promise<void> {
  return runActor<'upgrade'>(task, (settings, publish) => {
    return new UpgradeBackend(settings, publish, { bus: {}, bootId: bootId(), clock: systemClock });
  });
}
