// Run as a process of its own: all its file descriptors are taken, a child dies, and the supervisor must live through it.

import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { RESTARTS } from '../../src/supervisor/lifecycle.js';
import { prepare } from './harness.js';

const DESCRIPTORS = 256;

/** Takes every descriptor that is left. */
function takeAll(): number[] {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EMFILE')) throw error;
  }
  return taken;
}

const { status, stderr } = spawnSync('prlimit', ['--pid', String(process.pid), `--nofile=${DESCRIPTORS}:`]);
if (status !== 0) throw new Error(`prlimit: ${stderr.toString()}`);
const { supervisor, witness, say } = prepare(
  { audio: 'obedient', power: 'obedient' },
  { restarts: RESTARTS },
);
supervisor.start(witness);
await witness.untilState('audio', 'up');
await witness.untilState('power', 'up');
const taken = takeAll();
const dying = say('audio', 'throw');
// The first death is the command's; the second is that of a thread that could not load anything.
await witness.untilState('audio', 'restarting', 2);
const { detail } = witness.now('audio') ?? {};
const neighbour = await say('power', 'who');
for (const descriptor of taken) closeSync(descriptor);
await dying;
await witness.untilState('audio', 'up');
await supervisor.stop();
process.stdout.write(`${JSON.stringify({ detail, neighbour: neighbour.ok })}\n`);
