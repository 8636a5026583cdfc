// Table of all keys of the configuration, in the shape of the file: the default and the reader of each.
// Reading the files, the hints for unknown keys and the printed configuration follow from it.
// docs/configuration.md and packaging/config.example.yaml explain the keys. Pure.

import { runtimeDirectory, xdgDirectory } from '../../host/user-directories.js';
import { CHILD_NAMES, outerNames } from '../../protocol/actor/backends.js';
import type { Settings } from '../../protocol/actor/settings.js';
import { groups } from './groups.js';
import { listen } from './listen.js';
import type { ValueReader } from './readers.js';
import * as read from './readers.js';
import * as text from './texts.js';
import { unit, units } from './units.js';

/** The surroundings on which defaults, paths and the place of the configuration depend. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The home directory; '' if there is none. */
  readonly home: string;
  readonly hostname: string;
  readonly uid: number;
  /**
   * Returns what is wrong with a file that holds a secret; undefined if nothing is. Without this function
   * such files are not checked.
   */
  readonly secretFault?: ((path: string) => string | undefined) | undefined;
}

/**
 * One key with a value of type `T`. `D` is the type of its default: `T`, or `T | undefined` if it has none.
 */
export interface KeyRow<T, D = T> {
  readonly byDefault: (environment: Environment) => D;
  readonly read: ValueReader<T>;
}

/** A section's keys and subsections by name. */
export interface KeyTable {
  readonly [name: string]: KeyRow<unknown> | KeyTable;
}

/** A key with a default, which may be a function of the environment. */
function key<T>(
  byDefault: NoInfer<T> | ((environment: Environment) => NoInfer<T>),
  read: ValueReader<T>,
): KeyRow<T> {
  return { byDefault: byDefault instanceof Function ? byDefault : () => byDefault, read };
}

function optionalKey<T>(read: ValueReader<T>): KeyRow<T, T | undefined> {
  return { byDefault: () => undefined, read };
}

/** How many nodes of the house may be configured. This node asks each of them once a minute. */
const NODES_MAX = 32;

const target = read.checkedText('an interface name, an IP address or "all"', text.bindTarget);
const readFile = read.checkedText('an absolute path', text.filePath);
const branch = read.checkedText('a topic', text.mqttTopic);

export const KEYS = {
  bind: key(['lo'], read.oneOrMore(target)),
  logLevel: key('info', read.oneOfWords(['fatal', 'error', 'warn', 'info', 'debug', 'trace'])),
  api: {
    port: key(8018, read.integer(1, 65535)),
    cors: { origins: key([], read.listOf(read.checkedText('an origin', text.corsOrigin))) },
    hosts: key([], read.listOf(read.checkedText('a host name', text.hostName))),
    sse: { enabled: key(true, read.flag), maxClients: key(256, read.integer(1, 10000)) },
    ui: { enabled: key(true, read.flag), volumeStep: key(5, read.integer(1, 10)) },
    logs: key(true, read.flag),
    control: key(true, read.control),
    metrics: key(true, read.flag),
  },
  systemd: { enabled: key(true, read.flag), system: key([], units), user: key([], units) },
  pulseaudio: {
    enabled: key(true, read.flag),
    serve_cookie: key(false, read.flag),
    volumeLimit: optionalKey(read.oneOrByName(read.fraction)),
    outputs: key({}, read.byName(read.outputChoice)),
    groups: key({}, groups),
    listen: key({}, listen),
    listenLatency: key(100, read.integer(50, 1000)),
  },
  power: {
    enabled: key(false, read.flag),
    capabilities: { poweroff: key(false, read.flag), reboot: key(false, read.flag) },
  },
  upgrade: {
    enabled: key(false, read.flag),
    resultFile: optionalKey(readFile),
    checkUnit: optionalKey(unit),
    upgradeUnit: optionalKey(unit),
    progressSocket: key(
      ({ env, uid }) => `${runtimeDirectory(env, uid)}/tonearm/upgrade.sock`,
      read.checkedText('an absolute path', text.socketPath),
    ),
    stateFile: key((environment) => `${stateDirectory(environment)}/tonearm/upgrade-run.json`, readFile),
  },
  players: {
    enabled: key(false, read.flag),
    fetchCovers: key(false, read.flag),
    ignore: key([], read.listOf(read.checkedText('the name of a player', text.playerPattern))),
    exclusive: key(false, read.flag),
  },
  bluetooth: {
    enabled: key(false, read.flag),
    adapter: optionalKey(read.checkedText('the name of an adapter', text.adapterName)),
    powerOnStart: key(false, read.flag),
    reconnect: key(false, read.flagOrList(read.checkedText('an address', text.bluetoothAddress))),
    pairingTimeout: key(60, read.duration('10s', '10m')),
    scanTimeout: key(60, read.duration('10s', '10m')),
    idleTimeout: key(0, read.zeroOr(read.duration('1m', '24h'))),
  },
  discovery: {
    enabled: key(false, read.flag),
    name: key(
      ({ hostname }) => cutBytes(`tonearm on ${hostname}`, text.SERVICE_NAME_BYTES_MAX),
      read.checkedText('a name', text.serviceName),
    ),
    nodes: key(
      [],
      read.shortListOfDifferentTexts(NODES_MAX, read.checkedText('the address of a node', text.nodeUrl)),
    ),
    trust: key(true, read.flag),
  },
  mqtt: {
    enabled: key(false, read.flag),
    url: optionalKey(read.checkedText('the address of a broker', text.brokerUrl)),
    username: optionalKey(read.checkedText('a user name', text.userName)),
    passwordFile: optionalKey(read.checkedText('an absolute path', text.filePath, 'secret')),
    caFile: optionalKey(readFile),
    topic: key(({ hostname }) => `tonearm/${hostname.replace(/[^\w.-]/g, '_')}`, branch),
    control: key(true, read.flag),
    homeAssistant: key(true, read.flag),
    homeAssistantPrefix: key('homeassistant', branch),
  },
};

