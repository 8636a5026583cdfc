// Makes the records of `GET /server` and `GET /health` (docs/http-api.md, "Records"). Except for the
// hostname, facts about the machine are read once, at the start.

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
  /** PRETTY_NAME of os-release, for people. */
  readonly osVersion: string;
  /** The limit of open files and sockets; absent means infinite. It is also infinite if it is unknown. */
  readonly descriptorsMax?: number;
}

export function readNodeInfo(): NodeInfo {
  // The files are in the order of os-release(5). The first one that has a name counts.
  const names = ['/etc/os-release', '/usr/lib/os-release'].map((file) => prettyName(textIfThere(file)));
  // The other architectures on which tonearm runs have the same name in Go as in Node.js.
  const goArchitecture = arch() === 'x64' ? 'amd64' : arch();
  return {
    get hostname() {
      return hostname();
    },
    descriptorsMax: openFilesMax(textIfThere('/proc/self/limits')),
    platform: `linux/${goArchitecture}`,
    osVersion: names.find((name) => name !== undefined) ?? `${type()} ${release()}`,
  };
}

/**
 * The soft limit in the text of /proc/PID/limits, such as 1024 in `Max open files 1024 524288 files`. The
 * kernel applies the soft limit. Node.js raises it to the hard limit, the second number, when it starts.
 */
export function openFilesMax(limits: string): number {
  const softLimit = /^Max open files +(\d+) /m.exec(limits)?.[1];
  return softLimit === undefined ? Number.POSITIVE_INFINITY : Number(softLimit);
}

/**
 * The value in a line such as `PRETTY_NAME="Debian GNU/Linux 12"` of an os-release file, which has shell
 * syntax. The result is undefined if there is no such line, or if its value is empty.
 */
export function prettyName(osRelease: string): string | undefined {
  const value = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim();
  if (value === undefined) return undefined;
  // The value is `"..."` with a backslash before some characters, or `'...'`, or a word without quotes.
  const [, doubleQuoted, singleQuoted] = /^"((?:[^"\\]|\\.)*)"$|^'([^']*)'$/.exec(value) ?? [];
  const name = doubleQuoted?.replace(/\\(.)/g, '$1') ?? singleQuoted ?? value;
  return name === '' ? undefined : name;
}

export function serverRecord(
  node: NodeInfo,
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

/** Clients know the backends by these names, some of which differ from the names in the settings. */
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

/** `ok` means that every enabled backend and bridge is up. */
export function healthRecord({ version, uptimeMs, streams, listening, backends }: HealthFacts): HealthRecord {
  const rows = [...backends].map(
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
    backends: Object.fromEntries(rows),
    streams: { open: streams.open, closed_slow: streams.closedSlow },
  };
}
