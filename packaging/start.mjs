// `npm start -- ARGUMENTS`: builds what is stale, and runs the daemon in the foreground. Where no sound
// server can be reached, it gives the daemon a private one (sandbox.sh). The installed daemon is dist/main.js
// alone and does none of this.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { networkInterfaces, constants as os, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atWork } from './at-work.mjs';
import { FOR, installCommand, installDebian } from './debian.mjs';
import { NO_INSPECTOR } from './no-inspector.mjs';
import { reachableSoundServer } from './sound-address.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MAIN = join(ROOT, 'dist/main.js');
/** A slow board needs some seconds, and several times as long while it is busy. */
const CHECK_DEADLINE_MS = 60_000;
const POLL_MS = 50;
const SETTLED_DEADLINE_MS = 5000;
/**
 * The terminal sends Ctrl-C to all processes, and npm passes it on as well, so two signals within this time
 * count as one.
 */
const SAME_SIGNAL_MS = 400;
/** The daemon stops within 5 s (docs/configuration.md, "Command line"), and is killed if it does not. */
const STOP_DEADLINE_MS = 8000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Arguments with which src/main.ts does not run as a daemon. */
const BRIEF = ['--help', '-h', '--version', '--check-config', 'ctl', 'progress', 'bench', 'trace'];

function buildIfStale() {
  // build.mjs gives this file the time at which it began to read the sources. `find` compares folders, too,
  // because a deleted file changes its folder.
  const stamp = join(ROOT, 'dist/package.json');
  // The build imports or reads many files of packaging/, so it is repeated after any change there.
  const sources = ['src', 'tsconfig.json', 'package.json', 'package-lock.json', 'packaging'];
  const find = ['find', [...sources, '-newer', stamp, '-print', '-quit'], { cwd: ROOT, encoding: 'utf8' }];
  if (existsSync(MAIN) && existsSync(stamp) && spawnSync(...find).stdout === '') return;
  const args = [join(ROOT, 'packaging/build.mjs'), '--dist-only'];
  const build = atWork('start', 'building', 'this takes a minute or more on a slow machine', () =>
    spawnSync(process.execPath, args, { encoding: 'utf8' }),
  );
  if (build.status === 0) return;
  console.error(`start: the build failed\n${build.stdout}${build.stderr}`);
  process.exit(1);
}

/**
 * The settings that the daemon would use; undefined when its configuration is faulty, which the daemon itself
 * reports.
 */
