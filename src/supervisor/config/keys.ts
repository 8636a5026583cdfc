// Every key of the configuration as one table: its type, default, meaning and reader. It drives the check, the hints for
// unknown keys, the effective configuration and the documentation. Pure.

import { bindTarget, corsOrigin, hostName } from './addresses.js';
import type { Directories } from './directories.js';
import { filePath, socketPath } from './paths.js';
import { flag, integer, listOf, oneOrMore, type Reader, text, word } from './readers.js';
import { unitName, units } from './units.js';

/** One key, whose value is a `T`; `D` is `T`, or includes `undefined` where a key has no default. */
export interface KeyRow<T, D = T> {
  readonly type: string;
  readonly meaning: string;
  readonly byDefault: (directories: Directories) => D;
  /** How the default is documented when it depends on the environment. */
  readonly shownDefault?: string;
  readonly read: Reader<T>;
}

function key<T>(type: string, byDefault: NoInfer<T>, meaning: string, read: Reader<T>): KeyRow<T> {
  return { type, meaning, byDefault: () => byDefault, read };
}

function optional<T>(type: string, meaning: string, read: Reader<T>): KeyRow<T, T | undefined> {
  return { type, meaning, byDefault: () => undefined, read };
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

const ROWS = {
  bind: key(
    'string or list',
    ['lo'],
    'interface names, IP addresses (v4 or v6), or `all`',
    oneOrMore(text('an interface name, an IP address or "all"', bindTarget)),
  ),
  logLevel: key(
    LOG_LEVELS.map((level) => `\`${level}\``).join(' '),
    'info',
    'least level that is logged (any case)',
    word(LOG_LEVELS),
  ),
  'api.port': key('1..65535', 8018, 'TCP port', integer(1, 65535)),
  'api.cors.origins': key(
    'list of origins, `*` allowed',
    [],
    'browser origins that may call the API',
    listOf(text('an origin', corsOrigin)),
  ),
  'api.hosts': key(
    'list of host names',
    [],
    'further names under which the node may be addressed',
    listOf(text('a host name', hostName)),
  ),
  'api.sse.enabled': key('boolean', true, '`GET /events` exists', flag),
  'api.sse.maxClients': key('1..10000', 256, 'further streams get 503', integer(1, 10000)),
  'systemd.enabled': key('boolean', true, 'service-unit backend', flag),
  'systemd.system': key('list of units', [], 'read-only monitored units, system scope', units),
  'systemd.user': key('list of units', [], 'controllable units, user scope', units),
  'pulseaudio.enabled': key('boolean', true, 'audio backend', flag),
  'pulseaudio.serve_cookie': key('boolean', false, 'exposes `GET /audio/cookie`', flag),
  'power.enabled': key('boolean', false, 'power backend', flag),
  'power.capabilities.poweroff': key('boolean', false, 'allows powering off', flag),
  'power.capabilities.reboot': key('boolean', false, 'allows rebooting', flag),
  'upgrade.enabled': key('boolean', false, 'upgrade backend', flag),
  'upgrade.resultFile': optional(
    'absolute path',
    'required when enabled; alone it gives read-only `GET /upgrade`',
    filePath,
  ),
  'upgrade.checkUnit': optional('unit name', 'enables `POST /upgrade/check`', unitName),
  'upgrade.upgradeUnit': optional('unit name', 'enables `POST /upgrade/start`', unitName),
  'upgrade.progressSocket': {
    type: 'absolute path',
    meaning: 'tmpfs: no flash writes',
    byDefault: ({ runtime }: Directories): string => `${runtime}/tonearm/upgrade.sock`,
    shownDefault: '$XDG_RUNTIME_DIR/tonearm/upgrade.sock',
    read: socketPath,
  },
  'upgrade.stateFile': {
    type: 'absolute path',
    meaning: 'written at run transitions only, never per progress line',
    byDefault: ({ state }: Directories): string => `${state}/tonearm/upgrade-run.json`,
    shownDefault: '$XDG_STATE_HOME/tonearm/upgrade-run.json',
    read: filePath,
  },
};

/** The value of each key, plain and complete. */
export type Values = { readonly [K in keyof typeof ROWS]: ReturnType<(typeof ROWS)[K]['byDefault']> };

export type Key = keyof Values;

export const KEYS: { readonly [K in Key]: KeyRow<NonNullable<Values[K]>, Values[K]> } = ROWS;

/** Other names of whole sections, accepted for the sake of configurations that exist. */
export const SECTION_ALIASES: ReadonlyMap<string, string> = new Map([
  ['service_manager', 'systemd'],
  ['sound_server', 'pulseaudio'],
]);

export function isKey(path: string): path is Key {
  return Object.hasOwn(KEYS, path);
}

/** Every section's path, from the keys below it: `api`, `api.cors`, ... */
export const SECTIONS: ReadonlySet<string> = new Set(
  Object.keys(KEYS).flatMap((path) => {
    const parts = path.split('.').slice(0, -1);
    return parts.map((_, index) => parts.slice(0, index + 1).join('.'));
  }),
);
