// The audio actor's thread: wires the backend to the runtime, and nothing else.

import { readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import type { ActorTask } from '../../protocol/actor/port.js';
import type { AudioSettings } from '../../protocol/actor/settings.js';
import { runActor } from '../runtime.js';
import { AudioBackend } from './backend.js';

/** undefined where it cannot be read: then addresses for other machines are not told apart. */
function machineId(): string | undefined {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

export default function work(task: ActorTask<AudioSettings>): Promise<void> {
  return runActor<'audio'>(task, (settings, publish) => {
    const place = { env: process.env, uid: userInfo().uid, home: homedir(), machineId: machineId() };
    const backend = new AudioBackend(settings, place, publish);
    backend.start();
    return backend;
  });
}
