// Run as a process of its own: a supervisor with good and bad children lives and stops; then the process must end by itself.

import { prepare } from './harness.js';

const { supervisor, witness, say } = prepare(
  { audio: 'obedient', systemd: 'ignores-stop', power: 'throws-at-load', upgrade: 'obedient' },
  { stopWithinMs: 2000 },
);
supervisor.start(witness);
await witness.untilState('audio', 'up');
await witness.untilState('systemd', 'up');
await witness.untilState('upgrade', 'up');
await witness.untilState('power', 'restarting', 3);
const hanging = say('audio', 'hang');
const report = await supervisor.stop();
await hanging;
process.stdout.write(`${JSON.stringify(report)}\n`);
