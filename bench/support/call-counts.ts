// Counts the function calls in the daemon of way.ts. `--import` loads this file there, also into the
// threads. At each SIGUSR2 every thread writes which functions V8 has called since the signal before, to the
// file NUMBER-THREAD.json in the folder $CALL_COUNTS.

import { writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { join } from 'node:path';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

const folder = process.env['CALL_COUNTS'] ?? '';
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const channel = new BroadcastChannel('call counts');
channel.unref();
let number = 0;

function writeCounts(): void {
  session.post('Profiler.takePreciseCoverage', (error, samples: Profiler.TakePreciseCoverageReturnType) => {
    if (error) throw error;
    writeFileSync(join(folder, `${number}-${threadId}.json`), JSON.stringify(samples.result));
    number += 1;
  });
}

channel.onmessage = writeCounts;
if (isMainThread) {
  process.on('SIGUSR2', () => {
    channel.postMessage('take');
    writeCounts();
  });
}
