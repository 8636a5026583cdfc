// Decides which keys the configuration has, and the default and the reader of each. docs/configuration.md
// explains the keys. Pure.

import { runtimeDirectory, xdgDirectory } from '../../host/user-directories.js';
import { CHILD_NAMES, outerNames } from '../../protocol/actor/backends.js';
import type { Settings } from '../../protocol/actor/settings.js';
import { groups } from './groups.js';
import { listen } from './listen.js';
import type { ValueReader } from './readers.js';
import * as readers from './readers.js';
import * as texts from './texts.js';
import { unit, units } from './units.js';

/** Defaults, paths and the place of the configuration depend on this. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The home directory; '' if there is none. */
  readonly home: string;
  readonly hostname: string;
  readonly uid: number;
  /**
   * Returns what is wrong with a file that holds a secret; undefined if nothing is wrong. Without this
   * function such files are not checked.
   */
  readonly secretFault?: ((path: string) => string | undefined) | undefined;
}

/** The default has the type `D`, which is `T | undefined` if the key may have no value. */
export interface KeyRow<T, D = T> {
  readonly byDefault: (environment: Environment) => D;
  readonly read: ValueReader<T>;
}

/** The keys and subsections of a section, by name. */
export interface KeyTable {
  readonly [name: string]: KeyRow<unknown> | KeyTable;
}

/** `NoInfer` lets only `read` decide what `T` is, so a default of another type does not compile. */
function key<T>(
  byDefault: NoInfer<T> | ((environment: Environment) => NoInfer<T>),
  read: ValueReader<T>,
): KeyRow<T> {
  return { byDefault: byDefault instanceof Function ? byDefault : () => byDefault, read };
}

function optionalKey<T>(read: ValueReader<T>): KeyRow<T, T | undefined> {
  return { byDefault: () => undefined, read };
}

/** At most this many other nodes may be configured, because this node asks each of them once a minute. */
const NODES_MAX = 32;

const bindTarget = readers.checkedText('an interface name, an IP address or "all"', texts.bindTarget);
const filePath = readers.checkedText('an absolute path', texts.filePath);
const topic = readers.checkedText('a topic', texts.mqttTopic);

export const KEYS = {
  bind: key(['lo'], readers.oneOrMore(bindTarget)),
  logLevel: key('info', readers.oneOfWords(['fatal', 'error', 'warn', 'info', 'debug', 'trace'])),
  api: {
    port: key(8018, readers.integer(1, 65535)),
    cors: { origins: key([], readers.listOf(readers.checkedText('an origin', texts.corsOrigin))) },
    hosts: key([], readers.listOf(readers.checkedText('a host name', texts.hostName))),
    sse: { enabled: key(true, readers.flag), maxClients: key(256, readers.integer(1, 10000)) },
    ui: { enabled: key(true, readers.flag), volumeStep: key(5, readers.integer(1, 10)) },
    logs: key(true, readers.flag),
    control: key(true, readers.control),
    metrics: key(true, readers.flag),
  },
  systemd: { enabled: key(true, readers.flag), system: key([], units), user: key([], units) },
  pulseaudio: {
    enabled: key(true, readers.flag),
    serve_cookie: key(false, readers.flag),
    volumeLimit: optionalKey(readers.oneOrByName(readers.fraction)),
    outputs: key({}, readers.byName(readers.outputChoice)),
    groups: key({}, groups),
    listen: key({}, listen),
    // The latency is in ms.
    listenLatency: key(100, readers.integer(50, 1000)),
  },
  power: {
    enabled: key(false, readers.flag),
    capabilities: { poweroff: key(false, readers.flag), reboot: key(false, readers.flag) },
  },
  upgrade: {
    enabled: key(false, readers.flag),
    resultFile: optionalKey(filePath),
    checkUnit: optionalKey(unit),
    upgradeUnit: optionalKey(unit),
    progressSocket: key(
      ({ env, uid }) => `${runtimeDirectory(env, uid)}/tonearm/upgrade.sock`,
      readers.checkedText('an absolute path', texts.socketPath),
    ),
    stateFile: key((environment) => `${stateDirectory(environment)}/tonearm/upgrade-run.json`, filePath),
  },
  players: {
    enabled: key(false, readers.flag),
    fetchCovers: key(false, readers.flag),
    ignore: key([], readers.listOf(readers.checkedText('the name of a player', texts.playerPattern))),
    exclusive: key(false, readers.flag),
  },
  bluetooth: {
    enabled: key(false, readers.flag),
    adapter: optionalKey(readers.checkedText('the name of an adapter', texts.adapterName)),
    powerOnStart: key(false, readers.flag),
    reconnect: key(false, readers.flagOrList(readers.checkedText('an address', texts.bluetoothAddress))),
    // The next three defaults are in seconds, because `duration` turns the written times into seconds.
    pairingTimeout: key(60, readers.duration('10s', '10m')),
    scanTimeout: key(60, readers.duration('10s', '10m')),
    idleTimeout: key(0, readers.zeroOr(readers.duration('1m', '24h'))),
  },
  discovery: {
    enabled: key(false, readers.flag),
    name: key(
      ({ hostname }) => cutBytes(`tonearm on ${hostname}`, texts.SERVICE_NAME_MAX_BYTES),
      readers.checkedText('a name', texts.serviceName),
    ),
    nodes: key(
      [],
      readers.shortListOfDifferentTexts(
        NODES_MAX,
        readers.checkedText('the address of a node', texts.nodeUrl),
      ),
    ),
    trust: key(true, readers.flag),
  },
  mqtt: {
    enabled: key(false, readers.flag),
    url: optionalKey(readers.checkedText('the address of a broker', texts.brokerUrl)),
    username: optionalKey(readers.checkedText('a user name', texts.userName)),
    passwordFile: optionalKey(readers.checkedText('an absolute path', texts.filePath, 'secret')),
    caFile: optionalKey(filePath),
    topic: key(({ hostname }) => `tonearm/${hostname.replace(/[^\w.-]/g, '_')}`, topic),
    control: key(true, readers.flag),
    homeAssistant: key(true, readers.flag),
    homeAssistantPrefix: key('homeassistant', topic),
  },
};

