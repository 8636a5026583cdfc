// Tests the processes that measurements fork.

import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { test } from 'node:test';
import { spawned } from '../tools/spawned.js';
import { until } from '../until.js';

const FORK_MODULE = new URL('../../bench/support/fork.js', import.meta.url).href;
const LISTENING_PROGRAM = new URL('../../bench/support/http-constant.js', import.meta.url).href;
/**
 * A program in the place of a measurement. It forks a process, which listens at a port. Then it prints the
 * pid and the port of the forked process. It does not end by itself.
 */
const MEASUREMENT = `import(process.argv[1]).then(async ({ Forked }) => {
  const answer = JSON.stringify({ headers: [], body: '' });
  const { forked, firstValue: port } = await Forked.start(new URL(process.argv[2]), answer);
  console.log('forked', forked.pid, port);
})`;

const isListenedAt = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('connect', () => socket.destroy()).on('error', () => resolve(false));
  });

test('a forked process ends when its measurement has been killed', async (t) => {
  const measurement = spawned(t, process.env, [
    process.execPath,
    '-e',
    MEASUREMENT,
    FORK_MODULE,
    LISTENING_PROGRAM,
  ]);
  const [pid, port] = await until('the process is forked', () => {
    const [, pidText, portText] = /forked (\d+) (\d+)\n/.exec(measurement.out()) ?? [];
    return portText !== undefined && ([Number(pidText), Number(portText)] as const);
  });
  t.after(() => existsSync(`/proc/${pid}`) && process.kill(pid, 'SIGKILL'));

  measurement.child.kill('SIGKILL');
  await until('nothing listens any more', async () => !(await isListenedAt(port)));
});
