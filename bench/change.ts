// What one change of one stream costs with few listeners, which is the commonest case: CPU of the daemon for each volume change by
// another program, against a bare program of two threads that does only what such a change cannot be told without. Each has
// a sound server of its own, and they take turns, so that whatever else the machine does hurts both.
//   node build/bench/change.js [--json] [PARTS OF ROWS' NAMES, such as 'packaged: 20 streams, 100']

import { connect, type Socket } from 'node:net';
import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { Daemon } from '../test/contract/daemon.js';
import { Mixer } from '../test/contract/stream-mixer.js';
import type { SoundServer } from '../test/sound/server.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { cpuMs, median, rounded } from './support/figures.js';
import { Forked } from './support/fork.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';

type Row = Readonly<Record<string, string | number>>;

interface Load {
  readonly what: string;
  readonly streams: number;
  readonly everyMs: number;
}

const LOADS: readonly Load[] = [
  { what: '20 streams, 100 changes/s', streams: 20, everyMs: 10 },
  { what: '1 stream, 100 changes/s', streams: 1, everyMs: 10 },
  { what: '20 streams, 50 ms between changes', streams: 20, everyMs: 50 },
];
/** A level differs from the one before, or nothing would be told. */
const LEVELS = 97;
const ROUNDS = 7;
const TURN_MS = 1500;
/** Until what a change runs is compiled. */
const WARM_UP_CHANGES = 1000;
const WARM_UP_EVERY_MS = 2;
const HEARD_DEADLINE_MS = 10_000;
const BARE = new URL('./support/bare-change.js', import.meta.url);

/** What a player on the desktop says of itself. */
const PROPS = {
  'media.role': 'music',
  'application.id': 'org.example.Player',
  'application.version': '1.2.3',
  'application.icon_name': 'audio-x-generic',
  'application.language': 'en_GB.UTF-8',
  'application.process.id': '12345',
  'application.process.user': 'pi',
  'application.process.host': 'kitchen',
  'application.process.binary': 'player',
  'application.process.machine_id': '7cf3a6a3e1ce4f0f8f1b0c5d2f4e6a7b',
  'application.process.session_id': '2',
  'window.x11.display': ':0',
};

/** One of the two that are compared, listened to by one. */
interface Side {
  readonly pid: number;
  /** Makes changes one after another, each when the one before was heard. Milliseconds of the program's CPU for each. */
  change(count: number, everyMs: number): Promise<number>;
  end(): Promise<void>;
}

interface Program {
  readonly pid: number;
  readonly port: number;
  end(): Promise<unknown>;
}

async function startDaemon(sound: SoundServer, { flags, env }: Launch): Promise<Program> {
  const daemon = await Daemon.start({
    env: { ...sound.env, ...env },
    config: 'systemd: {enabled: false}\n',
    nodeArguments: flags,
  });
  await daemon.backend('audio', 'up');
  return { pid: daemon.pid, port: daemon.port, end: () => daemon.stop() };
}

async function startBare(sound: SoundServer, launch: Launch): Promise<Program> {
  const { forked, said } = await Forked.launch(launch, BARE, sound.socketPath);
  return { pid: forked.pid, port: said, end: () => forked.end() };
}

/** Calls `onBytes` with each piece of the program's event stream. */
function listen(port: number, onBytes: () => void): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return socket.on('data', onBytes);
}

async function sideOf(streams: number, start: (sound: SoundServer) => Promise<Program>): Promise<Side> {
  const sound = await startPulseAudio();
  const players = await sound.streams('player');
  const ids = (await players.open(Array.from({ length: streams }, () => ({ props: PROPS })))).map(
    ({ id }) => id,
  );
  const program = await start(sound);
  const mixer = await Mixer.connect(sound.socketPath);
  let heard = 0;
  let onHeard = (): void => undefined;
  const listener = listen(program.port, () => {
    heard += 1;
    onHeard();
  });
  await until('the stream has begun', () => Promise.resolve(heard > 0));
  let made = 0;
  const changeOne = async (): Promise<void> => {
    made += 1;
    const told = new Promise<void>((resolve, reject) => {
      const deadline = setTimeout(() => reject(new Error('a change was not heard')), HEARD_DEADLINE_MS);
      onHeard = () => {
        clearTimeout(deadline);
        resolve();
      };
    });
    await mixer.setStreamVolume(ids[made % streams] ?? 0, (made % LEVELS) / LEVELS);
    await told;
  };
  return {
    pid: program.pid,
    change: async (count, everyMs) => {
      const before = cpuMs(program.pid);
      const begun = performance.now();
      for (let change = 1; change <= count; change += 1) {
        await changeOne();
        await pause(Math.max(0, begun + change * everyMs - performance.now()));
      }
      return (cpuMs(program.pid) - before) / count;
    },
    end: async () => {
      listener.destroy();
      mixer.close();
      await program.end();
      await sound.stop();
    },
  };
}

async function measure({ what, streams, everyMs }: Load, launch: Launch): Promise<Row> {
  const daemon = await sideOf(streams, (sound) => startDaemon(sound, launch));
  const bare = await sideOf(streams, (sound) => startBare(sound, launch));
  for (const side of [daemon, bare]) await side.change(WARM_UP_CHANGES, WARM_UP_EVERY_MS);
  const taken = { daemon: [] as number[], bare: [] as number[], ratios: [] as number[] };
  const changes = Math.round(TURN_MS / everyMs);
  for (let round = 0; round < ROUNDS; round += 1) {
    const ours = await daemon.change(changes, everyMs);
    const theirs = await bare.change(changes, everyMs);
    taken.daemon.push(ours);
    taken.bare.push(theirs);
    taken.ratios.push(ours / theirs);
  }
  await daemon.end();
  await bare.end();
  return {
    what,
    node: launch.what,
    'tonearm, ms of CPU': rounded(median(taken.daemon)),
    'bare, ms of CPU': rounded(median(taken.bare)),
    'to bare (goal 1.15)': rounded(median(taken.ratios)),
    least: rounded(Math.min(...taken.ratios)),
    most: rounded(Math.max(...taken.ratios)),
  };
}

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const isWanted = (name: string): boolean => wanted.length === 0 || wanted.some((part) => name.includes(part));
const isJson = process.argv.includes('--json');
const machine = `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;
const rows: Row[] = [];
for (const launch of LAUNCHES) {
  for (const load of LOADS)
    if (isWanted(`${launch.what}: ${load.what}`)) rows.push(await measure(load, launch));
}
if (isJson) console.log(JSON.stringify({ machine, rows }));
else {
  console.log(machine);
  console.table(rows);
}
