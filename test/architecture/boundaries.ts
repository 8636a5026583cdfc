// Tables of the allowed imports. ARCHITECTURE.md has the reasons; rules.ts does the checks.

export interface Boundary {
  /** Which files: a prefix, in which one `*` stands for a name. The first row that fits a file applies. */
  readonly of: string;
  /**
   * Which files of the project they may import, besides each other; `*` stands for the same name as in `of`.
   */
  readonly may: readonly string[];
  /** Likewise, but their types only. */
  readonly mayTypes?: readonly string[];
  /** Modules of Node that they may import: their names, without `node:`. */
  readonly builtins: string;
}

const SHARED = [
  'src/protocol/actor/',
  'src/host/clock.ts',
  'src/host/idle-heap.ts',
  'src/host/node-warnings.ts',
  'src/host/process-facts.ts',
  'src/version.ts',
  'src/printable.ts',
  'src/edit-distance.ts',
  'src/host/user-directories.ts',
  'src/host/own-addresses.ts',
];

export const BOUNDARIES: readonly Boundary[] = [
  { of: 'src/protocol/pulse/', may: [], builtins: '' },
  { of: 'src/protocol/dbus/', may: [], builtins: '' },
  // The type of a port between threads, and nothing of its module at run time.
  { of: 'src/protocol/actor/', may: [], builtins: 'worker_threads' },
  {
    of: 'src/actors/bus/',
    may: [
      'src/protocol/dbus/',
      'src/protocol/actor/',
      'src/actors/text.ts',
      'src/host/clock.ts',
      'src/printable.ts',
      'src/host/user-directories.ts',
    ],
    builtins: 'net',
  },
  // journalctl is the only stable interface to the journal, and starting it needs this.
  {
    of: 'src/actors/units/unit-logs.ts',
    may: ['src/protocol/actor/', 'src/host/clock.ts', 'src/actors/text.ts', 'src/actors/units/'],
    builtins: 'child_process fs fs/promises util',
  },
  {
    of: 'src/actors/units/',
    may: [
      'src/protocol/dbus/',
      'src/protocol/actor/',
      'src/host/clock.ts',
      'src/actors/bus/',
      'src/actors/*.ts',
    ],
    builtins: '',
  },
  // A look-up of a name can only be ended in a process of its own.
  {
    of: 'src/actors/name-lookup.ts',
    may: [],
    builtins: 'child_process dns net',
  },
  // The body of an answer to a request of ours.
  { of: 'src/actors/response-body.ts', may: [], builtins: 'http' },
  // Covers on the web: the one actor that speaks HTTP to strangers, and only through these.
  {
    of: 'src/actors/players/web-cover.ts',
    may: ['src/protocol/actor/', 'src/host/clock.ts', 'src/actors/response-body.ts', 'src/actors/players/'],
    builtins: 'dns/promises http https net os',
  },
  // It sends requests to the nodes of the configuration.
  {
    of: 'src/actors/discovery/node-request.ts',
    may: [...SHARED, 'src/actors/*.ts'],
    builtins: 'http https',
  },
  {
    of: 'src/actors/*/',
    may: [...SHARED, 'src/protocol/', 'src/actors/bus/', 'src/actors/units/', 'src/actors/*.ts'],
    builtins: 'buffer events fs fs/promises net os path string_decoder tls timers/promises util crypto',
  },
  {
    of: 'src/actors/*.ts',
    may: [...SHARED, 'src/protocol/', 'src/actors/*.ts'],
    builtins: 'fs fs/promises net path worker_threads',
  },
  // V8's measurement of memory collects garbage.
  { of: 'src/host/', may: ['src/protocol/actor/'], builtins: 'fs net os vm' },
  // Read by the build, which puts what comes of it in its place.
  { of: 'src/client/paths.ts', may: ['src/protocol/actor/operations.ts'], builtins: '' },
  // It may import only types of the daemon, because it runs in browsers.
  { of: 'src/client/', may: [], mayTypes: ['src/protocol/actor/'], builtins: '' },
  { of: 'src/page/', may: ['src/client/'], builtins: '' },
  { of: 'src/gateway/', may: [...SHARED, 'src/host/text-if-there.ts'], builtins: 'fs net os crypto path' },
  { of: 'src/supervisor/', may: SHARED, builtins: 'buffer fs net os path tty url worker_threads' },
  // The program that talks to the sound server is a thread but not an actor: `tonearm bench` starts it by its
  // file.
  {
    of: 'src/cli/bench/',
    may: [...SHARED, 'src/cli/arguments.ts', 'src/protocol/', 'src/actors/audio/', 'src/actors/*.ts'],
    mayTypes: ['src/gateway/', 'src/supervisor/'],
    builtins: 'fs net os url util worker_threads',
  },
  // A program of its own, which main.ts starts instead of the daemon: `tonearm trace`.
  {
    of: 'src/cli/trace/',
    may: [...SHARED, 'src/cli/arguments.ts', 'src/protocol/pulse/', 'src/actors/audio/server-address.ts'],
    builtins: 'child_process fs net os path stream/promises util',
  },
  // Read by the build, which puts what comes of it in its place.
  { of: 'src/cli/ctl/commands.ts', may: ['src/protocol/actor/'], builtins: '' },
  // A client of a node, and a program of its own: `tonearm ctl`. The configuration says where the node is.
  {
    of: 'src/cli/ctl/',
    may: [...SHARED, 'src/client/', 'src/cli/*.ts', 'src/gateway/bind.ts', 'src/supervisor/config/load.ts'],
    builtins: 'net os',
  },
  { of: 'src/cli/', may: [...SHARED, 'src/gateway/bind.ts'], builtins: 'child_process fs net os util' },
  {
    of: 'src/*.ts',
    may: [...SHARED, 'src/*.ts', 'src/host/', 'src/cli/', 'src/gateway/', 'src/supervisor/'],
    builtins: 'os tty url',
  },
];

