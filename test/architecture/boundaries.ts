// Tables of the allowed imports. ARCHITECTURE.md has the reasons; rules.ts does the checks.

export interface Boundary {
  /**
   * The prefix of the row's files. A `*` in the prefix stands for a name. If several rows fit a file, the
   * first of them applies.
   */
  readonly files: string;
  /**
   * Prefixes of the project's files that the row's files may import. A `*` in a prefix stands for any name.
   * The row's files may also import each other. If `files` has a `*`, only files with the same name in the
   * place of the `*` may import each other, such as the files of one actor.
   */
  readonly mayImport: readonly string[];
  /** Prefixes, like those of `mayImport`. From these files the row's files may import only types. */
  readonly mayImportTypes?: readonly string[];
  /** Modules of Node.js that the row's files may import: names without `node:`, separated by blanks. */
  readonly builtins: string;
}

/** Files that most parts of the daemon may import. */
const SHARED = [
  'src/protocol/actor/',
  'src/host/clock.ts',
  'src/host/turns.ts',
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
  { files: 'src/protocol/pulse/', mayImport: [], builtins: '' },
  { files: 'src/protocol/dbus/', mayImport: [], builtins: '' },
  // The folder imports only the type of a port between threads. Nothing of `worker_threads` is loaded at run
  // time.
  { files: 'src/protocol/actor/', mayImport: [], builtins: 'worker_threads' },
  {
    files: 'src/actors/bus/',
    mayImport: [
      'src/protocol/dbus/',
      'src/protocol/actor/',
      'src/actors/text.ts',
      'src/host/clock.ts',
      'src/printable.ts',
      'src/host/user-directories.ts',
    ],
    builtins: 'net',
  },
  // journalctl is the only stable interface to systemd's journal, and it is a program that must be started.
  {
    files: 'src/actors/units/unit-logs.ts',
    mayImport: [
      'src/protocol/actor/',
      'src/host/clock.ts',
      'src/printable.ts',
      'src/actors/text.ts',
      'src/actors/units/',
    ],
    builtins: 'child_process fs fs/promises util',
  },
  {
    files: 'src/actors/units/',
    mayImport: [
      'src/protocol/dbus/',
      'src/protocol/actor/',
      'src/host/clock.ts',
      'src/host/turns.ts',
      'src/printable.ts',
      'src/actors/bus/',
      'src/actors/*.ts',
    ],
    builtins: '',
  },
  // The file looks up names in a process of its own, because only the end of a process ends a look-up.
  {
    files: 'src/actors/name-lookup.ts',
    mayImport: [],
    builtins: 'child_process dns net',
  },
  // The file needs the type of an answer to an HTTP request, because it reads the bodies of such answers.
  { files: 'src/actors/response-body.ts', mayImport: ['src/protocol/actor/result.ts'], builtins: 'http' },
  // The file fetches covers from the web. All other HTTP requests of actors go to configured nodes.
  {
    files: 'src/actors/players/web-cover.ts',
    mayImport: [
      'src/protocol/actor/',
      'src/host/clock.ts',
      'src/actors/response-body.ts',
      'src/actors/players/',
    ],
    builtins: 'dns/promises http https net os',
  },
  // The file sends requests to the nodes of the configuration.
  {
    files: 'src/actors/discovery/node-request.ts',
    mayImport: [...SHARED, 'src/actors/*.ts'],
    builtins: 'http https',
  },
  {
    files: 'src/actors/*/',
    mayImport: [...SHARED, 'src/protocol/', 'src/actors/bus/', 'src/actors/units/', 'src/actors/*.ts'],
    builtins: 'buffer events fs fs/promises net os path string_decoder tls timers/promises util crypto',
  },
  {
    files: 'src/actors/*.ts',
    mayImport: [...SHARED, 'src/protocol/', 'src/actors/*.ts'],
    builtins: 'fs fs/promises net path worker_threads',
  },
  // `vm` has V8's measurement of memory. idle-heap.ts uses it, because the measurement also collects garbage.
  { files: 'src/host/', mayImport: ['src/protocol/actor/'], builtins: 'fs net os vm' },
  // The build runs this file, and replaces it by the result. So the client has no code of the daemon.
  { files: 'src/client/paths.ts', mayImport: ['src/protocol/actor/operations.ts'], builtins: '' },
  // The client may import only types of the daemon, because the client runs in browsers.
  { files: 'src/client/', mayImport: [], mayImportTypes: ['src/protocol/actor/'], builtins: '' },
  { files: 'src/page/', mayImport: ['src/client/'], builtins: '' },
  {
    files: 'src/gateway/',
    mayImport: [...SHARED, 'src/host/text-if-there.ts'],
    builtins: 'fs net os crypto path',
  },
  { files: 'src/supervisor/', mayImport: SHARED, builtins: 'buffer fs net os path tty url worker_threads' },
  // probe.ts uses the audio actor's code to talk to the sound server. probe.ts runs in a thread that
  // `tonearm bench` starts, but it is not an actor.
  {
    files: 'src/cli/bench/',
    mayImport: [...SHARED, 'src/cli/arguments.ts', 'src/protocol/', 'src/actors/audio/', 'src/actors/*.ts'],
    mayImportTypes: ['src/gateway/', 'src/supervisor/'],
    builtins: 'fs net os url util worker_threads',
  },
  // `tonearm trace` is a program of its own, which main.ts starts instead of the daemon.
  {
    files: 'src/cli/trace/',
    mayImport: [
      ...SHARED,
      'src/cli/arguments.ts',
      'src/protocol/pulse/',
      'src/actors/audio/server-address.ts',
    ],
    builtins: 'child_process fs net os path stream/promises util',
  },
  // The build runs this file, and replaces it by the result. The same is true of `src/client/paths.ts`.
  { files: 'src/cli/ctl/commands.ts', mayImport: ['src/protocol/actor/'], builtins: '' },
  // `tonearm ctl` is a client of a node, and a program of its own. It finds the node's address in the
  // configuration.
  {
    files: 'src/cli/ctl/',
    mayImport: [
      ...SHARED,
      'src/client/',
      'src/cli/*.ts',
      'src/gateway/bind.ts',
      'src/supervisor/config/load.ts',
    ],
    builtins: 'net os',
  },
  {
    files: 'src/cli/',
    mayImport: [...SHARED, 'src/gateway/bind.ts'],
    builtins: 'child_process fs net os util',
  },
  {
    files: 'src/*.ts',
    mayImport: [...SHARED, 'src/*.ts', 'src/host/', 'src/cli/', 'src/gateway/', 'src/supervisor/'],
    builtins: 'os tty url',
  },
];

