// Every key of the configuration as one table in the shape of the file: type, default, meaning and reader. It drives the walk,
// the hints for unknown keys, the effective configuration and the documentation. Pure.

import type { Settings } from '../../protocol/actor/settings.js';
import { runtimeDirectory, xdgDirectory } from '../../user-directories.js';
import {
  checkedText,
  flag,
  hiddenText,
  integer,
  listOf,
  oneOfWords,
  oneOrMore,
  unit,
  units,
  type ValueReader,
} from './readers.js';
import {
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

/** What the defaults, the paths and the place of the configuration depend on. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home directory; '' when there is none. */
  readonly home: string;
  readonly hostname: string;
  readonly uid: number;
  /** What is wrong with a file that holds a secret; undefined: nothing. Without it none is looked at. */
  readonly secretFault?: ((path: string) => string | undefined) | undefined;
}

/** One key, whose value is a `T`; `D` is `T`, or includes `undefined` where a key has no default. */
export interface KeyRow<T, D = T> {
  readonly type: string;
  readonly meaning: string;
  readonly byDefault: (environment: Environment) => D;
  /** How the default is documented when it depends on the environment. */
  readonly shownDefault?: string;
  readonly read: ValueReader<T>;
}

/** A section's keys and inner sections, by their names. */
export interface KeyTable {
  readonly [name: string]: KeyRow<unknown> | KeyTable;
}

function key<T>(type: string, byDefault: NoInfer<T>, meaning: string, read: ValueReader<T>): KeyRow<T> {
  return { type, meaning, byDefault: () => byDefault, read };
}

