// Loaded into the daemon by `--import`, for tests only; threads inherit it. A signal to the process makes the actors' threads
// of the shipped build hang (SIGUSR2) or exit (SIGWINCH), as a defect of theirs would.

import { BroadcastChannel, isMainThread } from 'node:worker_threads';

const channel = new BroadcastChannel('sabotage');
channel.unref();

const ACTS: Readonly<Record<string, () => void>> = {
  SIGUSR2: () => {
    for (;;);
  },
  SIGWINCH: () => process.exit(7),
};

if (isMainThread) {
  for (const signal of Object.keys(ACTS)) process.on(signal, () => channel.postMessage(signal));
} else {
  channel.onmessage = (message) => {
    const { data } = message as { readonly data: string };
    ACTS[data]?.();
  };
}
