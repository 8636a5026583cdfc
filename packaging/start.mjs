// `npm start -- ARGUMENTS`: sets up, builds what is stale, and runs the daemon in the foreground. Where no sound server
// can be reached, it gives the daemon a private one. The installed daemon is dist/main.js alone and does none of this.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ending, spawnBound } from './bound-child.mjs';
import { NO_INSPECTOR } from './no-inspector.mjs';
import { openSandbox } from './sandbox.mjs';
import { ensure } from './setup.mjs';
import { reachableSoundServer } from './sound-address.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MAIN = join(ROOT, 'dist/main.js');
const CHECK_DEADLINE_MS = 10_000;
/** npm passes on the Ctrl-C that the terminal has sent to everybody: two signals within this time are one wish. */
const SAME_SIGNAL_MS = 400;
/** The daemon stops within 5 s (contract, section 1); one that does not is ended. */
const STOP_DEADLINE_MS = 8000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const PARENT_POLL_MS = 500;
/** As this begins: npm may be killed while something is still being installed or built. */
const PARENT = process.ppid;
/** Arguments with which main.js says something and exits, or is a client of another daemon, a measurement, or a tool. */
const BRIEF = ['--help', '-h', '--version', '--check-config', 'progress', 'bench', 'trace'];

/** Newest change below a path, in milliseconds since the epoch. Folders count: a deleted file changes its folder. */
function newest(path) {
  const stat = statSync(path);
  const own = stat.mtimeMs;
  if (!stat.isDirectory()) return own;
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), own);
}

function buildIfStale() {
  // Written by build.mjs with the time at which it began to read the sources.
  const stamp = join(ROOT, 'dist/package.json');
  const sources = ['src', 'package.json', 'package-lock.json', 'packaging/build.mjs'];
  const built = existsSync(MAIN) && existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
  if (sources.every((source) => newest(join(ROOT, source)) <= built)) return;
  console.log('start: building');
  const build = spawnSync(process.execPath, [join(ROOT, 'packaging/build.mjs'), '--dist-only'], {
    encoding: 'utf8',
  });
  if (build.status === 0) return;
  console.error(`start: the build failed\n${build.stdout}${build.stderr}`);
  process.exit(1);
}

/** What the daemon says it would do; undefined when its configuration is faulty, which it will say itself. */
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

/** A host under which this machine reaches what listens on `bind`. */
function hostFor(bind) {
  const first = [bind].flat()[0] ?? 'lo';
  const address = networkInterfaces()[first]?.[0]?.address ?? first;
  if (['lo', 'all', '127.0.0.1', '0.0.0.0', '::', '::1'].includes(address)) return 'localhost';
  return address.includes(':') ? `[${address}]` : address;
}

/** Whether the daemon finds a configuration (contract, section 1). */
function isConfigured(args) {
  const folder = process.env.XDG_CONFIG_HOME || join(process.env.HOME || '/', '.config');
  const files = [join(folder, 'tonearm/config.yaml'), '/etc/tonearm/config.yaml'];
  return args.some((argument) => argument.startsWith('--config')) || files.some((file) => existsSync(file));
}

function hasSessionBus() {
  const runtime = process.env.XDG_RUNTIME_DIR || `/run/user/${process.getuid()}`;
  return Boolean(process.env.DBUS_SESSION_BUS_ADDRESS) || existsSync(join(runtime, 'bus'));
}

function playersLine(base, player) {
  const try_ = player ? `; try: curl -s ${base}/players ; curl -X POST ${base}/players/mpv/next` : '';
  const who = player ? 'mpv playing silence' : 'no player, as mpv and mpv-mpris are not installed';
  return `start: there is no session bus either, so here is a private one with ${who}${try_}`;
}

function sandboxLine(server, base) {
  const volume = `curl -X POST -H 'Content-Type: application/json' -d '{"volume":0.4}' ${base}/audio/outputs/living/volume`;
  return (
    'start: no sound server can be reached, so here is a private one with the outputs living and kitchen and a playing stream; ' +
    `try: curl -s ${base}/audio ; ${volume} ; curl -N ${base}/events ; pactl -s ${server} set-sink-mute kitchen toggle`
  );
}