async function effectiveSettings(args) {
  const check = spawnSync(process.execPath, [MAIN, ...args, '--check-config'], {
    encoding: 'utf8',
    timeout: CHECK_DEADLINE_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (check.status !== 0) return undefined;
  const { parse } = await import('yaml');
  return parse(check.stdout);
}

/** The address by which this machine reaches a daemon with this `bind`. */
function placeOf({ bind, api }) {
  const first = [bind].flat()[0] ?? 'lo';
  const address = networkInterfaces()[first]?.[0]?.address ?? first;
  const isLocal = ['lo', 'all', '127.0.0.1', '0.0.0.0', '::', '::1'].includes(address);
  const host = isLocal ? 'localhost' : address.includes(':') ? `[${address}]` : address;
  return `http://${host}:${api.port}`;
}

/** The text for people: the address of the page, and three commands, or `remarks` in their place. */
function toTry(place, { api: { ui } }, remarks) {
  const page = ui?.enabled === false ? `the daemon: ${place}` : `the page: ${place}/ui`;
  if (remarks !== undefined) return [`start: ${page}`, ...remarks].join('\n');
  const volume = `-X POST -H 'Content-Type: application/json' -d '{"volume":0.4}' ${place}/audio/server/volume`;
  const commands = [`${place}/audio/outputs`, volume, `-N --max-time 10 ${place}/events`];
  return [`start: ${page}`, ...commands.map((command) => `    curl ${command}`)].join('\n');
}

/** True when the daemon finds a configuration (docs/configuration.md, "Where files are looked for"). */
function isConfigured(args) {
  const folder = process.env.XDG_CONFIG_HOME || join(process.env.HOME || '/', '.config');
  const files = [join(folder, 'tonearm/config.yaml'), '/etc/tonearm/config.yaml'];
  return args.some((argument) => argument.startsWith('--config')) || files.some((file) => existsSync(file));
}

function hasSessionBus() {
  const runtime = process.env.XDG_RUNTIME_DIR || `/run/user/${process.getuid()}`;
  return Boolean(process.env.DBUS_SESSION_BUS_ADDRESS) || existsSync(join(runtime, 'bus'));
}

/** Resolves once the sandbox answers. It ends when this process ends, also when this process is killed. */
async function openSandbox(withBus) {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-start-'));
  // The sandbox has its own session: Ctrl-C on the terminal ends the daemon first, and the sandbox after it.
  const args = [join(ROOT, 'packaging/sandbox.sh'), directory, ...(withBus ? ['bus'] : [])];
  const shell = spawn('sh', args, { detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  shell.stderr.on('data', (part) => {
    errors += part;
  });
  const closed = once(shell, 'close');
  const isReady = await Promise.race([once(shell.stdout, 'data').then(() => true), closed.then(() => false)]);
  if (!isReady) throw new Error(errors.trim());
  const close = () => {
    shell.stdin.end();
    return closed;
  };
  return { directory, close };
}

/**
 * Additional environment and arguments for the daemon where no sound server can be reached. `remarks` are
 * lines for people, where a private one cannot be started either.
 */
async function soundServer(args, settings) {
  const none = { env: {}, more: [], close: () => undefined };
  if (settings?.pulseaudio?.enabled === false) return none;
  const { path, elsewhere } = await reachableSoundServer();
  if (path !== undefined) return none;
  if (elsewhere !== undefined) console.log(`start: ${elsewhere}`);
  const missing = installDebian(FOR.start);
  if (missing.length > 0) {
    const needed = 'start: no sound server can be reached, and a private one needs these packages:';
    const command = `    ${installCommand(missing)}`;
    return {
      ...none,
      remarks: [needed, command, 'start: stop this with Ctrl-C, install them, and then run npm start again'],
    };
  }
  const configured = isConfigured(args);
  const withPlayers = !configured || settings?.players?.enabled === true;
  const withBus = withPlayers && !hasSessionBus() && existsSync('/usr/bin/dbus-daemon');
  try {
    const { directory, close } = await openSandbox(withBus);
    const config = join(directory, 'config.yaml');
    writeFileSync(config, 'players: {enabled: true}\n');
    console.log(
      'start: no sound server can be reached, so a private one with two outputs and a stream was started',
    );
    const bus = withBus ? { DBUS_SESSION_BUS_ADDRESS: `unix:path=${directory}/bus` } : {};
    const env = { PULSE_SERVER: `unix:${directory}/pulse/native`, ...bus };
    return { env, more: configured ? [] : ['--config', config], close };
  } catch (error) {
    const failed = `start: no sound server can be reached, and a private one could not be started: ${error.message}`;
    return { ...none, remarks: [failed, 'start: once a sound server runs, tonearm finds it by itself'] };
  }
}

/** Passes signals on to the daemon until it ends; resolves with its exit status. */
async function untilEnded(daemon) {
  let signalledMs = 0;
  let deadline;
  for (const signal of SIGNALS)
    process.on(signal, () => {
      const nowMs = Date.now();
      if (signalledMs === 0) {
        daemon.kill(signal === 'SIGINT' ? signal : 'SIGTERM');
        deadline = setTimeout(() => daemon.kill('SIGKILL'), STOP_DEADLINE_MS);
      } else if (signal === 'SIGINT' && nowMs - signalledMs > SAME_SIGNAL_MS) {
        daemon.kill('SIGKILL');
      }
      signalledMs ||= nowMs;
    });
  const [code, signal] = await once(daemon, 'exit');
  clearTimeout(deadline);
  if (signal !== null) console.error(`start: the daemon was ended by ${signal}`);
  return signal === null ? code : 128 + os.signals[signal];
}

/**
 * True when the daemon answers and no backend is still starting or connecting: the hints then stay below its
 * first log lines.
 */
const isSettled = async (place) => {
  try {
    const signal = AbortSignal.timeout(SETTLED_DEADLINE_MS);
    const { backends } = await (await fetch(`${place}/health`, { signal })).json();
    return Object.values(backends).every(({ state }) => !['starting', 'connecting'].includes(state));
  } catch {
    return false;
  }
};

/** Prints what to try once the daemon runs, if it does. */
async function printHints(daemon, settings, remarks) {
  const place = placeOf(settings);
  const isAlive = () => daemon.exitCode === null && daemon.signalCode === null;
  const untilMs = Date.now() + SETTLED_DEADLINE_MS;
  while (isAlive() && Date.now() < untilMs && !(await isSettled(place))) await delay(POLL_MS);
  if (isAlive()) console.log(toTry(place, settings, remarks));
}

function run(args, env) {
  // The daemon has its own process group. Otherwise it gets one Ctrl-C from the terminal and another from
  // this process, and ends at once because of the second.
  const node = [process.execPath, NO_INSPECTOR, MAIN, ...args];
  return spawn('setpriv', ['--pdeathsig', 'TERM', '--', ...node], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
}

async function start(ownArgs) {
  // Node opens its inspector on SIGUSR1 where the signal has no handler, also in this process.
  process.on('SIGUSR1', () => undefined);
  buildIfStale();
  if (ownArgs.some((argument) => BRIEF.includes(argument))) return untilEnded(run(ownArgs, {}));
  const asRoot = process.getuid() === 0 && !ownArgs.includes('--allow-root');
  if (asRoot)
    console.log(
      'start: running as root, so --allow-root is added; an installed daemon runs as an ordinary user',
    );
  const args = asRoot ? [...ownArgs, '--allow-root'] : ownArgs;
  // Until the daemon runs, a signal ends the start and the sandbox.
  const quit = (_signal, number) => process.exit(128 + number);
  for (const signal of SIGNALS) process.on(signal, quit);
  const settings = await effectiveSettings(args);
  const { env, more, close, remarks } = await soundServer(args, settings);
  for (const signal of SIGNALS) process.off(signal, quit);
  const daemon = run([...args, ...more], env);
  const ended = untilEnded(daemon);
  if (settings !== undefined) printHints(daemon, settings, remarks);
  const status = await ended;
  await close();
  return status;
}

process.exitCode = await start(process.argv.slice(2));