function optionalKey<T>(type: string, meaning: string, read: ValueReader<T>): KeyRow<T, T | undefined> {
  return { type, meaning, byDefault: () => undefined, read };
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

const readFile = checkedText('an absolute path', filePath);
const secretFile = hiddenText('an absolute path', filePath);
const branch = checkedText('a topic', mqttTopic);

export const KEYS = {
  bind: key(
    'string or list',
    ['lo'],
    'interface names, IP addresses (v4 or v6), or `all`',
    oneOrMore(checkedText('an interface name, an IP address or "all"', bindTarget)),
  ),
  logLevel: key(
    LOG_LEVELS.map((level) => `\`${level}\``).join(' '),
    'info',
    'least level that is logged (any case)',
    oneOfWords(LOG_LEVELS),
  ),
  api: {
    port: key('1..65535', 8018, 'TCP port', integer(1, 65535)),
    cors: {
      origins: key(
        'list of origins, `*` allowed',
        [],
        'browser origins that may call the API',
        listOf(checkedText('an origin', corsOrigin)),
      ),
    },
    hosts: key(
      'list of host names',
      [],
      'further names under which the node may be addressed',
      listOf(checkedText('a host name', hostName)),
    ),
    sse: {
      enabled: key('boolean', true, '`GET /events` exists', flag),
      maxClients: key('1..10000', 256, 'further streams get 503', integer(1, 10000)),
    },
    ui: {
      enabled: key('boolean', true, 'the page at `/ui` exists', flag),
    },
  },
  systemd: {
    enabled: key('boolean', true, 'service-unit backend', flag),
    system: key('list of units', [], 'read-only monitored units, system scope', units),
    user: key('list of units', [], 'controllable units, user scope', units),
  },
  pulseaudio: {
    enabled: key('boolean', true, 'audio backend', flag),
    serve_cookie: key('boolean', false, 'exposes `GET /audio/cookie`', flag),
  },
  power: {
    enabled: key('boolean', false, 'power backend', flag),
    capabilities: {
      poweroff: key('boolean', false, 'allows powering off', flag),
      reboot: key('boolean', false, 'allows rebooting', flag),
    },
  },
  upgrade: {
    enabled: key('boolean', false, 'upgrade backend', flag),
    resultFile: optionalKey(
      'absolute path',
      'required when enabled; alone it gives read-only `GET /upgrade`',
      readFile,
    ),
    checkUnit: optionalKey('unit name', 'enables `POST /upgrade/check`', unit),
    upgradeUnit: optionalKey('unit name', 'enables `POST /upgrade/start`', unit),
    progressSocket: {
      type: 'absolute path',
      meaning: 'tmpfs: no flash writes',
      byDefault: ({ env, uid }: Environment): string => `${runtimeDirectory(env, uid)}/tonearm/upgrade.sock`,
      shownDefault: '$XDG_RUNTIME_DIR/tonearm/upgrade.sock',
      read: checkedText('an absolute path', socketPath),
    },
    stateFile: {
      type: 'absolute path',
      meaning: 'written at run transitions only, never per progress line',
      byDefault: (environment: Environment): string =>
        `${stateDirectory(environment)}/tonearm/upgrade-run.json`,
      shownDefault: '$XDG_STATE_HOME/tonearm/upgrade-run.json',
      read: readFile,
    },
  },
  players: {
    enabled: key('boolean', false, 'media players (MPRIS)', flag),
  },
  discovery: {
    enabled: key('boolean', false, 'announces the service by mDNS, through Avahi', flag),
    name: {
      type: '1..63 bytes',
      meaning: "the service's name on the network",
      byDefault: ({ hostname }: Environment): string => cut(`tonearm on ${hostname}`, SERVICE_NAME_BYTES_MAX),
      shownDefault: 'tonearm on HOSTNAME',
      read: checkedText('a name', serviceName),
    },
  },
  mqtt: {
    enabled: key('boolean', false, 'joins an MQTT broker', flag),
    url: optionalKey(
      '`mqtt://` or `mqtts://`',
      'required when enabled; no user and password in it',
      checkedText('the address of a broker', brokerUrl),
    ),
    username: optionalKey('string', 'the name for the broker', checkedText('a user name', userName)),
    passwordFile: optionalKey('absolute path', 'the file must be readable by nobody else', secretFile),
    caFile: optionalKey('absolute path', "certificates; without it the system's", readFile),
    topic: {
      type: 'topic without wildcards',
      meaning: "the node's branch; must be the node's own",
      byDefault: ({ hostname }: Environment): string => `tonearm/${hostname.replace(/[^\w.-]/g, '_')}`,
      shownDefault: 'tonearm/HOSTNAME',
      read: branch,
    },
    control: key('boolean', true, 'false: publishes, takes no commands', flag),
    homeAssistant: key('boolean', true, "publishes Home Assistant's discovery", flag),
    homeAssistantPrefix: key(
      'topic',
      'homeassistant',
      "where Home Assistant's discovery is published",
      branch,
    ),
  },
};

type ValuesIn<T> = {
  readonly [K in keyof T]: T[K] extends { readonly byDefault: (environment: Environment) => infer D }
    ? D
    : ValuesIn<T[K]>;
};

/** The value of each key, plain and complete, in the shape of the file. */
export type KeyValues = ValuesIn<typeof KEYS>;

/** Other names of whole sections, accepted for the sake of configurations that exist. */
export const SECTION_ALIASES: ReadonlyMap<string, string> = new Map([
  ['service_manager', 'systemd'],
  ['sound_server', 'pulseaudio'],
  ['mpris', 'players'],
  ['zeroconf', 'discovery'],
]);

export function isRow(row: KeyRow<unknown> | KeyTable): row is KeyRow<unknown> {
  return typeof row['read'] === 'function';
}

/** Dotted paths of all keys and sections below a table, each section before what is in it. */
export function pathsIn(table: KeyTable, path = ''): readonly string[] {
  return Object.entries(table).flatMap(([name, row]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    return isRow(row) ? [inner] : [inner, ...pathsIn(row, inner)];
  });
}

/** What the parts of the service receive: in the settings every backend's part has the backend's name. */
export function settingsOf({ pulseaudio, systemd, ...others }: KeyValues): Settings {
  const { checkUnit, upgradeUnit } = others.upgrade;
  const internal = [checkUnit, upgradeUnit].filter((name) => name !== undefined);
  return {
    ...others,
    systemd: { ...systemd, internal: [...new Set(internal)] },
    audio: { enabled: pulseaudio.enabled, serveCookie: pulseaudio.serve_cookie },
  };
}

/** Undefined when there is neither a home nor an XDG variable to find it by. */
export function configDirectory({ env, home }: Environment): string | undefined {
  return xdgDirectory(env['XDG_CONFIG_HOME']) ?? below(home, '.config');
}

/** Without a home nothing outlives a reboot; the run's state then lies beside the socket. */
function stateDirectory({ env, home, uid }: Environment): string {
  return xdgDirectory(env['XDG_STATE_HOME']) ?? below(home, '.local/state') ?? runtimeDirectory(env, uid);
}

/** The beginning of a text, so long that it has no more than `max` bytes and breaks no character. */
function cut(value: string, max: number): string {
  return new TextDecoder().decode(Buffer.from(value).subarray(0, max), { stream: true });
}

function below(home: string, folder: string): string | undefined {
  return home.startsWith('/') ? `${home.replace(/\/+$/, '')}/${folder}` : undefined;
}
