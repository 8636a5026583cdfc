// Loaded into the installed daemon by `--import`, for tests only; its threads inherit it. What the file $SABOTAGE says is done when the
// process gets SIGUSR2: `exit audio` and the like ends that actor's thread as a defect of its own would, and `clock 86400000`
// sets what the whole daemon takes for the time of the day: no machine's clock is touched. `collect` has the main thread collect its garbage, so
// that what is kept can be told from what V8 has not looked at. It stands alone: no file of ours is with it.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { sep } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

const channel = new BroadcastChannel('sabotage');
channel.unref();

const ENDS: Readonly<Record<string, () => void>> = {
  exit: () => process.exit(7),
  throw: () => {
    setImmediate(() => {
      throw new Error('sabotaged');
    });
  },
  hang: () => {
    for (;;);
  },
  memory: () => {
    const kept: unknown[] = [];
    for (;;) kept.push(new Array(1000).fill(kept.length));
  },
};

/** An actor is known by the file that it was loaded from. */
function runs(actor: string): boolean {
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  return loaded.some((file) => file.includes(`${sep}actors${sep}${actor}${sep}`));
}

const realNow = Date.now;

function collect(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

function obey(order: string): void {
  const [word = '', argument = ''] = order.trim().split(' ');
  if (word === 'collect' && isMainThread) collect();
  else if (word === 'clock') Date.now = () => realNow() + Number(argument);
  else if (!isMainThread && runs(argument)) ENDS[word]?.();
}

if (isMainThread) {
  process.on('SIGUSR2', () => {
    const order = readFileSync(process.env['SABOTAGE'] ?? '', 'utf8');
    obey(order);
    channel.postMessage(order);
  });
} else {
  channel.onmessage = (message) => obey((message as { readonly data: string }).data);
}