export interface PackageHolders {
  /** Prefixes of the files that may import the package. */
  readonly in: readonly string[];
  /** The largest number of files that may import the package; no limit if absent. */
  readonly files?: number;
}

/** All packages that files of src/ import, with the files that may import them. */
export const PACKAGES: Readonly<Record<string, PackageHolders>> = {
  'uWebSockets.js': { in: ['src/gateway/'], files: 2 },
  piscina: { in: ['src/supervisor/'], files: 1 },
  pino: { in: ['src/supervisor/log.ts'] },
  yaml: { in: ['src/supervisor/config/yaml.ts'] },
  'dbus-next': { in: ['src/actors/bus/connection.ts', 'src/actors/bus/values.ts'] },
  preact: { in: ['src/page/'] },
  mqtt: { in: ['src/actors/mqtt/broker.ts'] },
  // The gateway loads typebox by import(), and only when it needs typebox, whose code takes megabytes.
  typebox: { in: ['src/protocol/actor/schemas.ts', 'src/gateway/openapi.ts', 'src/gateway/body-schemas.ts'] },
};

/**
 * Each row has a file, and the prefixes of the files that may import it. An actor with a raw connection to a
 * bus could call any method of any program.
 */
export const HOLDERS: Readonly<Record<string, readonly string[]>> = {
  'src/actors/bus/connection.ts': ['src/actors/bus/'],
};

