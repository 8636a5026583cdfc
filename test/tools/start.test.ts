// `npm start` gives the daemon a private sound server where there is none. At the end neither is left
// behind. npm's scripts go through packaging/run, which starts nothing after npm was killed.

import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readMachineId } from '../../src/actors/audio/server-address.js';
import { MPRIS_OF_MPV } from '../players/mpv.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { freePort } from './free-port.js';
import { skipReason } from './requirements.js';
import { SpawnedText } from './spawned.js';

const START = fileURLToPath(new URL('../../../packaging/start.mjs', import.meta.url));
/** The program through which npm's scripts run. */
const RUN = fileURLToPath(new URL('../../../packaging/run', import.meta.url));
const skip = skipReason({ programs: ['pulseaudio', 'pactl', 'pacat', 'curl'] });
const PLAYER_PROGRAMS = ['dbus-daemon', 'mpv', 'unshare', 'nsenter', 'ip'];

/**
 * Arguments of a shell that stands in for npm. It runs `sh` with the arguments that follow these, and stays
 * until `sh` has ended. The last command is `exit`, because otherwise the shell might turn into `sh`.
 */
const NPM = ['-c', '"$@"; exit', 'npm', 'sh'];

/** Only the audio backend is on. */
const BARE = 'systemd: { enabled: false }\n';

/** `npm start` prints this many commands to try, after the address of the page. */
const COMMAND_COUNT = 3;
/** Matches lines of the daemon's log, which follow the last lines of start.mjs on a slow machine. */
const LOG_LINES = String.raw`(?:\{.*\}\n)*`;
/** curl ended because of `--max-time` (curl(1)). */
const CURL_TIMED_OUT = 28;

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
  /** Everything printed so far. */
  readonly printed: SpawnedText;
  /** Resolves with the exit status and the signal. */
  readonly ended: Promise<readonly unknown[]>;
  /** Names of the files in its directory for temporary files. */
  temporaryFiles(): readonly string[];
}

interface Surroundings {
  /** A program and its arguments. It runs the rest of the command line. */
  readonly parent?: readonly string[];
  /** The command before start.mjs. */
  readonly entry?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The configuration, to which `start` adds the port; null if there is no file. */
  readonly config?: string | null;
}

/** Runs start.mjs in an empty home and runtime directory. */
async function start(
  t: TestContext,
  args: readonly string[] = [],
  { parent = [], entry = [process.execPath], env = {}, config = BARE }: Surroundings = {},
): Promise<Started> {
  const home = mkdtempSync(join(tmpdir(), 'tonearm-home-'));
  const temporary = join(home, 'tmp');
  mkdirSync(temporary);
  const port = await freePort();
  const file = join(home, 'config.yaml');
  const configured = config === null ? [] : ['--config', file];
  if (config !== null) writeFileSync(file, `api: { port: ${port} }\n${config}`);
  const [program = '', ...programArguments] = [...parent, ...entry, START, ...configured, ...args];
  const child = spawn(program, programArguments, {
    env: { PATH: process.env['PATH'], HOME: home, XDG_RUNTIME_DIR: home, TMPDIR: temporary, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = new SpawnedText(child.stdout, child.stderr);
  const ended = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true });
  });
  return { child, port, printed, ended, temporaryFiles: () => readdirSync(temporary) };
}

/** Checks that `npm start` ends on SIGTERM, and leaves nothing behind. */
async function endsOnSignal(started: Started): Promise<void> {
  started.child.kill('SIGTERM');
  assert.deepEqual(await started.ended, [0, null]);
  assert.deepEqual(started.temporaryFiles(), []);
}

/** Names of the records of a list; undefined while the daemon answers otherwise. */
async function namesAt(port: number, path: string): Promise<readonly string[] | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  if (answer.status !== 200) return undefined;
  const records: readonly { readonly name: string }[] = JSON.parse(await answer.text());
  return records.map(({ name }) => name);
}

