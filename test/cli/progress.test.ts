// `tonearm progress`: what it writes, and that it never fails.

import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { PROGRESS_HELP, parseProgress, runProgress, writeProgress } from '../../src/cli/progress.js';
import { success } from '../../src/protocol/actor/result.js';
import { temporaryFolder } from '../temporary-folder.js';

const DEFAULTS = { env: { XDG_RUNTIME_DIR: '/run/here' }, uid: 7 };
const SOCKET = '/run/here/tonearm/upgrade.sock';
const LONG_MS = 20_000;

function writes(args: string, line: string, socket = SOCKET): void {
  test(`${args} writes ${line}`, () =>
    assert.deepEqual(parseProgress(args.split(' '), DEFAULTS), { do: 'write', line, socket }));
}

function wrong(args: string, message: string): void {
  test(`${args || '(nothing)'}: ${message}`, () => {
    const expected = { do: 'wrong', message: `${message}; see tonearm progress --help` };
    assert.deepEqual(parseProgress(args === '' ? [] : args.split(' '), DEFAULTS), expected);
  });
}

writes('begin --total 3', '{"event":"begin","total":3}');
writes('begin --total=3', '{"event":"begin","total":3}');
writes('begin --total -3', '{"event":"begin","total":-3}');
const STEP = '{"event":"progress","percent":4,"current":1,"step":';
writes('step --percent 4 --current 1 --step a"b', `${STEP}"a\\"b"}`);
writes('step --step --odd --percent 4 --current 1', `${STEP}"--odd"}`);
writes('step --step= --percent 4 --current 1', `${STEP}""}`);
writes('end --success', '{"event":"end","success":true}');
writes('end --failure --socket /x/s', '{"event":"end","success":false}', '/x/s');

wrong('', 'begin, step or end is missing');
wrong('start', 'unknown command "start"');
wrong('toString', 'unknown command "toString"');
wrong('begin', '--total is missing');
wrong('begin --total', '--total needs a value');
wrong('begin --total many', '--total needs an integer');
wrong('begin --total 1.5', '--total needs an integer');
wrong('begin --total 99999999999999999999', '--total needs an integer');
wrong('begin --percent 1', 'unknown option "--percent"');
wrong('begin --toString 1', 'unknown option "--toString"');
wrong('begin -- 3', 'unknown option "--"');
wrong('begin 3', 'unknown option "3"');
wrong('step --percent 1 --current 1', '--step is missing');
wrong('end', 'give either --success or --failure');
wrong('end --success --failure', 'give either --success or --failure');
wrong('end --success=no', '--success takes no value');
wrong('end --success --socket=', '--socket needs a value');

/** Each row: what the process is, and whose socket it writes to. */
const RUN_BY: readonly (readonly [uid: number, env: Record<string, string>, socket: string])[] = [
  [0, { SUDO_UID: '1000' }, '/run/user/1000/tonearm/upgrade.sock'],
  [0, { SUDO_UID: '1000', XDG_RUNTIME_DIR: '/run/user/0' }, '/run/user/1000/tonearm/upgrade.sock'],
  [0, { SUDO_UID: '1000', XDG_RUNTIME_DIR: '/run/here' }, SOCKET],
  [0, { PKEXEC_UID: '1000' }, '/run/user/1000/tonearm/upgrade.sock'],
  [0, { SUDO_UID: '0' }, '/run/user/0/tonearm/upgrade.sock'],
  [0, { SUDO_UID: '../x' }, '/run/user/0/tonearm/upgrade.sock'],
  [0, {}, '/run/user/0/tonearm/upgrade.sock'],
  [7, { SUDO_UID: '1000' }, '/run/user/7/tonearm/upgrade.sock'],
];
for (const [uid, env, socket] of RUN_BY) {
  test(`user ${uid} with ${JSON.stringify(env)} writes to ${socket}`, () => {
    const request = parseProgress(['end', '--success'], { env, uid });
    assert.ok(request.do === 'write');
    assert.equal(request.socket, socket);
  });
}

test('tonearm progress --help shows its usage', async () => {
  assert.deepEqual(await runProgress(['begin', '--help'], DEFAULTS), { out: PROGRESS_HELP, err: '' });
});

async function server(t: TestContext, onConnect: (socket: Socket) => void): Promise<string> {
  const path = join(temporaryFolder(t), 's');
  const sockets = new Set<Socket>();
  const listening = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    onConnect(socket);
  });
  await new Promise<void>((resolve) => listening.listen(path, resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  });
  return path;
}

test('the progress command waits for a daemon that is being restarted', async (t) => {
  const gone = await server(t, () => undefined);
  const path = `${gone}.new`;
  // The first attempt is made at once.
  const writing = writeProgress('{}', path, LONG_MS);
  const back = createServer({ allowHalfOpen: true }, (socket) =>
    socket.resume().on('end', () => socket.end()),
  );
  back.listen(path);
  t.after(() => back.close());
  assert.deepEqual(await writing, success(undefined));
});

test('the progress command tries again after a daemon that ends before it has read the line', async (t) => {
  let calls = 0;
  let received = '';
  const path = await server(t, (socket) => {
    calls += 1;
    if (calls === 1) socket.destroy();
    else
      socket.setEncoding('utf8').on('data', (text: string) => {
        received += text;
      });
    socket.on('end', () => socket.end());
  });
  assert.deepEqual(await writeProgress('{}', path, LONG_MS), success(undefined));
  assert.deepEqual([calls, received], [2, '{}\n']);
});

test('where nobody listens the progress command prints one line and succeeds', async () => {
  const { out, err } = await runProgress(['end', '--success', '--socket', '/nowhere/s'], DEFAULTS);
  assert.equal(out, '');
  assert.match(err, /^tonearm: progress: \/nowhere\/s: [^\n]*ENOENT[^\n]*\n$/);
});

test('the progress command gives up a daemon that hangs', async (t) => {
  const path = await server(t, () => undefined);
  const written = await writeProgress('{}', path, 20);
  assert.match(written.ok ? '' : written.error, /tonearm did not read the line in time/);
});
