// A private sound server with two outputs and a playing stream, for trying tonearm where there is no sound server.
// Only `npm start` uses it; the installed daemon never does.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ending, spawnBound } from './bound-child.mjs';

const READY_DEADLINE_MS = 10_000;
const POLL_MS = 25;
const KEPT_OUTPUT_BYTES = 8192;
/** The owner's process id is part of the name, so that what a killed owner left can be told from what is in use. */
const PREFIX = 'tonearm-start-';

const OUTPUTS = { living: 'Living room', kitchen: 'Kitchen' };

function outputModule([name, description]) {
  return `module-null-sink sink_name=${name} sink_properties='device.description="${description}"'`;
}

/** Removes the directories of owners that were killed before they could. */
function sweep() {
  for (const name of readdirSync(tmpdir())) {
    const owner = name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-')[0] : '';
    if (owner !== '' && !existsSync(`/proc/${owner}`)) {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    }
  }
}

/** The last bytes of the server's log: said only when it fails, since a PulseAudio run by root always warns. */
function tail(path) {
  const file = openSync(path, 'r');
  const bytes = Buffer.alloc(KEPT_OUTPUT_BYTES);
  const length = readSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
  return bytes.toString('utf8', 0, length).trim();
}

async function ready(env, server) {
  const until = Date.now() + READY_DEADLINE_MS;
  let ended;
  ending(server).then((end) => {
    ended = end;
  });
  while (Date.now() < until && ended === undefined) {
    const probe = await ending(spawn('pactl', ['info'], { env, stdio: 'ignore' }));
    if (probe.status === 0) return undefined;
    await delay(POLL_MS);
  }
  return ended === undefined ? 'it did not answer in time' : `it ended with ${ended.reason}`;
}

/**
 * Starts the server and a stream of silence.
 * @returns {Promise<{ server: string, close: () => void }>} `server` is the value for PULSE_SERVER; `close` ends all and
 *   leaves nothing behind. Rejects, leaving nothing behind either, when the server does not come up.
 */
export async function openSandbox() {
  sweep();
  const directory = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  const log = join(directory, 'log');
  const output = openSync(log, 'a', 0o600);
  const silence = openSync('/dev/zero', 'r');
  const server = `unix:${directory}/pulse/native`;
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('PULSE_')),
  );
  const env = { ...inherited, XDG_RUNTIME_DIR: directory, HOME: directory, PULSE_SERVER: server };
  const children = [];
  const start = (command, args, stdin) => {
    // A group of its own: Ctrl-C on the terminal is for the daemon, the sandbox ends after it.
    const child = spawnBound(command, args, { env, detached: true, stdio: [stdin, output, output] });
    children.push(child);
    return child;
  };
  const close = () => {
    process.off('exit', close);
    for (const child of children.reverse()) child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  };
  process.on('exit', close);

  try {
    const modules = [
      'module-native-protocol-unix',
      ...Object.entries(OUTPUTS).map(outputModule),
      'module-always-sink',
    ];
    const pulseaudio = start(
      'pulseaudio',
      [
        ...[
          '-n',
          '--fail',
          '--daemonize=no',
          '--exit-idle-time=-1',
          '--use-pid-file=no',
          '--log-target=stderr',
        ],
        ...modules.flatMap((module) => ['-L', module]),
      ],
      'ignore',
    );
    const trouble = await ready(env, pulseaudio);
    if (trouble !== undefined) throw new Error(`pulseaudio: ${trouble}\n${tail(log)}`);
    const stream = ['--raw', '--format=s16le', '--rate=8000', '--channels=2', '--latency-msec=500'];
    start('pacat', [...stream, '--client-name=Radio', '--stream-name=Morning show', '-d', 'living'], silence);
    return { server, close };
  } catch (error) {
    close();
    throw error;
  } finally {
    closeSync(output);
    closeSync(silence);
  }
}
