// The power actor's thread: wires the backend to the runtime, and nothing else.

import type { ActorTask } from '../../protocol/actor/messages.js';
import type { PowerSettings } from '../../protocol/actor/settings.js';
import { runActor } from '../runtime.js';
import { PowerBackend } from './backend.js';

export default function work(task: ActorTask<PowerSettings>): Promise<void> {
  return runActor<'power'>(task, (settings, publish) => new PowerBackend(settings, publish));
}
