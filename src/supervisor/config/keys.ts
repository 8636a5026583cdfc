// All keys of the configuration as one table in the shape of the file: default and reader. The walk over files, the hints for
// unknown keys and the effective configuration use it. docs/configuration.md and packaging/config.example.yaml explain the keys.
// Pure.

import type { Settings } from '../../protocol/actor/settings.js';
import { runtimeDirectory, xdgDirectory } from '../../user-directories.js';
import {
  byName,
  checkedText,
  duration,
  flag,
  fraction,
  integer,
  listOf,
  oneOfWords,
  oneOrByName,
  oneOrMore,
  orZero,
  outputChoice,
  unit,
  units,
  type ValueReader,
} from './readers.js';
import {
  adapterName,
  bindTarget,
  brokerUrl,
  corsOrigin,
  filePath,
  hostName,
  mqttTopic,
  SERVICE_NAME_BYTES_MAX,
  serviceName,
  socketPath,
  userName,
} from './texts.js';

/** The inputs for defaults, paths and the place of the configuration. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home directory; '' if there is none. */
  readonly home: string;
  readonly hostname: string;
  readonly uid: number;
  /** The fault of a file that holds a secret; undefined if there is none. Without this function such files are not checked. */
  readonly secretFault?: ((path: string) => string | undefined) | undefined;
}

/** One key with a value of type `T`. `D` is the type of its default: `T`, or with `undefined` if it has none. */
export interface KeyRow<T, D = T> {
  readonly byDefault: (environment: Environment) => D;
  readonly read: ValueReader<T>;
}

/** A section's keys and subsections by name. */
export interface KeyTable {
  readonly [name: string]: KeyRow<unknown> | KeyTable;
}

/** The default may depend on the environment. */
function key<T>(
  byDefault: NoInfer<T> | ((environment: Environment) => NoInfer<T>),
  read: ValueReader<T>,
): KeyRow<T> {
  return { byDefault: byDefault instanceof Function ? byDefault : () => byDefault, read };
}

