// The systemd actor's thread: wires the backend to the runtime, and nothing else.

import { systemClock } from '../../clock.js';
import type { ActorTask } from '../../protocol/actor/messages.js';
import type { SystemdSettings } from '../../protocol/actor/settings.js';
import { runActor } from '../runtime.js';
import { SystemdBackend } from './backend.js';

export default function work(task: ActorTask<SystemdSettings>): Promise<void> {
  return runActor<'systemd'>(task, (settings, publish) => new SystemdBackend(settings, publish, systemClock));
}