describe('npm start without a sound server', { skip, concurrency: 2 }, () => {
  test('npm start gives the daemon a private sound server until SIGTERM, and prints commands that work', async (t) => {
    const started = await start(t, [], { entry: ['sh', RUN] });
    // packaging/sandbox.sh makes these outputs, and the stream `Morning show`.
    const outputs = await until('the outputs are shown', () => namesAt(started.port, '/audio/outputs'));
    assert.deepEqual(outputs, ['living', 'kitchen']);
    await until('the stream is shown', async () => {
      const clients = await namesAt(started.port, '/audio/clients');
      return clients?.join() === 'Morning show';
    });
    const place = `http://localhost:${started.port}`;
    const hints = await until('the hints are printed', () => {
      const lines = started.printed.text.split('\n');
      const addressIndex = lines.indexOf(`start: the page: ${place}/ui`);
      const first = addressIndex + 1;
      const end = first + COMMAND_COUNT;
      // The last command has been printed whole once another line begins behind it.
      if (addressIndex === -1 || lines.length <= end) return false;
      return { lines, commands: lines.slice(first, end) };
    });
    assert.equal(hints.lines.filter((line) => line.includes('no sound server can be reached')).length, 1);
    for (const command of hints.commands) {
      // The command that listens to events ends only because of its --max-time.
      const shortened = command.replace('--max-time 10 ', '--max-time 1 ');
      const { stdout } = await promisify(execFile)('sh', ['-ec', shortened]).catch(
        (error: { code: number; stdout: string }) =>
          error.code === CURL_TIMED_OUT ? error : Promise.reject(error),
      );
      // A POST has an empty answer. The stream of events begins with `connected`.
      const expected = command.includes('POST') ? /^$/ : /living|connected/;
      assert.match(stdout, expected);
    }
    await endsOnSignal(started);
  });

  test('npm start without a configuration also gives the daemon a player, mpv on a private bus', {
    skip: skipReason({ programs: PLAYER_PROGRAMS, packages: MPRIS_OF_MPV, root: true }),
  }, async (t) => {
    // The daemon has the default port, so it runs in a network of its own, and the request is sent there.
    const parent = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'net'];
    const started = await start(t, [], { parent, config: null });
    const inNetwork = ['-t', String(started.child.pid), '--net'];
    const request = ['curl', '-s', 'http://localhost:8018/players'];
    await until('mpv is shown', async () => {
      const { stdout } = await promisify(execFile)('nsenter', [...inNetwork, ...request]);
      return stdout.includes('"bus_name":"org.mpris.MediaPlayer2.mpv"');
    });
    await endsOnSignal(started);
  });

  test('npm start ends the daemon and its sound server also when npm is killed', async (t) => {
    // `NPM` ends with `sh`, so the entry is only RUN.
    const started = await start(t, [], { parent: ['sh', ...NPM], entry: [RUN] });
    await until('the outputs are shown', () => namesAt(started.port, '/audio/outputs'));
    started.child.kill('SIGKILL');
    // packaging/sandbox.sh removes its folder when its processes have ended.
    await until('all processes have ended', () => started.temporaryFiles().length === 0);
    await assert.rejects(fetch(`http://127.0.0.1:${started.port}/server`));
  });

  test('npm start continues without a sound server when a private one cannot be started', async (t) => {
    const programs = temporaryFolder(t);
    writeFileSync(join(programs, 'pulseaudio'), '#!/bin/sh\necho it is broken; exit 1\n', { mode: 0o755 });
    const started = await start(t, [], { env: { PATH: `${programs}:${process.env['PATH']}` } });
    const server = `http://127.0.0.1:${started.port}/server`;
    await until('the daemon answers', async () => (await fetch(server)).ok);
    const reason = 'private one could not be started: it is broken';
    const lastLines = new RegExp(
      `\nstart: the page: .*\nstart: .*${reason}\nstart: once a .*\n${LOG_LINES}$`,
    );
    await until('the last lines name the reason', () => lastLines.test(started.printed.text));
    await endsOnSignal(started);
  });

  test('npm start prints the command that installs a sound server, where it cannot install one itself', {
    skip: skipReason({ root: true }),
  }, async (t) => {
    // start.mjs gets a /usr/bin without pulseaudio and apt-get. Other processes keep theirs.
    const hidden = `mount -t tmpfs tmpfs /mnt; mkdir /mnt/upper /mnt/work
      mount -t overlay overlay -o lowerdir=/usr/bin,upperdir=/mnt/upper,workdir=/mnt/work /usr/bin
      rm /usr/bin/pulseaudio /usr/bin/apt-get; exec "$@"`;
    const parent = ['unshare', '--mount', '--propagation=private', 'sh', '-euc', hidden, 'hidden'];
    const started = await start(t, [], { parent });
    const install = 'apt-get install --no-install-recommends pulseaudio';
    const lastLines = new RegExp(
      `needs these packages:\n    ${install}\nstart: .* and then run npm start again\n${LOG_LINES}$`,
    );
    await until('the last lines name the command', () => lastLines.test(started.printed.text));
    // The commands to try begin with `curl`, and are not printed.
    assert.doesNotMatch(started.printed.text, /curl/);
    await endsOnSignal(started);
  });

  test("npm start passes the daemon's exit status on, and leaves nothing behind", async (t) => {
    const started = await start(t, ['--no-such-argument'], { entry: ['sh', RUN] });
    assert.deepEqual(await started.ended, [64, null], started.printed.text);
    assert.deepEqual(started.temporaryFiles(), []);
  });

  const withoutDaemon: readonly (readonly [what: string, args: readonly string[]])[] = [
    ['to print the version', ['--version']],
    ['for a command of tonearm ctl', ['ctl', 'completion', 'bash']],
  ];
  for (const [what, args] of withoutDaemon) {
    test(`npm start starts no sound server ${what}, and adds no argument`, async (t) => {
      const started = await start(t, args, { config: null });
      assert.deepEqual(await started.ended, [0, null], started.printed.text);
      assert.doesNotMatch(started.printed.text, /sound server|--allow-root is added/);
    });
  }
});

