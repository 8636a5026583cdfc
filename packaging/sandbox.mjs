// A private sound server with two outputs and a playing stream, and a private session bus with a player where one is at hand, for
// trying tonearm where there is no sound server.
// Only `npm start` uses it; the installed daemon never does.

import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
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

/** What the player plays, so that the meters have something to show; nobody hears it. */
const SHOWS = ['Evening show', 'Night show'];
const RATE = 8000;
const SHOW_SECONDS = 180;
const BYTES_PER_SAMPLE = 2;
const RAW = ['--demuxer=rawaudio', `--demuxer-rawaudio-rate=${RATE}`, '--demuxer-rawaudio-channels=1'];

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

/** Resolves when the bus has made its socket; without it the player would run, and be seen by nobody. */
async function made(path) {
  const until = Date.now() + READY_DEADLINE_MS;
  while (!existsSync(path)) {
    if (Date.now() > until) throw new Error('dbus-daemon: it did not listen in time');
    await delay(POLL_MS);
  }
}

/** The samples of a tone that swells once a second. */
function swellingTone() {
  const second = Buffer.alloc(RATE * BYTES_PER_SAMPLE);
  for (let at = 0; at < RATE; at += 1) {
    const swell = 0.3 - 0.2 * Math.cos((2 * Math.PI * at) / RATE);
    second.writeInt16LE(
      Math.round(0x7fff * swell * Math.sin((2 * Math.PI * 440 * at) / RATE)),
      at * BYTES_PER_SAMPLE,
    );
  }
  return Buffer.alloc(SHOW_SECONDS * second.length, second);
}

/** mpv, when it and its part for MPRIS are there. Answers whether they are. */
function startPlayer(directory, start) {
  if (!existsSync('/usr/bin/mpv') || !existsSync('/etc/mpv/scripts/mpris.so')) return false;
  const shows = join(directory, 'shows');
  mkdirSync(shows);
  const files = SHOWS.map((name) => join(shows, name));
  const samples = swellingTone();
  for (const file of files) writeFileSync(file, samples);
  const flags = ['--no-config', '--script=/etc/mpv/scripts/mpris.so', '--no-video', '--no-terminal'];
  start('mpv', [...flags, '--ao=pulse', '--idle', '--loop-playlist', ...RAW, ...files], 'ignore');
  return true;
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
 * @param {{ bus: boolean }} wanted `bus`: a session bus too, with mpv on it where that is installed
 * @returns {Promise<{ env: Record<string, string>, player: boolean, config: string, close: () => void }>} `env` is what the daemon
 *   needs; `config` a configuration with players for a daemon that has none; `close` ends all and leaves nothing behind. Rejects,
 *   leaving nothing behind either, when the server does not come up.
 */
export async function openSandbox({ bus }) {
  sweep();
  const directory = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  const log = join(directory, 'log');
  const output = openSync(log, 'a', 0o600);
  const silence = openSync('/dev/zero', 'r');
  const server = `unix:${directory}/pulse/native`;
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('PULSE_')),
  );
  const address = `unix:path=${directory}/bus`;
  const env = {
    ...inherited,
    XDG_RUNTIME_DIR: directory,
    HOME: directory,
    PULSE_SERVER: server,
    DBUS_SESSION_BUS_ADDRESS: address,
  };
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
      // The daemon has no cookie of it. By the user alone it would be refused now and then (test/sound/servers.ts).
      'module-native-protocol-unix auth-anonymous=1',
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
    const config = join(directory, 'config.yaml');
    writeFileSync(config, 'players: {enabled: true}\n');
    if (!bus) return { env: { PULSE_SERVER: server }, player: false, config, close };
    const flags = ['--session', '--nofork', '--nopidfile', `--address=${address}`];
    start('dbus-daemon', flags, 'ignore');
    await made(join(directory, 'bus'));
    const player = startPlayer(directory, start);
    return { env: { PULSE_SERVER: server, DBUS_SESSION_BUS_ADDRESS: address }, player, config, close };
  } catch (error) {
    close();
    throw error;
  } finally {
    closeSync(output);
    closeSync(silence);
  }
}