/** This type turns `{ ui: { enabled: key(true, readers.flag) } }` into `{ ui: { enabled: boolean } }`. */
type ValuesIn<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends {
    readonly byDefault: (environment: Environment) => infer Value;
  }
    ? Value
    : ValuesIn<Table[Name]>;
};

/** The values of all keys, in the shape of the file. */
export type KeyValues = ValuesIn<typeof KEYS>;

/**
 * Section names that other programs use, each with our name. They are accepted so that configurations of
 * these programs can be used.
 */
export const SECTION_ALIASES: ReadonlyMap<string, string> = sectionAliases();

function sectionAliases(): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  for (const child of CHILD_NAMES) {
    const { section, sectionAlias } = outerNames(child);
    if (sectionAlias !== undefined) aliases.set(sectionAlias, section);
  }
  return aliases;
}

/** True for the row of a key, false for a section. */
export function isRow(entry: KeyRow<unknown> | KeyTable): entry is KeyRow<unknown> {
  return typeof entry['read'] === 'function';
}

/** The dotted paths of all keys and sections in a table. Each section comes before its keys. */
export function pathsIn(table: KeyTable, tablePath = ''): readonly string[] {
  return Object.entries(table).flatMap(([name, entry]) => {
    const entryPath = tablePath === '' ? name : `${tablePath}.${name}`;
    return isRow(entry) ? [entryPath] : [entryPath, ...pathsIn(entry, entryPath)];
  });
}

/**
 * In the settings, the section of each child has the child's name, so `pulseaudio` becomes `audio`. The
 * backends `systemd` and `audio` need more than the keys of their own sections.
 */
export function settingsOf({ pulseaudio, systemd, ...otherSections }: KeyValues): Settings {
  const { serve_cookie: serveCookie, ...audio } = pulseaudio;
  const { checkUnit, upgradeUnit } = otherSections.upgrade;
  const upgradeUnits = [checkUnit, upgradeUnit].filter((name) => name !== undefined);
  // Clients do not see these units (`SystemdSettings` in protocol/actor/settings.ts).
  const internal = [...new Set(upgradeUnits)];
  return {
    ...otherSections,
    systemd: { ...systemd, internal },
    // Only `tonearm bench` sets `actsByItself` to false afterwards.
    audio: { ...audio, actsByItself: true, serveCookie, apiPort: otherSections.api.port },
  };
}

/** The directory of the user's configurations; undefined if there is neither `XDG_CONFIG_HOME` nor a home. */
export function configDirectory({ env, home }: Environment): string | undefined {
  return xdgDirectory(env['XDG_CONFIG_HOME']) ?? folderBelow(home, '.config');
}

/**
 * The directory for files that survive a reboot. If there is neither `XDG_STATE_HOME` nor a home, the
 * directory for run-time files is used, although its files do not survive a reboot.
 */
function stateDirectory({ env, home, uid }: Environment): string {
  return (
    xdgDirectory(env['XDG_STATE_HOME']) ?? folderBelow(home, '.local/state') ?? runtimeDirectory(env, uid)
  );
}

/** The beginning of a text, at most `maxBytes` long. No character is cut in two. */
function cutBytes(text: string, maxBytes: number): string {
  // A short text is returned at once, because the first TextDecoder of the process costs 5 ms of CPU.
  if (Buffer.byteLength(text) <= maxBytes) return text;
  // With `stream`, the decoder leaves out a last character whose bytes are not complete.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes), { stream: true });
}

function folderBelow(home: string, folder: string): string | undefined {
  return home.startsWith('/') ? `${home.replace(/\/+$/, '')}/${folder}` : undefined;
}
