// Breaks parts of the daemon from inside, for tests only. It is loaded by `--import`, also into the daemon's
// threads. It is copied alone to the node, so it imports no file of the project.
//
// SIGUSR2 makes the process carry out the order in the file whose path is in $SABOTAGE:
// - `exit audio` ends the thread of the actor `audio`, as a defect would. In a thread, `process.exit` ends
//   only the thread. `throw`, `memory` and `hang` break it in other ways.
// - `stick audio` makes the thread wait in the kernel for the other end of a FIFO, whose path is in
//   $SABOTAGE_FIFO. Before that the thread writes a file with this path and the ending `.reached`.
// - `clock 86400000` puts the time of day of all present threads this many ms ahead of the machine's time.
// - `collect` makes the main thread collect its garbage, so that retained memory can be distinguished from
//   memory that V8 has not collected yet.

import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { sep } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

const channel = new BroadcastChannel('sabotage');
channel.unref();

const SABOTAGES: Readonly<Record<string, () => void>> = {
  exit: () => process.exit(7),
  throw: () => {
    setImmediate(() => {
      throw new Error('sabotaged');
    });
  },
  hang: () => {
    for (;;);
  },
  stick: () => {
    const fifo = process.env['SABOTAGE_FIFO'] ?? '';
    writeFileSync(`${fifo}.reached`, '');
    openSync(fifo, 'r');
  },
  memory: () => {
    const kept: unknown[] = [];
    for (;;) kept.push(new Array(1000).fill(kept.length));
  },
};

/**
 * True if this thread runs the actor, because it has loaded a file of the actor's folder. The shipped actors
 * are CommonJS, so `require` knows their files.
 */
function runsActor(actor: string): boolean {
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  return loaded.some((file) => file.includes(`${sep}actors${sep}${actor}${sep}`));
}

const realNow = Date.now;

function collect(): void {
  // After the start, the flag gives `gc` only to new contexts.
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

function obey(order: string): void {
  const [word = '', argument = ''] = order.trim().split(' ');
  if (word === 'clock') Date.now = () => realNow() + Number(argument);
  else if (word === 'collect') {
    if (isMainThread) collect();
  } else if (!isMainThread && runsActor(argument)) SABOTAGES[word]?.();
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