describe('npm start looks for a sound server where the daemon does', () => {
  const MODULE = new URL('../../../packaging/sound-address.mjs', import.meta.url).href;
  const ASK = `import(process.argv[1]).then(async (m) => console.log(JSON.stringify(await m.reachableSoundServer())))`;
  /** The sound server that npm start finds with this home and environment. */
  async function findServer(home: string, env: Readonly<Record<string, string>>): Promise<unknown> {
    const options = { env: { PATH: process.env['PATH'], HOME: home, XDG_RUNTIME_DIR: home, ...env } };
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', ASK, MODULE], options);
    return JSON.parse(stdout);
  }

  const machine = readMachineId() ?? '';
  /** `%h` stands for the home directory, and `%m` for the machine's id. */
  const rows: readonly (readonly [where: string, socket: string, env: Readonly<Record<string, string>>])[] = [
    ['in PULSE_SERVER', 'named', { PULSE_SERVER: '{%m}unix:%h/named' }],
    ['in PULSE_RUNTIME_PATH', 'own/native', { PULSE_RUNTIME_PATH: '%h/own' }],
    ['in the runtime directory', 'pulse/native', {}],
    ['behind the link that libpulse makes', '.config/pulse/%m-runtime/native', {}],
    ['at the address in client.conf', 'elsewhere', { PULSE_CLIENTCONFIG: '%h/client.conf' }],
  ];
  for (const [where, socket, env] of rows) {
    test(`npm start finds the sound server ${where}`, async (t) => {
      const home = temporaryFolder(t);
      const filled = (text: string) => text.replace('%h', home).replace('%m', machine);
      const path = join(home, filled(socket));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(join(home, 'client.conf'), `default-server = ${join(home, 'elsewhere')}\n`);
      const server = createServer().listen(path);
      t.after(() => server.close());
      const values = Object.entries(env).map(([name, value]) => [name, filled(value)] as const);
      assert.deepEqual(await findServer(home, Object.fromEntries(values)), { path });
    });
  }

  test('npm start names an address that is no Unix socket', async (t) => {
    const elsewhere = 'PULSE_SERVER is tcp:hifi: tonearm speaks to a Unix socket only';
    assert.deepEqual(await findServer(temporaryFolder(t), { PULSE_SERVER: 'tcp:hifi' }), { elsewhere });
  });
});

test('work that takes long reports again and again that it goes on', async (t) => {
  const module = new URL('../../../packaging/at-work.mjs', import.meta.url).href;
  // The work is `cat`, which ends when its input ends. A report is due every 50 ms.
  const WORK = `import(process.argv[1]).then(({ atWork }) => {
    const work = () => require('node:child_process').spawnSync('cat', { stdio: ['inherit', 'ignore', 'inherit'] });
    console.log(atWork('setup', 'fetching it', 'this takes a while', work, 50).status);
  })`;
  const child = spawn(process.execPath, ['-e', WORK, module], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => child.kill());
  const printed = new SpawnedText(child.stdout, child.stderr);
  const twoReports = /^setup: fetching it; this takes a while\n(setup: still fetching it, for \d+ s\n){2}/;
  await until('two reports are printed', () => twoReports.test(printed.text));
  child.stdin.end();
  assert.deepEqual(await once(child, 'close'), [0, null]);
  // The last line is the status of `cat`.
  assert.match(printed.text, /^0$/m);
});

test('packaging/run starts no script if npm was killed while the checkout was made ready', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'script.mjs');
  writeFileSync(file, "console.log('started')");
  // This script stands in for the Node that runs ready.mjs. It reports that it has begun, and waits until
  // its input ends. Then it prints the path of Node, as ready.mjs does.
  const node = `#!/bin/sh\necho begun >&2; cat > /dev/null; echo ${process.execPath}\n`;
  writeFileSync(join(folder, 'node'), node, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
  const npm = spawn('sh', [...NPM, RUN, file], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const printed = new SpawnedText(npm.stdout);
  const closed = once(npm.stdout, 'close');
  await once(npm.stderr, 'data');
  npm.kill('SIGKILL');
  await once(npm, 'exit');
  npm.stdin.end();
  // Every process must have closed the pipe, so that nothing more can be printed.
  await closed;
  assert.equal(printed.text, '');
});
