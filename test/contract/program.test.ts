// The program as an administrator uses it: command line, exit statuses, signals (docs/configuration.md,
// "Command line").

import assert from 'node:assert/strict';
import { type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { EventConsumer } from '../consumer/consumer.js';
import { temporaryFolder } from '../temporary-folder.js';
import { freePort } from '../tools/free-port.js';
import { fullSocket, WITH_BLOCKING_OUTPUT } from '../tools/full-socket.js';
import { send } from '../tools/http.js';
import { skipReason } from '../tools/requirements.js';
import { spawned } from '../tools/spawned.js';
import { DEADLINE_MS, Hopeless, until } from '../until.js';
import { Daemon, ENTRY, NO_BACKENDS, SABOTEUR } from './daemon.js';

const home = temporaryFolder({ after });

const ENV = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_RUNTIME_DIR: home };
const NODE = [process.execPath, ENTRY] as const;

function writeHomeFile(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, text);
  return path;
}

function runProgram(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [ENTRY, ...args], { env: ENV, encoding: 'utf8', timeout: DEADLINE_MS });
}

interface StartOptions {
  /** The command that runs the daemon; by default Node with the daemon's `main.js`. */
  readonly command?: readonly string[];
  readonly config?: string;
  /** The daemon's standard output. */
  readonly output?: 'ignore' | number | Socket;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts a daemon and opens a stream. The daemon is killed at the end of the test. */
async function startDaemon(t: TestContext, how: StartOptions = {}) {
  const { command = NODE, config = NO_BACKENDS, output = 'ignore', env = {} } = how;
  const port = await freePort();
  const path = writeHomeFile(`${port}.yaml`, `api: {port: ${port}}\n${config}`);
  const [program = '', ...args] = [...command, '--allow-root', '--config', path];
  const stdio: StdioOptions = ['ignore', output, 'ignore'];
  const daemon = spawn(program, args, { stdio, env: { ...ENV, ...env } });
  t.after(() => daemon.kill('SIGKILL'));
  const exit = once(daemon, 'exit');
  const url = `http://127.0.0.1:${port}/events`;
  const stream = await until('the daemon answers', () => EventConsumer.open(url));
  /** Sends the signals. Resolves with the daemon's status and signal when the daemon has ended. */
  const endBy = async (...signals: readonly NodeJS.Signals[]): Promise<unknown> => {
    for (const signal of signals) daemon.kill(signal);
    await stream.until(({ ended }) => ended, 'the end');
    return exit;
  };
  return { daemon, url, stream, endBy };
}

/** Two values are out of their range, and the key `logLevl` does not exist. */
const badConfig = writeHomeFile('bad.yaml', 'api:\n  port: 99999\n  sse: {maxClients: 0}\nlogLevl: info\n');
const COMMAND_LINES: readonly (readonly [what: string, args: string[], status: number, output: RegExp])[] = [
  ['--help', ['--help'], 0, /Usage: tonearm/],
  ['--version', ['--version'], 0, /^\d+\.\d+\.\d+\n$/],
  ['an unknown option, even without --allow-root,', ['--frobnicate'], 64, /--frobnicate/],
  [
    'two configuration files, even without --allow-root,',
    ['--config', badConfig, '--config', badConfig],
    64,
    /--config is given twice/,
  ],
  ['--config without a value', ['--config'], 64, /--config/],
  ['--check-config and the defaults', ['--check-config'], 0, /^bind:/m],
  [
    '--check-config and a configuration that has problems',
    ['--check-config', '--config', badConfig],
    78,
    /bad\.yaml:2:9: api\.port: /,
  ],
  [
    'a configuration that has problems',
    ['--allow-root', '--config', badConfig],
    78,
    /bad\.yaml:2:9: api\.port: /,
  ],
  ['a missing configuration file', ['--allow-root', '--config', join(home, 'none.yaml')], 78, /none\.yaml/],
];
for (const [what, args, status, output] of COMMAND_LINES) {
  test(`tonearm with ${what} ends with status ${status}`, () => {
    const result = runProgram(...args);
    assert.equal(result.status, status, result.stderr);
    assert.match(status === 0 ? result.stdout : result.stderr, output);
  });
}

test('an invalid configuration ends the start, although the thread of audio never finishes loading its code', () => {
  const dist = join(home, 'dist');
  cpSync(dirname(ENTRY), dist, { recursive: true });
  writeFileSync(join(dist, 'actors/audio/backend.js'), 'for (;;);');
  const args = [join(dist, 'main.js'), '--allow-root', '--config', badConfig];
  assert.equal(spawnSync(process.execPath, args, { timeout: DEADLINE_MS }).status, 78);
});

/** The key `logLevl` does not exist. For an unknown key there is only a warning. */
const oddConfig = writeHomeFile('odd.yaml', 'logLevl: info\n');
const FULL_DISK = openSync('/dev/full', 'w');
after(() => closeSync(FULL_DISK));

const DISK_FULL_LINE = /^tonearm: cannot write: the disk is full\n$/;

/** `lost` is the output that goes to the full disk, `printed` the text on the other one. */
for (const [what, args, lost, status, printed] of [
  ['tonearm progress never fails', ['progress', 'begin', '--total', '1'], 'stderr', 0, /^$/],
  ['the help of tonearm progress never fails, either', ['progress', '--help'], 'stdout', 0, DISK_FULL_LINE],
  ['an answer that is lost is an error', ['--version'], 'stdout', 74, DISK_FULL_LINE],
  ['a usage error stays a usage error', ['--frobnicate'], 'stderr', 64, /^$/],
  ['a lost warning is an error', ['--check-config', '--config', oddConfig], 'stderr', 74, /^bind:/],
] as const) {
  test(`on a full disk ${what}: exit ${status}`, () => {
    const stdout = lost === 'stdout' ? FULL_DISK : 'pipe';
    const stderr = lost === 'stderr' ? FULL_DISK : 'pipe';
    const stdio: StdioOptions = ['ignore', stdout, stderr];
    const options = { env: ENV, encoding: 'utf8', timeout: DEADLINE_MS, stdio } as const;
    const ended = spawnSync(process.execPath, [ENTRY, ...args], options);
    assert.equal(ended.status, status);
    assert.match(`${ended.stdout ?? ''}${ended.stderr ?? ''}`, printed);
  });
}

test('a pipe whose reader has closed it is no error', async () => {
  const child = spawn(process.execPath, [ENTRY, '--help'], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.destroy();
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('a start as root is refused in one line: exit 77', { skip: skipReason({ root: true }) }, () => {
  const result = runProgram();
  assert.equal(result.status, 77);
  assert.equal(result.stderr.split('\n').length, 2, 'the refusal is one line');
});

test('a daemon waits while no address of bind exists, and logs which entries are missing', async (context) => {
  const config = writeHomeFile('absent.yaml', `bind: [nowhere7, 192.0.2.1]\n${NO_BACKENDS}`);
  const { child, ended, out: log } = spawned(context, ENV, [...NODE, '--allow-root', '--config', config]);
  const missingEntries = /waiting for nowhere7 of bind[\s\S]*waiting for 192\.0\.2\.1 of bind/;
  await until(
    'the log names the missing entries',
    () => missingEntries.test(log()) || child.exitCode !== null,
  );
  assert.equal(child.exitCode, null, log());
  // A daemon that waits obeys SIGTERM, too.
  child.kill();
  assert.equal(await ended, 0, log());
  assert.match(log(), /shutting down/);
});

/**
 * Makes a copy of the daemon. The copy sends the signal to itself, runs `code`, and only then runs the rest
 * of its bundle. Returns the copy's main.js.
 */
function entryWithEarlySignal(signal: NodeJS.Signals, code = ''): string {
  const dist = join(home, `dist-${signal}${code.length}`);
  cpSync(dirname(ENTRY), dist, { recursive: true });
  const bundle = join(dist, 'main.bundle.js');
  // The bundle is one function, so its first brace begins the body.
  const text = readFileSync(bundle, 'utf8').replace('{', `{process.kill(process.pid,'${signal}');${code}`);
  writeFileSync(bundle, text);
  return join(dist, 'main.js');
}

/** This code leaves the bundle's function at once, so the process goes on without its bundle. */
const HANG = 'return setInterval(()=>{},1e6);';
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  for (const [what, code] of [
    ['runs only afterwards', ''],
    ['never runs', HANG],
  ] as const) {
    test(`an early ${signal} ends a daemon whose bundle ${what}: exit 0`, async (t) => {
      const config = writeHomeFile('early.yaml', `api: {port: ${await freePort()}}\n${NO_BACKENDS}`);
      const entry = entryWithEarlySignal(signal, code);
      const command = [process.execPath, entry, '--allow-root', '--config', config];
      const { child, ended, err } = spawned(t, ENV, command);
      assert.deepEqual([await ended, child.signalCode], [0, null], err());
    });
  }
}

test('a SIGHUP that comes before the bundle has run lets the daemon read its configuration again', async (t) => {
  const config = writeHomeFile('early.yaml', `api: {port: ${await freePort()}}\n${NO_BACKENDS}`);
  const command = [process.execPath, entryWithEarlySignal('SIGHUP'), '--allow-root', '--config', config];
  const { child, ended, out, err } = spawned(t, ENV, command);
  await until('the configuration is read again', () => out().includes('the configuration was read again'));
  child.kill();
  assert.deepEqual([await ended, child.signalCode], [0, null], err());
});

test('a port in use ends the start with status 69 and one line that names the port and its program', async () => {
  for (const occupant of [await Daemon.start({ config: NO_BACKENDS }), await startListener()]) {
    const config = writeHomeFile(
      `taken-${occupant.port}.yaml`,
      `api: {port: ${occupant.port}}\n${NO_BACKENDS}`,
    );
    const result = runProgram('--allow-root', '--config', config);
    await occupant.stop();
    assert.equal(result.status, 69);
    const taken = `port ${occupant.port}: the port is taken by \\S+ \\(process ${occupant.pid}\\); api.port sets another`;
    assert.match(result.stderr, new RegExp(`^tonearm: cannot listen on 127\\.0\\.0\\.1 ${taken}\\n$`));
    // The log is empty, because no address is opened, not even a free `::1`.
    assert.equal(result.stdout, '');
  }
});

test('a port below 1024 that is not allowed ends the start, also if no address of bind exists yet', () => {
  const config = writeHomeFile('low-port.yaml', `bind: nowhere7\napi: {port: 80}\n${NO_BACKENDS}`);
  const command = [process.execPath, ENTRY, '--allow-root', '--config', config];
  // Root may use the port unless it lacks this capability.
  const withoutCapability = ['setpriv', '--bounding-set', '-net_bind_service', ...command];
  const [program = '', ...args] = process.getuid?.() === 0 ? withoutCapability : command;
  const { status, stderr } = spawnSync(program, args, { env: ENV, encoding: 'utf8', timeout: DEADLINE_MS });
  assert.equal(status, 69, stderr);
  assert.equal(stderr, 'tonearm: cannot listen on port 80: this user may not listen on a port this low\n');
});

test('a daemon serves one address of bind, and waits for the other one while another program has the port there', async (t) => {
  const taken = '127.0.0.3';
  const port = await freePort();
  const occupant = await startListener(taken, port);
  t.after(occupant.stop);
  const config = writeHomeFile(
    `half-${port}.yaml`,
    `bind: [127.0.0.1, ${taken}]\napi: {port: ${port}}\n${NO_BACKENDS}`,
  );
  const { child, out, err } = spawned(t, ENV, [...NODE, '--allow-root', '--config', config]);
  const { text } = await until('the daemon answers', () => {
    if (child.exitCode !== null) throw new Hopeless(err());
    return send(port, { path: '/health' });
  });
  const health: { readonly listening: unknown; readonly waiting: unknown } = JSON.parse(text);
  assert.deepEqual([health.listening, health.waiting], [['127.0.0.1'], [taken]]);
  await until('the log names the address', () => out().includes(`cannot listen yet on ${taken} port`));
});

async function startListener(address = '127.0.0.1', wishedPort = 0) {
  const server = createServer().listen(wishedPort, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, pid: process.pid, stop: () => once(server.close(), 'close') };
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`at ${signal} every stream gets bye, and the daemon ends with status 0`, async (t) => {
    const { url, stream, endBy } = await startDaemon(t);
    const streams = [stream, await EventConsumer.open(url)];
    for (const consumer of streams) await consumer.until(({ events }) => events.length > 0);
    assert.deepEqual(await endBy(signal), [0, null]);
    for (const consumer of streams)
      await consumer.until(() => consumer.dataOf('server.info').at(-1) === 'bye');
  });
}

test('api.hosts and api.cors.origins of the file decide which requests are accepted', async (t) => {
  const api = 'hosts: [music.example.org], cors: {origins: ["http://app.lan"]}';
  const daemon = await Daemon.start({ config: NO_BACKENDS, api }, t);
  assert.equal((await daemon.get('/server', { Host: 'music.example.org' })).status, 200);
  assert.equal((await daemon.get('/server', { Host: 'evil.example' })).status, 403);
  const fromApp = { Origin: 'http://app.lan', 'Access-Control-Request-Method': 'GET' };
  for (const method of ['GET', 'OPTIONS']) {
    const { headers } = await daemon.send(method, '/server', undefined, fromApp);
    assert.equal(headers['access-control-allow-origin'], 'http://app.lan', method);
  }
});

test('SIGUSR1 opens no inspector in the daemon', async (t) => {
  const daemon = await Daemon.start({ config: NO_BACKENDS }, t);
  daemon.signal('SIGUSR1');
  // Node would open the inspector within one turn of its loop. These answers need several turns.
  for (let round = 0; round < 10; round += 1) await daemon.read('/server');
  assert.doesNotMatch(daemon.log, /Debugger/);
});

test('the daemon sets a umask by which its files and sockets are for its user alone', async (t) => {
  const { pid } = await Daemon.start({ config: NO_BACKENDS }, t);
  assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^Umask:\s+0077$/m);
});

test('a daemon whose log cannot be written loses lines, and serves', async (t) => {
  const { endBy } = await startDaemon(t, { output: FULL_DISK });
  assert.deepEqual(await endBy('SIGTERM'), [0, null]);
});

const skip = skipReason({ programs: ['perl', 'mkfifo'] });

test('a daemon whose journald reads nothing loses lines of its log, and serves', { skip }, async (t) => {
  const { output, close } = await fullSocket();
  t.after(close);
  // `WITH_BLOCKING_OUTPUT` makes the output block, as journald's socket does.
  const { endBy } = await startDaemon(t, { command: [...WITH_BLOCKING_OUTPUT, ...NODE], output });
  assert.deepEqual(await endBy('SIGTERM'), [0, null]);
});

for (const signals of [['SIGTERM'], ['SIGTERM', 'SIGINT']] as const) {
  test(`a thread that is stuck in the kernel does not delay the end at ${signals.join(' and ')}`, {
    skip,
  }, async (t) => {
    const fifo = join(home, `fifo-${signals.length}`);
    assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
    const { daemon, endBy } = await startDaemon(t, {
      command: [process.execPath, ...SABOTEUR, ENTRY],
      config: 'systemd: {enabled: false}\n',
      env: { SABOTAGE: writeHomeFile(`order-${signals.length}`, 'stick audio'), SABOTAGE_FIFO: fifo },
    });
    // saboteur.ts carries out the order in the file $SABOTAGE at SIGUSR2. The signal is repeated, because the
    // thread of audio obeys only when it has loaded its actor.
    await until('the thread is stuck', () => daemon.kill('SIGUSR2') && existsSync(`${fifo}.reached`));
    // The daemon ends itself by SIGKILL, because process.exit() would wait for the stuck thread.
    assert.deepEqual(await endBy(...signals), [null, 'SIGKILL']);
  });
}
