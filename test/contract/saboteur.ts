// `--import` loads this into the daemon, for tests only; threads inherit it. A signal makes the actors' threads of the shipped build hang
// (SIGUSR2) or exit (SIGWINCH), as a defect would, or wait in the kernel for the other end of the FIFO $SABOTEUR_FIFO (SIGURG), as for
// a file on a network disk that hangs. The file `FIFO.reached` appears just before a thread waits.

import { openSync, writeFileSync } from 'node:fs';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

const channel = new BroadcastChannel('sabotage');
channel.unref();

const ACTS: Readonly<Record<string, () => void>> = {
  SIGUSR2: () => {
    for (;;);
  },
  SIGWINCH: () => process.exit(7),
  SIGURG: () => {
    const fifo = process.env['SABOTEUR_FIFO'] ?? '';
    writeFileSync(`${fifo}.reached`, '');
    openSync(fifo, 'r');
  },
};

if (isMainThread) {
  for (const signal of Object.keys(ACTS)) process.on(signal, () => channel.postMessage(signal));
} else {
  channel.onmessage = (message) => {
    const { data } = message as { readonly data: string };
    ACTS[data]?.();
  };
}
