#!/usr/bin/env node
// This program reads the command line, loads the configuration, connects supervisor and gateway, and handles
// signals. Only this file ends the process. The exit statuses of `tonearm ctl` are in cli/ctl/statuses.ts.

import { hostname, networkInterfaces } from 'node:os';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { type CommandLine, parseArguments } from './cli/arguments.js';
import { HELP } from './cli/help.js';
import { lines, writeOut } from './cli/output.js';
import { AVAHI_SOCKET } from './gateway/avahi-names.js';
import { Gateway } from './gateway/gateway.js';
import { listenProblem } from './gateway/listen-error.js';
import { readNodeInfo } from './gateway/node-info.js';
import { readPageFiles } from './gateway/page.js';
import { whyNoServer } from './gateway/server.js';
import { systemClock } from './host/clock.js';
import { logWarnings } from './host/node-warnings.js';
import { reportReady } from './host/readiness.js';
import { homeDirectory } from './host/user-directories.js';
import { errorText, printable } from './printable.js';
import type { Log } from './protocol/actor/messages.js';
import type { Settings } from './protocol/actor/settings.js';
import { type LoadResult, loadSettings } from './supervisor/config/load.js';
import { createLogger } from './supervisor/log.js';
import { FIRST_CHILD, SHUTDOWN } from './supervisor/policy.js';
import { Reload } from './supervisor/reload.js';
import { Supervisor } from './supervisor/supervisor.js';
import { HEAP_LIMITS, Threads } from './supervisor/threads.js';
import { VERSION } from './version.js';

/**
 * The statuses of docs/configuration.md, "Exit statuses". Those from 64 to 78 are from sysexits(3), which
 * systemd and administrators know. Shells use 126 for a program that cannot be run.
 */
const EXIT = {
  ok: 0,
  usage: 64,
  cannotListen: 69,
  cannotWrite: 74,
  refusesRoot: 77,
  badConfig: 78,
  cannotRunHere: 126,
} as const;

const END_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** A trace also ends when its terminal is closed. SIGHUP reports this. */
const TRACE_END_SIGNALS = [...END_SIGNALS, 'SIGHUP'] as const;
const STANDARD_DESCRIPTORS = [0, 1, 2] as const;
/** With this umask, only the daemon's user can use the files and sockets that the daemon creates. */
const OWNER_ONLY_UMASK = 0o077;

/** The directory of this file. The files of actors and of the page are named relative to this directory. */
const ROOT = new URL('./', import.meta.url);

type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** Resolves with the exit status, or with undefined if the daemon runs. A signal ends the daemon later. */
async function main(request: CommandLine): Promise<ExitStatus | undefined> {
  switch (request.do) {
    case 'help':
      return printOut(HELP);
    case 'version':
      return printOut(`${VERSION}\n`);
    case 'wrong':
      return fail(EXIT.usage, [`tonearm: ${request.message}`]);
    case 'progress':
      return progress(request.args);
    case 'bench':
      return bench(request.args);
    case 'trace':
      return trace(request.args);
    case 'check-config':
      await becomeInvokingUser();
      return checkConfig(await loadConfiguration(request.configPath));
    case 'run': {
      const unsupported = failIfUnsupported();
      if (unsupported !== undefined) return unsupported;
      if (process.getuid?.() === 0 && !request.allowRoot)
        return fail(EXIT.refusesRoot, ['tonearm: refuses to run as root; --allow-root allows it']);
      return start(request.configPath);
    }
  }
}

/** Returns the exit status if the HTTP server has no binary for this Node, processor or C library. */
function failIfUnsupported(): ExitStatus | undefined {
  const reason = whyNoServer();
  if (reason === undefined) return undefined;
  return fail(EXIT.cannotRunHere, [`tonearm: cannot run here: ${reason}. tonearm-client runs everywhere.`]);
}

/**
 * The status is 0 even after a failure, because the upgrade script that runs this command must continue. So
 * `writeOut` gets 0 as the status after a failed write. The import may fail while an upgrade replaces the
 * files of this program.
 */
async function progress(args: readonly string[]): Promise<ExitStatus> {
  try {
    const { runProgress } = await import('./cli/progress.js');
    const { out, err } = await runProgress(args, { env: process.env, uid: process.getuid?.() ?? 0 });
    writeOut(process.stderr, err, EXIT.ok);
    writeOut(process.stdout, out, EXIT.ok);
  } catch (error) {
    writeOut(process.stderr, `tonearm: ${errorText(error)}\n`, EXIT.ok);
  }
  return EXIT.ok;
}