function optionalKey<T>(read: ValueReader<T>): KeyRow<T, T | undefined> {
  return { byDefault: () => undefined, read };
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

const readFile = checkedText('an absolute path', filePath);
const branch = checkedText('a topic', mqttTopic);

export const KEYS = {
  bind: key(['lo'], oneOrMore(checkedText('an interface name, an IP address or "all"', bindTarget))),
  logLevel: key('info', oneOfWords(LOG_LEVELS)),
  api: {
    port: key(8018, integer(1, 65535)),
    cors: { origins: key([], listOf(checkedText('an origin', corsOrigin))) },
    hosts: key([], listOf(checkedText('a host name', hostName))),
    sse: {
      enabled: key(true, flag),
      maxClients: key(256, integer(1, 10000)),
    },
    ui: { enabled: key(true, flag) },
    logs: key(true, flag),
  },
  systemd: {
    enabled: key(true, flag),
    system: key([], units),
    user: key([], units),
  },
  pulseaudio: {
    enabled: key(true, flag),
    serve_cookie: key(false, flag),
    volumeLimit: optionalKey(oneOrByName(fraction)),
    outputs: key({}, byName(outputChoice)),
  },
  power: {
    enabled: key(false, flag),
    capabilities: {
      poweroff: key(false, flag),
      reboot: key(false, flag),
    },
  },
  upgrade: {
    enabled: key(false, flag),
    resultFile: optionalKey(readFile),
    checkUnit: optionalKey(unit),
    upgradeUnit: optionalKey(unit),
    progressSocket: key(
      ({ env, uid }) => `${runtimeDirectory(env, uid)}/tonearm/upgrade.sock`,
      checkedText('an absolute path', socketPath),
    ),
    stateFile: key((environment) => `${stateDirectory(environment)}/tonearm/upgrade-run.json`, readFile),
  },
  players: {
    enabled: key(false, flag),
    fetchCovers: key(false, flag),
  },
  bluetooth: {
    enabled: key(false, flag),
    adapter: optionalKey(checkedText('the name of an adapter', adapterName)),
    powerOnStart: key(false, flag),
    pairingTimeout: key(60, duration('10s', '10m')),
    scanTimeout: key(60, duration('10s', '10m')),
    idleTimeout: key(0, orZero(duration('1m', '24h'))),
  },
  discovery: {
    enabled: key(false, flag),
    name: key(
      ({ hostname }) => cutBytes(`tonearm on ${hostname}`, SERVICE_NAME_BYTES_MAX),
      checkedText('a name', serviceName),
    ),
  },
  mqtt: {
    enabled: key(false, flag),
    url: optionalKey(checkedText('the address of a broker', brokerUrl)),
    username: optionalKey(checkedText('a user name', userName)),
    passwordFile: optionalKey(checkedText('an absolute path', filePath, 'secret')),
    caFile: optionalKey(readFile),
    topic: key(({ hostname }) => `tonearm/${hostname.replace(/[^\w.-]/g, '_')}`, branch),
    control: key(true, flag),
    homeAssistant: key(true, flag),
    homeAssistantPrefix: key('homeassistant', branch),
  },
};

type ValuesIn<T> = {
  readonly [K in keyof T]: T[K] extends { readonly byDefault: (environment: Environment) => infer D }
    ? D
    : ValuesIn<T[K]>;
};

/** The complete values of all keys, in the shape of the file. */
export type KeyValues = ValuesIn<typeof KEYS>;

/** Other names of whole sections, accepted for existing configurations. */
export const SECTION_ALIASES: ReadonlyMap<string, string> = new Map([
  ['service_manager', 'systemd'],
  ['sound_server', 'pulseaudio'],
  ['mpris', 'players'],
  ['zeroconf', 'discovery'],
]);

export function isRow(row: KeyRow<unknown> | KeyTable): row is KeyRow<unknown> {
  return typeof row['read'] === 'function';
}

/** Dotted paths of all keys and sections in a table; each section comes before its content. */
export function pathsIn(table: KeyTable, path = ''): readonly string[] {
  return Object.entries(table).flatMap(([name, row]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    return isRow(row) ? [inner] : [inner, ...pathsIn(row, inner)];
  });
}

/** The settings for the parts of the service, where each backend's section has the backend's name. */
export function settingsOf({ pulseaudio, systemd, ...others }: KeyValues): Settings {
  const { serve_cookie: serveCookie, ...audio } = pulseaudio;
  const { checkUnit, upgradeUnit } = others.upgrade;
  const internal = [checkUnit, upgradeUnit].filter((name) => name !== undefined);
  return {
    ...others,
    systemd: { ...systemd, internal: [...new Set(internal)] },
    audio: { ...audio, serveCookie },
  };
}

/** Undefined if there is neither a home nor an XDG variable. */
export function configDirectory({ env, home }: Environment): string | undefined {
  return xdgDirectory(env['XDG_CONFIG_HOME']) ?? folderBelow(home, '.config');
}

/** Without a home nothing survives a reboot, so the state file is placed beside the socket. */
function stateDirectory({ env, home, uid }: Environment): string {
  return (
    xdgDirectory(env['XDG_STATE_HOME']) ?? folderBelow(home, '.local/state') ?? runtimeDirectory(env, uid)
  );
}

/** The first `max` bytes of a text at most, without a broken character. */
function cutBytes(value: string, max: number): string {
  // The first TextDecoder costs 5 ms of CPU.
  if (Buffer.byteLength(value) <= max) return value;
  return new TextDecoder().decode(Buffer.from(value).subarray(0, max), { stream: true });
}

function folderBelow(home: string, folder: string): string | undefined {
  return home.startsWith('/') ? `${home.replace(/\/+$/, '')}/${folder}` : undefined;
}
