// The players actor's thread: wires the backend to the runtime, and nothing else.

import { systemClock } from '../../clock.js';
import type { ActorTask } from '../../protocol/actor/messages.js';
import type { PlayersSettings } from '../../protocol/actor/settings.js';
import { runActor } from '../runtime.js';
import { PlayersBackend } from './backend.js';

export default function work(task: ActorTask<PlayersSettings>): Promise<void> {
  return runActor<'players'>(task, ({ fetchCovers }, publish) => {
    // Loaded when the first is wanted: Node's HTTP takes 2 MB.
    const fetch = async (url: string) => (await import('./public-web.js')).fetchCover(url, systemClock);
    return new PlayersBackend(publish, systemClock, {}, fetchCovers ? fetch : undefined);
  });
}