/**
 * The values of a table of keys: `{ ui: { enabled: key(true, read.flag) } }` makes
 * `{ ui: { enabled: boolean } }`.
 */
type ValuesIn<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends {
    readonly byDefault: (environment: Environment) => infer Value;
  }
    ? Value
    : ValuesIn<Table[Name]>;
};

/** The complete values of all keys, in the shape of the file. */
export type KeyValues = ValuesIn<typeof KEYS>;

/**
 * Section names of other programs, with our names. They are accepted so that configurations of these
 * programs can be used.
 */
export const SECTION_ALIASES: ReadonlyMap<string, string> = new Map(
  CHILD_NAMES.map(outerNames).flatMap(({ section, sectionAlias }) =>
    sectionAlias === undefined ? [] : [[sectionAlias, section]],
  ),
);

/** True for a key, false for a section. */
export function isRow(row: KeyRow<unknown> | KeyTable): row is KeyRow<unknown> {
  return typeof row['read'] === 'function';
}

/** The dotted paths of all keys and sections in a table. Each section comes before its keys. */
export function pathsIn(table: KeyTable, path = ''): readonly string[] {
  return Object.entries(table).flatMap(([name, row]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    return isRow(row) ? [inner] : [inner, ...pathsIn(row, inner)];
  });
}

/** The settings in the shape that the daemon uses: the section of each child has the child's name. */
export function settingsOf({ pulseaudio, systemd, ...others }: KeyValues): Settings {
  const { serve_cookie: serveCookie, ...audio } = pulseaudio;
  const { checkUnit, upgradeUnit } = others.upgrade;
  const internal = [...new Set([checkUnit, upgradeUnit].filter((name) => name !== undefined))];
  return {
    ...others,
    systemd: { ...systemd, internal },
    audio: { ...audio, serveCookie, apiPort: others.api.port },
  };
}

/** The directory of the user's configurations; undefined if there is neither a home nor an XDG variable. */
export function configDirectory({ env, home }: Environment): string | undefined {
  return xdgDirectory(env['XDG_CONFIG_HOME']) ?? folderBelow(home, '.config');
}

/**
 * The directory of the state file. Without a home directory nothing can survive a reboot, so it is the
 * directory of the socket.
 */
function stateDirectory({ env, home, uid }: Environment): string {
  return (
    xdgDirectory(env['XDG_STATE_HOME']) ?? folderBelow(home, '.local/state') ?? runtimeDirectory(env, uid)
  );
}

/** The first `max` bytes of a text, without a character that is cut in two. */
function cutBytes(value: string, max: number): string {
  // Avoids the first TextDecoder of the process, which costs 5 ms of CPU.
  if (Buffer.byteLength(value) <= max) return value;
  return new TextDecoder().decode(Buffer.from(value).subarray(0, max), { stream: true });
}

function folderBelow(home: string, folder: string): string | undefined {
  return home.startsWith('/') ? `${home.replace(/\/+$/, '')}/${folder}` : undefined;
}
