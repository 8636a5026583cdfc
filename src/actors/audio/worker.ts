// The audio actor's thread: wires the backend to the runtime, and nothing else.

import type { ActorTask } from '../../protocol/actor/messages.js';
import type { AudioSettings } from '../../protocol/actor/settings.js';
import { homeDirectory } from '../../user-directories.js';
import { runActor } from '../runtime.js';
import { AudioBackend } from './backend.js';
import { readMachineId } from './server-files.js';

export default function work(task: ActorTask<AudioSettings>): Promise<void> {
  return runActor<'audio'>(task, (settings, publish) => {
    // Not os.userInfo(), which fails for a user who is not in the user database.
    const uid = process.getuid?.() ?? 0;
    const context = { env: process.env, uid, home: homeDirectory(), machineId: readMachineId() };
    return new AudioBackend(settings, context, publish);
  });
}

/** Called before there are settings, so that this module is loaded by then. Nothing else needs preparation. */
export const warmUp = (): undefined => undefined;
