// The power actor's thread: wires the backend to the runtime, and nothing else.

import { systemClock } from '../../clock.js';
import type { ActorTask } from '../../protocol/actor/messages.js';
import type { PowerSettings } from '../../protocol/actor/settings.js';
import { backoffMs } from '../backoff.js';
import { runActor } from '../runtime.js';
import { PowerBackend } from './backend.js';

export default function work(task: ActorTask<PowerSettings>): Promise<void> {
  return runActor<'power'>(
    task,
    (settings, publish) =>
      new PowerBackend(settings, publish, {
        backoffMs: (attempt) => backoffMs(attempt, systemClock.random()),
      }),
  );
}