/**
 * Measures a daemon that the bench starts itself, with the default configuration (`/dev/null` is empty).
 * Signals are not handled, because everything that the bench creates ends with the process.
 */
async function bench(args: readonly string[]): Promise<ExitStatus> {
  const { parseBench, runBench } = await import('./cli/bench/bench.js');
  const request = parseBench(args);
  if (request.do === 'help') return printOut(request.text);
  if (request.do === 'wrong') return fail(EXIT.usage, [`tonearm: bench: ${request.message}`]);
  const unsupported = failIfUnsupported();
  if (unsupported !== undefined) return unsupported;
  await becomeInvokingUser();
  const loaded = await loadConfiguration('/dev/null');
  if (!loaded.ok) return fail(EXIT.badConfig, loaded.error.problems);
  const threads = threadsWithPreload();
  // The notice is printed before the bench adds its sink input to the sound server.
  writeOut(process.stderr, request.notice, EXIT.cannotWrite);
  const report = await runBench(request, {
    settings: loaded.value.settings,
    root: ROOT,
    assemble: (settings) => assemble(settings, threads, () => undefined),
  });
  await threads.endAll();
  return printOut(report);
}

/**
 * Traces until the traced command ends or, without a command, until a signal comes. The trace ends earlier if
 * nothing more can be written.
 */
async function trace(args: readonly string[]): Promise<ExitStatus> {
  const { parseTrace, runTrace } = await import('./cli/trace/trace.js');
  const request = parseTrace(args);
  if (request.do === 'help') return printOut(request.text);
  if (request.do === 'wrong') return fail(EXIT.usage, [`tonearm: trace: ${request.message}`]);
  await becomeInvokingUser();
  const printError = (text: string): void => writeOut(process.stderr, text, EXIT.cannotWrite);
  const onSignal = (callback: (signal: NodeJS.Signals) => void): void => {
    for (const signal of TRACE_END_SIGNALS) process.on(signal, callback);
  };
  const { end, message } = await runTrace(request, onSignal, printError);
  if (message !== undefined) printError(`tonearm: trace: ${printable(message)}\n`);
  // `end` is the command's status, or a name in `EXIT`. `process.exit` does not wait for unread output.
  return process.exit(typeof end === 'number' ? end : EXIT[end]);
}

/** If a user has become root by sudo, run0 or pkexec, the command acts for this user, not for root. */
async function becomeInvokingUser(): Promise<void> {
  const { actAsInvokingUser } = await import('./cli/invoking-user.js');
  actAsInvokingUser();
}

function loadConfiguration(configPath: string | undefined): Promise<LoadResult> {
  const uid = process.getuid?.() ?? 0;
  return loadSettings({ configPath, env: process.env, home: homeDirectory(), hostname: hostname(), uid });
}

async function checkConfig(loaded: LoadResult): Promise<ExitStatus> {
  if (!loaded.ok) return fail(EXIT.badConfig, [...loaded.error.warnings, ...loaded.error.problems]);
  const { settings, values, warnings } = loaded.value;
  if (warnings.length > 0) writeOut(process.stderr, lines(warnings), EXIT.cannotWrite);
  const { effectiveYaml } = await import('./supervisor/config/yaml.js');
  const { servedSentences, thisMachine } = await import('./cli/served.js');
  const comments = servedSentences(settings, thisMachine()).map((sentence) => `# ${sentence}`);
  return printOut(`${effectiveYaml(values)}\n${lines(comments)}`);
}

function threadsWithPreload(): Threads {
  const threads = new Threads(HEAP_LIMITS, systemClock);
  threads.preload(fileURLToPath(new URL(FIRST_CHILD.actorFile, ROOT)));
  return threads;
}

async function start(configPath: string | undefined): Promise<ExitStatus | undefined> {
  // The thread that opens `upgrade.progressSocket` cannot set the umask, and a chmod would come too late.
  process.umask(OWNER_ONLY_UMASK);
  const threads = threadsWithPreload();
  const status = await runDaemon(threads, () => loadConfiguration(configPath));
  // If the daemon has not started, nothing uses the preloaded thread. It would keep the process alive.
  if (status !== undefined) await threads.endAll();
  return status;
}