/**
 * For each effect, the folders that may open a bus with this effect. By such a bus, an actor can change only
 * what the effect names. So only the power actor can turn the machine off.
 */
export const BUSES: Readonly<Record<string, readonly string[]>> = {
  none: ['src/actors/systemd/'],
  units: ['src/actors/systemd/', 'src/actors/upgrade/'],
  players: ['src/actors/players/'],
  power: ['src/actors/power/'],
  announcements: ['src/actors/discovery/'],
  bluetooth: ['src/actors/bluetooth/'],
};

/** Files that load typebox. The main thread loads these files only by import(). */
export const LAZY: readonly string[] = [
  'src/protocol/actor/schemas.ts',
  'src/gateway/openapi.ts',
  'src/gateway/body-schemas.ts',
];

/**
 * Programs that main.ts loads by import(), and runs instead of the daemon. Such a program may load what
 * NOT_IN_MAIN forbids.
 */
export const PROGRAMS: readonly string[] = ['src/cli/trace/trace.ts'];

/** Prefixes of files. The main thread decodes nothing, so it never loads these files, not even indirectly. */
export const NOT_IN_MAIN: readonly string[] = ['src/protocol/pulse/', 'src/protocol/dbus/', 'src/actors/'];

/**
 * Files that read clocks, set timers or draw random numbers, each with its reason. All other files get
 * clocks, timers and random numbers as arguments.
 */
export const EDGES: Readonly<Record<string, string>> = {
  'src/main.ts': 'bounds the shutdown',
  'src/host/clock.ts': 'is the clock that the others get',
  'src/actors/runtime.ts': 'drops a command whose deadline has passed',
  'src/actors/dial.ts': 'drives a session by its deadlines',
  'src/actors/path-watch.ts': 'polls a path whose changes the kernel does not report',
  'src/actors/bus/connection.ts': 'bounds the greeting and each call',
  'src/actors/bus/bus.ts': 'waits before it connects again',
  'src/actors/bus/stream-guard.ts': 'bounds each message',
  'src/cli/progress.ts': 'bounds the wait for the daemon',
  'src/cli/bench/probe.ts': 'measures how long things take',
  'src/client/deadline.ts': 'ends a request that takes too long',
  'src/client/stream.ts': 'waits between two attempts, and bounds silence',
  'src/client/connect.ts':
    'notes since when a connection has its status, and waits before it requests a record again',
  'src/client/node-clock.ts': "reckons the node's time from this device's",
  'src/page/bluetooth.tsx': 'bounds the wait for a device that is being connected',
  'src/page/wall.tsx': 'dims a wall that nobody uses, and shows the time',
  'src/page/language.ts': 'bounds the wait for a language',
  'src/page/header.tsx': 'checks whether a node has been away too long',
  'src/page/drawing.ts': 'draws at most once per frame',
  'src/page/main.tsx': 'draws first in a task of its own',
  'src/page/tracklist.tsx': 'removes a track when the time to keep it is over',
  'src/page/presence.ts': 'notes when the node announced its end, and waits until nobody uses the page',
  'src/page/parts.tsx':
    'draws anew as time passes, ends a state after a while, and draws long lists in parts',
  'src/page/room-volumes.ts':
    'ignores old volumes of a room until the room has had time to report the last one',
  'src/page/slider.tsx': 'raises a volume step by step',
  'src/page/slider-pointer.ts': 'waits until the browser has set its own value',
  'src/page/notices.tsx': 'removes an old notice',
  'src/page/shared-live.ts': 'sends other tabs the difference between the clocks of node and device',
  'src/page/tabs.ts': 'orders the tabs by age, waits for objections, and notices a tab that has crashed',
  'src/page/liveness.ts': 'asks whether the node still answers',
  'src/actors/audio/server-files.ts': 'waits for a socket or a delay, and bounds the wait for a file',
};
