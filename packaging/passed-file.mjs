// Loaded before each test file by packaging/test.mjs: writes down which one has passed, which the runner's events do not tell.

import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined) {
  process.on('exit', (status) => {
    if (status === 0) appendFileSync(process.env.TONEARM_PASSED_FILES, `${process.argv[1]}\n`);
  });
}
