// What `GET /server` says about the machine. Reading it is I/O and happens once, at start; the rest is pure.

import { readFileSync } from 'node:fs';
import { arch, hostname, release, type } from 'node:os';
import type { ServerRecord } from '../protocol/actor/schemas.js';
import type { RouteSettings } from './routes.js';

export interface NodeInfo {
  readonly hostname: string;
  /** `linux/ARCH` with Go's architecture names. */
  readonly platform: string;
  /** For people: PRETTY_NAME of os-release. */
  readonly osVersion: string;
}

/** In the order of os-release(5). */
const OS_RELEASE_FILES = ['/etc/os-release', '/usr/lib/os-release'] as const;

/** Node's architecture names where Go has others. */
const GO_ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  ppc64: 'ppc64le',
  mipsel: 'mipsle',
};

export function readNodeInfo(): NodeInfo {
  const pretty = OS_RELEASE_FILES.map((file) => prettyName(readIfThere(file))).find(
    (name) => name !== undefined,
  );
  return {
    hostname: hostname(),
    platform: `linux/${goArchitecture(arch())}`,
    osVersion: pretty ?? `${type()} ${release()}`,
  };
}

export function goArchitecture(nodeArchitecture: string): string {
  return GO_ARCHITECTURES[nodeArchitecture] ?? nodeArchitecture;
}

/** PRETTY_NAME out of the text of an os-release file, which is written in shell syntax. Undefined: it has none. */
export function prettyName(osRelease: string): string | undefined {
  const value = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim();
  if (value === undefined) return undefined;
  const quoted = /^"((?:[^"\\]|\\.)*)"$|^'([^']*)'$/.exec(value);
  const name = quoted?.[1]?.replace(/\\(.)/g, '$1') ?? quoted?.[2] ?? value;
  return name === '' ? undefined : name;
}

export function serverRecord(node: NodeInfo, version: string, settings: RouteSettings): ServerRecord {
  return {
    hostname: node.hostname,
    os_platform: node.platform,
    os_version: node.osVersion,
    api_sw: 'tonearm',
    api_version: version,
    backends: {
      bluetooth: false,
      mpris: false,
      power: settings.power.enabled,
      pulseaudio: settings.audio.enabled,
      systemd: settings.systemd.enabled,
      upgrade: settings.upgrade.enabled,
      zeroconf: false,
    },
  };
}

/** '' where the file cannot be read: a node without os-release is no reason not to start. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
