// The systemd actor's thread: wires the backend to the runtime, and nothing else.

import { join } from 'node:path';
import { systemClock } from '../../clock.js';
import type { ActorTask } from '../../protocol/actor/messages.js';
import type { SystemdSettings } from '../../protocol/actor/settings.js';
import { runtimeDirectory } from '../../user-directories.js';
import { runActor } from '../runtime.js';
import { SystemdBackend } from './backend.js';

export default function work(task: ActorTask<SystemdSettings>): Promise<void> {
  return runActor<'systemd'>(task, (settings, publish) => {
    const runtime = runtimeDirectory(process.env, process.getuid?.() ?? 0);
    const directories = { user: join(runtime, 'systemd/units'), system: '/run/systemd/units' };
    return new SystemdBackend(settings, directories, publish, systemClock);
  });
}
