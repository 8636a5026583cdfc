// Makes the records of `GET /server` and `GET /health` (docs/http-api.md, "Records"). Facts about the
// machine, except the hostname, are read once, when the service starts.

import { arch, hostname, release, type } from 'node:os';
import { textIfThere } from '../host/text-if-there.js';
import { type BackendHealth, type ChildName, healthWithReason } from '../protocol/actor/backends.js';
import type { HealthRecord, ServerRecord } from '../protocol/actor/schemas.js';
import type { EventHub } from './events/hub.js';
import type { ListeningState } from './listening.js';
import type { RouteSettings } from './routes.js';

export interface NodeInfo {
  /** The hostname is read at each use, because it may change while the service runs. */
  readonly hostname: string;
  /** `linux/ARCH` with Go's architecture names. */
  readonly platform: string;
  /** PRETTY_NAME of os-release; if it is missing, the kernel's name and release, such as `Linux 6.1.0`. */
  readonly osVersion: string;
  /**
   * The process may have at most this many open files and sockets. The number is infinite if there is no
   * limit, or if the limit is unknown. An absent number counts as infinite.
   */
  readonly descriptorsMax?: number;
}

export function readNodeInfo(): NodeInfo {
  // The files are in the order of os-release(5). The first file with a PRETTY_NAME decides.
  const prettyNames = ['/etc/os-release', '/usr/lib/os-release'].map((file) => prettyName(textIfThere(file)));
  // Go and Node.js use the same names for all architectures on which tonearm runs, except x64.
  const goArchitecture = arch() === 'x64' ? 'amd64' : arch();
  return {
    get hostname() {
      return hostname();
    },
    descriptorsMax: openFilesMax(textIfThere('/proc/self/limits')),
    platform: `linux/${goArchitecture}`,
    osVersion: prettyNames.find((name) => name !== undefined) ?? `${type()} ${release()}`,
  };
}

/**
 * Returns the soft limit of open files from the text of /proc/PID/limits, such as 1024 from the line
 * `Max open files 1024 524288 files`. The kernel applies the soft limit. At its start, Node.js raises the
 * soft limit to the hard limit (the second number). The result is infinite if the text has no such line, or
 * the word `unlimited` in place of the number.
 */
export function openFilesMax(limits: string): number {
  const softLimit = /^Max open files +(\d+) /m.exec(limits)?.[1];
  return softLimit === undefined ? Number.POSITIVE_INFINITY : Number(softLimit);
}

/**
 * Returns PRETTY_NAME from the text of an os-release file: `Debian GNU/Linux 12` from the line
 * `PRETTY_NAME="Debian GNU/Linux 12"`. The line has shell syntax. The result is undefined if there is no such
 * line, or if the value is empty.
 */
export function prettyName(osRelease: string): string | undefined {
  const value = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim();
  if (value === undefined) return undefined;
  // The value is `"..."` with a backslash before some characters, or `'...'`, or a word without quotes.
  const [, doubleQuoted, singleQuoted] = /^"((?:[^"\\]|\\.)*)"$|^'([^']*)'$/.exec(value) ?? [];
  const name = doubleQuoted?.replace(/\\(.)/g, '$1') ?? singleQuoted ?? value;
  return name === '' ? undefined : name;
}

/** `mayChange` is true if the client may change something. */
export function serverRecord(
  node: Pick<NodeInfo, 'platform' | 'osVersion'>,
  hostname: string,
  version: string,
  settings: RouteSettings,
  mayChange: boolean,
): ServerRecord {
  return {
    hostname,
    os_platform: node.platform,
    os_version: node.osVersion,
    api_sw: 'tonearm',
    api_version: version,
    backends: enabledBackends(settings),
    // The configuration has the step in percent. For clients, 1 is 100 %.
    volume_step: settings.api.ui.volumeStep / 100,
    control: mayChange,
  };
}

/**
 * Clients know the backends and bridges by these names, some of which differ from the names in the settings.
 */
function enabledBackends(settings: RouteSettings): ServerRecord['backends'] {
  return {
    bluetooth: settings.bluetooth.enabled,
    mpris: settings.players.enabled,
    power: settings.power.enabled,
    pulseaudio: settings.audio.enabled,
    systemd: settings.systemd.enabled,
    upgrade: settings.upgrade.enabled,
    zeroconf: settings.discovery.enabled,
    mqtt: settings.mqtt.enabled,
  };
}

interface HealthFacts {
  readonly version: string;
  readonly uptimeMs: number;
  readonly streams: ReturnType<EventHub['stats']>;
  readonly listening: ListeningState;
  readonly backends: ReadonlyMap<ChildName, BackendHealth>;
}

/** The status `ok` means that every enabled backend and bridge is up. */
export function healthRecord({ version, uptimeMs, streams, listening, backends }: HealthFacts): HealthRecord {
  const healthEntries = [...backends].map(
    ([backend, health]) =>
      [backend, { ...healthWithReason(health), since: new Date(health.since).toISOString() }] as const,
  );
  const areAllUp = [...backends.values()].every(({ state }) => state === 'up');
  return {
    status: areAllUp ? 'ok' : 'degraded',
    version,
    uptime_s: Math.max(0, Math.floor(uptimeMs / 1000)),
    listening: [...listening.listening],
    waiting: [...listening.waiting],
    backends: Object.fromEntries(healthEntries),
    streams: { open: streams.open, closed_slow: streams.closedSlow },
  };
}
