// Starts a program that sends the changes of streams to one listener: the daemon, or the bare program of two
// threads that does only the indispensable work. Each has a sound server of its own. A mixer changes the
// volumes of the streams there, and gets the server's events as well.

import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { AUDIO_MASK } from '../../src/protocol/pulse/subscription.js';
import { Daemon } from '../../test/contract/daemon.js';
import { Mixer } from '../../test/contract/stream-mixer.js';
import type { SoundServer } from '../../test/sound/server.js';
import { until } from '../../test/until.js';
import { cpuMs } from './figures.js';
import { Forked } from './fork.js';
import type { Launch } from './launch-flags.js';
import type { Context } from './measurement.js';

/**
 * The number of different volumes. A stream's next volume always differs from its last, because no
 * measurement has a multiple of 97 streams. Without a difference the server would send no event.
 */
const VOLUMES = 97;
const CHANGE_DEADLINE_MS = 10_000;
const BARE = new URL('./bare-change.js', import.meta.url);

/**
 * After this time V8's first collections of garbage have ended. They drop the code that was compiled for the
 * start.
 */
const REST_MS = 10_000;
/**
 * V8 compiles the code of a change within 1500 changes. It compiles some of that code again at the first
 * `readAgain`, because that uses the same code for other records.
 */
const WARM_UP = { parts: 3, changes: 2000, everyMs: 2 } as const;

/** Properties that a desktop player typically sets. */
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

export interface Changes {
  /** CPU time of the program for each change. */
  readonly cpuMs: number;
  /** From the server's event, as the mixer gets it, to the listener's bytes. */
  readonly delaysMs: readonly number[];
}

export interface Listened {
  /**
   * Makes `count` changes, one each `everyMs` ms, but each only after event and bytes of the one before have
   * arrived.
   */
  change(count: number, everyMs: number): Promise<Changes>;
  /** Makes the daemon read everything again, as it does each minute. The bare program reads nothing then. */
  readAgain(): Promise<void>;
  end(): Promise<void>;
}

export interface Program {
  readonly pid: number;
  readonly port: number;
  end(): Promise<unknown>;
}

export async function startDaemon(sound: SoundServer, { flags, env }: Launch): Promise<Program> {
  const daemon = await Daemon.start({
    env: { ...sound.env, ...env },
    config: 'systemd: {enabled: false}\n',
    nodeArguments: flags,
  });
  await daemon.untilBackend('audio', 'up');
  return { pid: daemon.pid, port: daemon.port, end: () => daemon.stop() };
}

/**
 * `output` selects what the bare program sends: the last bytes of the server's reply, or its record as JSON.
 */
export async function startBare(
  sound: SoundServer,
  launch: Launch,
  output: 'bytes' | 'record',
): Promise<Program> {
  const { forked, firstValue } = await Forked.launch(launch, BARE, sound.socketPath, output);
  return { pid: forked.pid, port: firstValue, end: () => forked.end() };
}

/** Calls `onBytes` with each piece of the program's event stream. */
function listen(port: number, onBytes: () => void): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return socket.on('data', onBytes);
}

interface Arrivals {
  event?: number;
  bytes?: number;
}

/** Waits for the event and the bytes of a change, in any order. `done` resolves with the ms in between. */
class Change {
  readonly #arrivals: Arrivals = {};
  readonly #settle: (delayMs: number) => void;
  readonly done: Promise<number>;

  constructor() {
    let settle: (delayMs: number) => void = () => undefined;
    this.done = new Promise((resolve, reject) => {
      const deadline = setTimeout(
        () => reject(new Error('the event or the bytes of a change have not arrived')),
        CHANGE_DEADLINE_MS,
      );
      settle = (delayMs) => {
        clearTimeout(deadline);
        resolve(delayMs);
      };
    });
    this.#settle = settle;
  }

  noteArrival(what: keyof Arrivals): void {
    this.#arrivals[what] ??= performance.now();
    const { event, bytes } = this.#arrivals;
    if (event !== undefined && bytes !== undefined) this.#settle(bytes - event);
  }
}

/** Starts the sound server, its streams, and the program with its listener. */
export async function startListened(
  streams: number,
  startSound: () => Promise<SoundServer>,
  startProgram: (sound: SoundServer) => Promise<Program>,
): Promise<Listened> {
  const sound = await startSound();
  const players = await sound.streams('player');
  const opened = await players.open(Array.from({ length: streams }, () => ({ props: PROPS })));
  const program = await startProgram(sound);
  let current: Change | undefined;
  const mixer = await Mixer.connect(sound.socketPath, ({ facility }) => {
    if (facility === 'sink-input') current?.noteArrival('event');
  });
  await mixer.subscribe(AUDIO_MASK);
  let pieces = 0;
  const listener = listen(program.port, () => {
    pieces += 1;
    current?.noteArrival('bytes');
  });
  await until('the stream has begun', () => Promise.resolve(pieces > 0));
  let made = 0;
  const changeOne = async (): Promise<number> => {
    made += 1;
    current = new Change();
    await mixer.setStreamVolume(opened[made % streams]?.id ?? 0, (made % VOLUMES) / VOLUMES);
    return current.done;
  };
  return {
    change: async (count, everyMs) => {
      const before = cpuMs(program.pid);
      const begun = performance.now();
      const delaysMs: number[] = [];
      for (let change = 1; change <= count; change += 1) {
        delaysMs.push(await changeOne());
        await pause(Math.max(0, begun + change * everyMs - performance.now()));
      }
      return { cpuMs: (cpuMs(program.pid) - before) / count, delaysMs };
    },
    // The daemon reads everything when a sink comes or goes. The bare program subscribes to streams alone
    // (bare-change.ts).
    readAgain: async () => {
      await sound.addSink('passing');
      await sound.removeSink('passing');
    },
    end: async () => {
      listener.destroy();
      mixer.close();
      await program.end();
      await sound.stop();
    },
  };
}

/**
 * Brings programs to the state of a day's use. Otherwise their first minute would be measured, in which a
 * change cost a fifth more (bench/FIGURES.md, "A change of a volume").
 */
export async function warmUp(sides: readonly Listened[], { ms }: Pick<Context, 'ms'>): Promise<void> {
  await pause(ms(REST_MS));
  for (let part = 0; part < WARM_UP.parts; part += 1) {
    for (const side of sides) {
      await side.change(ms(WARM_UP.changes), WARM_UP.everyMs);
      await side.readAgain();
    }
  }
}
