// Tests what `tonearm progress` writes, and that it succeeds even if the daemon does not answer.

import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { PROGRESS_HELP, parseProgress, runProgress, writeProgress } from '../../src/cli/progress.js';
import { success } from '../../src/protocol/actor/result.js';
import { temporaryFolder } from '../temporary-folder.js';

const CALLER = { env: { XDG_RUNTIME_DIR: '/run/here' }, uid: 7 };
const SOCKET = '/run/here/tonearm/upgrade.sock';
const LONG_RETRY_MS = 20_000;
const SHORT_RETRY_MS = 20;

function testWrites(args: string, line: string, socket = SOCKET): void {
  test(`tonearm progress ${args} writes ${line}`, () => {
    const request = parseProgress(args.split(' '), CALLER);
    assert.ok(request.do === 'write');
    assert.deepEqual([request.line, request.socket], [line, socket]);
  });
}

function testRefused(args: string, message: string): void {
  test(`tonearm progress ${args} is refused: ${message}`, () => {
    const expected = { do: 'wrong', message: `${message}; see tonearm progress --help` };
    assert.deepEqual(parseProgress(args === '' ? [] : args.split(' '), CALLER), expected);
  });
}

testWrites('begin --total 3', '{"event":"begin","total":3}');
testWrites('begin --total=3', '{"event":"begin","total":3}');
testWrites('begin --total -3', '{"event":"begin","total":-3}');
const STEP_LINE_START = '{"event":"progress","percent":4,"current":1,"step":';
testWrites('step --percent 4 --current 1 --step a"b', `${STEP_LINE_START}"a\\"b"}`);
testWrites('step --step --odd --percent 4 --current 1', `${STEP_LINE_START}"--odd"}`);
testWrites('step --step= --percent 4 --current 1', `${STEP_LINE_START}""}`);
testWrites('end --success', '{"event":"end","success":true}');
testWrites('end --failure --socket /x/s', '{"event":"end","success":false}', '/x/s');

testRefused('', 'begin, step or end is missing');
testRefused('start', 'unknown command "start"');
testRefused('toString', 'unknown command "toString"');
testRefused('begin', '--total is missing');
testRefused('begin --total', '--total needs a value');
testRefused('begin --total many', '--total needs an integer');
testRefused('begin --total 1.5', '--total needs an integer');
testRefused('begin --total 99999999999999999999', '--total needs an integer');
testRefused('begin --percent 1', 'unknown option "--percent"');
testRefused('begin --toString 1', 'unknown option "--toString"');
testRefused('begin -- 3', 'unknown option "--"');
testRefused('begin 3', 'unknown option "3"');
testRefused('step --percent 1 --current 1', '--step is missing');
testRefused('end', 'give either --success or --failure');
testRefused('end --success --failure', 'give either --success or --failure');
testRefused('end --success=no', '--success takes no value');
testRefused('end --success --socket=', '--socket needs a value');

/**
 * The user id and the environment of a process, and the socket to which this process writes. If a user has
 * become root for the command, the default runtime directory of root does not count
 * (src/cli/invoking-user.ts).
 */
const SOCKET_BY_CALLER: readonly (readonly [uid: number, env: Record<string, string>, socket: string])[] = [
  [0, { SUDO_UID: '1000' }, '/run/user/1000/tonearm/upgrade.sock'],
  [0, { SUDO_UID: '1000', XDG_RUNTIME_DIR: '/run/user/0' }, '/run/user/1000/tonearm/upgrade.sock'],
  [0, { SUDO_UID: '1000', XDG_RUNTIME_DIR: '/run/here' }, SOCKET],
  [0, { PKEXEC_UID: '1000' }, '/run/user/1000/tonearm/upgrade.sock'],
  [0, { SUDO_UID: '0' }, '/run/user/0/tonearm/upgrade.sock'],
  [0, { SUDO_UID: '../x' }, '/run/user/0/tonearm/upgrade.sock'],
  [0, {}, '/run/user/0/tonearm/upgrade.sock'],
  [7, { SUDO_UID: '1000' }, '/run/user/7/tonearm/upgrade.sock'],
];
for (const [uid, env, socket] of SOCKET_BY_CALLER) {
  test(`user ${uid} with ${JSON.stringify(env)} writes to ${socket}`, () => {
    const request = parseProgress(['end', '--success'], { env, uid });
    assert.ok(request.do === 'write');
    assert.equal(request.socket, socket);
  });
}

test('tonearm progress --help shows its usage', async () => {
  assert.deepEqual(await runProgress(['begin', '--help'], CALLER), { out: PROGRESS_HELP, err: '' });
});

async function startServer(t: TestContext, onConnect: (socket: Socket) => void): Promise<string> {
  const path = join(temporaryFolder(t), 's');
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    onConnect(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return path;
}

test('the progress command waits for a daemon that is being restarted', async (t) => {
  const path = join(temporaryFolder(t), 's');
  // The first attempt is made at once, while nobody listens yet.
  const writing = writeProgress('{}', path, LONG_RETRY_MS);
  const restartedServer = createServer({ allowHalfOpen: true }, (socket) =>
    socket.resume().on('end', () => socket.end()),
  );
  restartedServer.listen(path);
  t.after(() => restartedServer.close());
  assert.deepEqual(await writing, success(undefined));
});

test('the progress command tries again if the daemon ends without having read the line', async (t) => {
  let connections = 0;
  let received = '';
  const path = await startServer(t, (socket) => {
    connections += 1;
    if (connections === 1) {
      socket.destroy();
      return;
    }
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
    });
    socket.on('end', () => socket.end());
  });
  assert.deepEqual(await writeProgress('{}', path, LONG_RETRY_MS), success(undefined));
  assert.deepEqual([connections, received], [2, '{}\n']);
});

test('the progress command tries for 15 seconds to write an end line, because no line follows it, and for one second to write any other line', () => {
  const retryMsOf = (args: string): number | undefined => {
    const request = parseProgress(args.split(' '), CALLER);
    return request.do === 'write' ? request.retryMs : undefined;
  };
  assert.equal(retryMsOf('end --failure'), 15_000);
  assert.equal(retryMsOf('begin --total 3'), 1_000);
  assert.equal(retryMsOf('step --percent 4 --current 1 --step a'), 1_000);
});

test('the progress command prints one line and succeeds if nobody listens', async () => {
  const { out, err } = await runProgress(['begin', '--total', '1', '--socket', '/nowhere/s'], CALLER);
  assert.equal(out, '');
  assert.match(err, /^tonearm: progress: \/nowhere\/s: [^\n]*ENOENT[^\n]*\n$/);
});

test('the progress command stops waiting for a daemon that hangs', async (t) => {
  const path = await startServer(t, () => undefined);
  const written = await writeProgress('{}', path, SHORT_RETRY_MS);
  assert.match(written.ok ? '' : written.error, /tonearm did not read the line in time/);
});