async function runDaemon(threads: Threads, load: () => Promise<LoadResult>): Promise<ExitStatus | undefined> {
  const loaded = await load();
  if (!loaded.ok) return fail(EXIT.badConfig, [...loaded.error.warnings, ...loaded.error.problems]);
  const { settings, values, warnings } = loaded.value;
  const { log, setLevel } = createLogger(settings.logLevel);
  logWarnings(log);
  for (const warning of warnings) log('warn', warning);
  const { supervisor, gateway } = assemble(settings, threads, log);
  const { bind, api } = settings;
  // The addresses are checked before the actors start and the gateway listens. A daemon that can listen
  // nowhere must have no side effects, and must not log that it listens.
  const problem = await listenProblem(bind, api.port, networkInterfaces());
  if (problem !== undefined) {
    await gateway.close(0);
    return fail(EXIT.cannotListen, [`tonearm: ${problem}`]);
  }
  gateway.listen(bind, api.port);
  supervisor.start(gateway.listener);
  const reportReadiness = (): void =>
    void reportReady(gateway, process.env['RUNTIME_DIRECTORY'], process.pid, (reason) =>
      log('warn', 'cannot report that the service is ready', { reason }),
    );
  reportReadiness();
  const parts = { load, log, setLogLevel: setLevel, supervisor, gateway, onDone: reportReadiness };
  const reload = new Reload(parts, values);
  const end = endOnSignal(gateway, supervisor, threads, log);
  reloadOnSignal(reload, end);
  return undefined;
}

function assemble(settings: Settings, threads: Threads, log: Log) {
  const supervisor = new Supervisor({ settings, root: ROOT, log, threads });
  const gateway = new Gateway({
    settings,
    node: readNodeInfo(),
    backends: supervisor,
    interfaces: networkInterfaces,
    avahiSocket: AVAHI_SOCKET,
    version: VERSION,
    readPage: () => readPageFiles(fileURLToPath(new URL('page/', ROOT))),
    log,
    clock: systemClock,
  });
  return { supervisor, gateway };
}

type SignalHandler = (signal: NodeJS.Signals) => void;

/** The first signal begins the shutdown, a second one ends it early. Returns the handler of both. */
function endOnSignal(gateway: Gateway, supervisor: Supervisor, threads: Threads, log: Log): SignalHandler {
  // process.exit() would wait for a stuck thread and ignore signals. Only SIGKILL ends the process in time.
  const leave = () => (threads.hasStuck ? process.kill(process.pid, 'SIGKILL') : process.exit(EXIT.ok));
  let isEnding = false;
  const end = (signal: NodeJS.Signals): void => {
    if (isEnding) {
      // The threads are ended first, because this shows whether one of them is stuck.
      threads.endAll().then(leave);
      return;
    }
    isEnding = true;
    log('info', 'shutting down', { signal });
    setTimeout(leave, SHUTDOWN.wholeMs).unref();
    const childrenDeadline = systemClock.monotonic() + SHUTDOWN.childrenMs;
    // Pending answers need the actors, so the gateway closes first. The children have the rest of the time.
    gateway
      .close(SHUTDOWN.gatewayMs)
      .then(() => supervisor.stop(childrenDeadline - systemClock.monotonic()))
      .catch((error: unknown) => log('error', 'the shutdown failed', { reason: errorText(error) }))
      .then(leave);
  };
  for (const signal of END_SIGNALS) process.on(signal, end);
  return end;
}

/** SIGHUP reloads the configuration, but ends the process if its terminal was closed. */
function reloadOnSignal(reload: Reload, end: SignalHandler): void {
  const hasTerminal = (): boolean => STANDARD_DESCRIPTORS.some((file) => isatty(file));
  const hadTerminal = hasTerminal();
  process.on('SIGHUP', (signal) => {
    if (hadTerminal && !hasTerminal()) end(signal);
    else reload.request();
  });
}

function printOut(text: string): ExitStatus {
  writeOut(process.stdout, text, EXIT.cannotWrite);
  return EXIT.ok;
}

function fail(status: ExitStatus, messages: readonly string[]): ExitStatus {
  writeOut(process.stderr, lines(messages), status);
  return status;
}

// Without a handler Node would start its inspector, by which any local user could run code as this user.
process.on('SIGUSR1', () => undefined);

// The bundle is CommonJS, so there is no top-level await. `??=` keeps a status that `writeOut` has set.
main(parseArguments(process.argv.slice(2))).then((status) => {
  if (status !== undefined) process.exitCode ??= status;
});