/** What the daemon is given of a private sound server, when one was started, and how to end it. */
async function soundServer(args) {
  const none = { env: {}, args, close: () => undefined };
  if ((await reachableSoundServer()) !== undefined) return none;
  const settings = await effectiveSettings(args);
  if (settings?.pulseaudio?.enabled === false) return none;
  if (!existsSync('/usr/bin/pulseaudio')) {
    console.log('start: no sound server can be reached, and there is no pulseaudio to start one');
    return none;
  }
  try {
    const configured = isConfigured(args);
    const withPlayers = !configured || settings?.players?.enabled === true;
    const bus = withPlayers && !hasSessionBus() && existsSync('/usr/bin/dbus-daemon');
    const { env, player, config, close } = await openSandbox({ bus });
    const base = `${hostFor(settings?.bind)}:${settings?.api?.port ?? 8018}`;
    console.log(sandboxLine(env.PULSE_SERVER, base));
    if (bus) console.log(playersLine(base, player));
    return { env, args: configured ? args : [...args, '--config', config], close };
  } catch (error) {
    console.log(
      `start: no sound server can be reached, and a private one could not be started: ${error.message}`,
    );
    return none;
  }
}

/** Calls back once npm has ended without a word: a killed npm passes no signal on. */
function onceNpmHasGone(callback) {
  if (process.env.npm_lifecycle_event !== 'start') return;
  const watch = setInterval(() => {
    if (process.ppid === PARENT) return;
    clearInterval(watch);
    callback();
  }, PARENT_POLL_MS);
  watch.unref();
}

/** Runs the daemon until it ends, passing signals on; resolves with its exit status. */
async function run(args, env) {
  // A group of its own, else the terminal and this process would both tell it of one Ctrl-C, and the second ends it at once.
  const daemon = spawnBound(process.execPath, [NO_INSPECTOR, MAIN, ...args], {
    deathSignal: 'TERM',
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  let asked = 0;
  let deadline;
  const end = (signal) => {
    const now = Date.now();
    if (asked === 0) {
      daemon.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal);
      deadline = setTimeout(() => daemon.kill('SIGKILL'), STOP_DEADLINE_MS);
    } else if (now - asked > SAME_SIGNAL_MS) {
      daemon.kill('SIGKILL');
    }
    asked ||= now;
  };
  for (const signal of SIGNALS) process.on(signal, end);
  // Once only: a terminal that is closed has told npm and this process of it already.
  onceNpmHasGone(() => asked === 0 && end('SIGTERM'));
  const { status, reason } = await ending(daemon);
  clearTimeout(deadline);
  if (status === 127) console.error(`start: the daemon could not be started: ${reason}`);
  if (status > 128) console.error(`start: the daemon was ended by ${reason}`);
  return status;
}

async function start(args) {
  // Else Node opens its inspector, also in this process.
  process.on('SIGUSR1', () => undefined);
  const brief = args.some((argument) => BRIEF.includes(argument));
  await ensure(brief ? 'brief' : 'start');
  buildIfStale();
  if (brief) return run(args, {});
  const asRoot = process.getuid() === 0 && !args.includes('--allow-root');
  if (asRoot)
    console.log('start: running as root, so --allow-root is added; an installed daemon runs as a user');
  const allArgs = asRoot ? [...args, '--allow-root'] : args;
  // Until the daemon runs, a signal ends the start; the sandbox is taken down by its exit handler.
  const quit = (_signal, number) => process.exit(128 + number);
  for (const signal of SIGNALS) process.on(signal, quit);
  const { env, args: withConfig, close } = await soundServer(allArgs);
  for (const signal of SIGNALS) process.off(signal, quit);
  try {
    return await run(withConfig, env);
  } finally {
    close();
  }
}

process.exitCode = await start(process.argv.slice(2));
