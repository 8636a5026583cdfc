// The Bluetooth actor's thread: wires the backend to the runtime, and nothing else.

import { systemClock } from '../../clock.js';
import type { ActorTask } from '../../protocol/actor/messages.js';
import type { BluetoothSettings } from '../../protocol/actor/settings.js';
import { runActor } from '../runtime.js';
import { BluetoothBackend } from './backend.js';

export default function work(task: ActorTask<BluetoothSettings>): Promise<void> {
  return runActor<'bluetooth'>(
    task,
    (settings, publish) => new BluetoothBackend(settings, publish, systemClock),
  );
}
