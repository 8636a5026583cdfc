// The storm of storm.ts, in a process of its own: a real client of the sound server changes volumes at a
// steady rate. Arguments: the server's socket, the sink's index. On the order `blow` it makes the given
// number of changes, then sets 77 %, so that the last value is known, and answers with the changes per
// second.

import { setTimeout as pause } from 'node:timers/promises';
import { Mixer } from '../../test/contract/stream-mixer.js';
import { obey } from './fork.js';

const CHANGES_PER_SECOND = 1000;
const PAUSE_MS = 5;
const LAST_LEVEL = 0.77;

const [socketPath = '', index] = process.argv.slice(2);
const mixer = await Mixer.connect(socketPath);

async function blow(changes: number): Promise<number> {
  const begun = performance.now();
  let made = 0;
  while (made < changes) {
    const due = Math.min(changes, Math.floor(((performance.now() - begun) * CHANGES_PER_SECOND) / 1000));
    const replies: Promise<void>[] = [];
    for (; made < due; made += 1) replies.push(mixer.setSinkVolume(Number(index), 0.1 + (made % 60) / 100));
    await Promise.all(replies);
    await pause(PAUSE_MS);
  }
  const perSecond = (made * 1000) / (performance.now() - begun);
  await mixer.setSinkVolume(Number(index), LAST_LEVEL);
  return perSecond;
}

obey(0, { blow });