export interface PackageHolders {
  /** Prefixes of the files that may import it. */
  readonly in: readonly string[];
  /** At most so many files. */
  readonly files?: number;
}

/** Every package that is used at all. */
export const PACKAGES: Readonly<Record<string, PackageHolders>> = {
  'uWebSockets.js': { in: ['src/gateway/'], files: 2 },
  piscina: { in: ['src/supervisor/'], files: 1 },
  pino: { in: ['src/supervisor/log.ts'] },
  yaml: { in: ['src/supervisor/config/yaml.ts'] },
  'dbus-next': { in: ['src/actors/bus/connection.ts', 'src/actors/bus/values.ts'] },
  preact: { in: ['src/page/'] },
  mqtt: { in: ['src/actors/mqtt/broker.ts'] },
  // Loaded lazily in the gateway: its values weigh megabytes.
  typebox: { in: ['src/protocol/actor/schemas.ts', 'src/gateway/openapi.ts', 'src/gateway/body-schemas.ts'] },
};

/** Files that only some may import: a raw connection to a bus would let any actor call anything. */
export const HOLDERS: Readonly<Record<string, readonly string[]>> = {
  'src/actors/bus/connection.ts': ['src/actors/bus/'],
};

/**
 * Folders that may open a bus with an effect, because that gives a power away: turning the machine off is the
 * power actor's alone.
 */
export const BUSES: Readonly<Record<string, readonly string[]>> = {
  none: ['src/actors/systemd/'],
  units: ['src/actors/systemd/', 'src/actors/upgrade/'],
  players: ['src/actors/players/'],
  power: ['src/actors/power/'],
  announcements: ['src/actors/discovery/'],
  bluetooth: ['src/actors/bluetooth/'],
};

/** Files that load typebox: the main thread reaches them by import() only. */
export const LAZY: readonly string[] = [
  'src/protocol/actor/schemas.ts',
  'src/gateway/openapi.ts',
  'src/gateway/body-schemas.ts',
];

/** Programs of their own, which main.ts may load, late, instead of running the daemon. */
export const PROGRAMS: readonly string[] = ['src/cli/trace/trace.ts'];

/** The main thread never loads these, not even indirectly, because it decodes nothing. */
export const NOT_IN_MAIN: readonly string[] = ['src/protocol/pulse/', 'src/protocol/dbus/', 'src/actors/'];

/**
 * Files that read clocks, set timers or draw random numbers, and why they are the ones. All others are given
 * these.
 */
export const EDGES: Readonly<Record<string, string>> = {
  'src/main.ts': 'bounds the shutdown',
  'src/host/clock.ts': 'is the clock that the others get',
  'src/actors/dial.ts': 'drives a session by its deadlines',
  'src/actors/path-watch.ts': 'looks again where nothing is told',
  'src/actors/bus/connection.ts': 'bounds the greeting and each call',
  'src/actors/bus/bus.ts': 'connects and waits',
  'src/actors/bus/stream-guard.ts': 'bounds each message',
  'src/cli/progress.ts': 'bounds the wait for the daemon',
  'src/cli/bench/probe.ts': 'measures how long things take',
  'src/client/deadline.ts': 'ends a request that takes too long',
  'src/client/stream.ts': 'waits between two attempts, and bounds silence',
  'src/client/connect.ts': 'says since when a connection is as it is',
  'src/client/node-clock.ts': "reckons the node's time from this device's",
  'src/page/wall.tsx': 'dims a wall that nobody is at, and shows the time',
  'src/page/language.ts': 'bounds the wait for a language',
  'src/page/header.tsx': 'looks whether a node has been away too long',
  'src/page/drawing.ts': 'draws at most once per frame',
  'src/page/main.tsx': 'draws first in a task of its own',
  'src/page/tracklist.tsx': 'removes a track when the time to keep it is over',
  'src/page/presence.ts': 'notes when the node said that it leaves, and waits until nobody is at the page',
  'src/page/parts.tsx':
    'has things shown again as time passes, ends what lasts a while, and shows long lists piece by piece',
  'src/page/slider.tsx': 'raises a volume step by step',
  'src/page/slider-pointer.ts': 'waits until the browser has set its own value',
  'src/page/notices.tsx': 'ends a notice that is old',
  'src/page/shared-live.ts': 'passes on how far the clock of the node is behind',
  'src/page/tabs.ts': 'orders the tabs by age, and waits for objections and for one that has crashed',
  'src/page/liveness.ts': 'asks whether the node still answers',
  'src/actors/audio/server-files.ts': 'waits for a socket or a delay, and bounds the wait for a file',
};
