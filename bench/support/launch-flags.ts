// Decides how measurements start Node: plainly, and as the Debian package starts it.

import type { Environment } from '../../test/sound/program.js';

export interface Launch {
  readonly what: string;
  readonly flags: readonly string[];
  readonly env: Environment;
}

export const LAUNCHES: readonly [Launch, Launch] = [
  { what: 'plain', flags: [], env: {} },
  {
    what: 'as packaged',
    // Three settings of the package are left out: the unit's MemoryMax=, which makes the heap smaller,
    // UV_USE_IO_URING of its start script, and TONEARM_CODE_CACHE, which start.ts adds.
    flags: ['--inspect-port=192.0.2.1:9229'],
    env: { MALLOC_ARENA_MAX: '1' },
  },
];
