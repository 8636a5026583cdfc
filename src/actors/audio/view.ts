// Sound server records -> the records that clients see (contract, section 2). Pure; optional fields are absent, never null.

import type {
  AudioServerRecord,
  ClientRecord,
  OutputRecord,
  PortRecord,
  SoundServerKind,
} from '../../protocol/actor/schemas.js';
import type { ServerInfo, SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { balanceOf, levelOf } from '../../protocol/pulse/volume.js';
import { capped } from '../text.js';
import { NAME_MAX_UNITS, type Props } from './names.js';
import type { HeldRecord } from './state.js';

/** Properties are free text of strangers: bounds on how many of them pass, the first in alphabetical order. */
export const PROPS_MAX_ENTRIES = 128;

/** PA_SINK_NETWORK, as libpulse's def.h has it. */
const SINK_NETWORK = 0x8;

const SINK_STATES = ['running', 'idle', 'suspended'] as const;
const PORT_STATES = ['unknown', 'no', 'yes'] as const;

/** How PipeWire's sound server introduces itself; its protocol-level version is a constant, the true one stands here. */
const PIPEWIRE = /\bPipeWire(?: ([^)\s]+))?/;

export function kindOfServer(server: ServerInfo): SoundServerKind {
  return PIPEWIRE.test(server.packageName ?? '') ? 'pipewire' : 'pulseaudio';
}

const shown = (text: string): string => capped(text, NAME_MAX_UNITS);

/** In a fixed order, because a server may list the same properties in another one and that is no change. */
function shownProps(props: Props): Record<string, string> {
  const keys = Object.keys(props).sort().slice(0, PROPS_MAX_ENTRIES);
  return Object.fromEntries(keys.map((key) => [shown(key), shown(props[key] ?? '')]));
}

/** A field of the schemas: a name that none of them has does not compile. */
type Field = keyof AudioServerRecord | keyof OutputRecord | keyof ClientRecord;

/** The field under its name, or nothing at all when there is no value to show. */
function optionalField<K extends Field>(key: K, value: string | undefined): { [P in K]?: string } {
  const field: { [P in K]?: string } = {};
  if (value) field[key] = shown(value);
  return field;
}

function portsOf(info: SinkInfo): PortRecord[] {
  return info.ports.map((port) => ({
    name: port.name,
    description: port.description ?? port.name,
    available: PORT_STATES[port.available] ?? 'unknown',
  }));
}

export function audioServerRecord(
  server: ServerInfo,
  defaultSink: HeldRecord<SinkInfo> | undefined,
): AudioServerRecord {
  const version = PIPEWIRE.exec(server.packageName ?? '')?.[1] ?? server.packageVersion;
  return {
    kind: kindOfServer(server),
    default_sink: defaultSink?.info.name ?? '',
    volume: defaultSink === undefined ? 0 : levelOf(defaultSink.info.volume),
    muted: defaultSink?.info.muted ?? false,
    ...optionalField('server_name', server.packageName),
    ...optionalField('server_version', version),
  };
}

export function outputRecord(sink: HeldRecord<SinkInfo>, isDefault: boolean): OutputRecord {
  const { info } = sink;
  return {
    id: info.index,
    name: info.name,
    description: shown(info.description ?? info.name),
    ...optionalField('nick', info.props['node.nick'] ?? info.props['device.nick']),
    muted: info.muted,
    volume: levelOf(info.volume),
    state: SINK_STATES[info.state ?? -1] ?? 'unknown',
    default: isDefault,
    ...optionalField('driver', info.driver),
    ...optionalField('active_port', info.activePort),
    is_network: (info.flags & SINK_NETWORK) !== 0,
    props: shownProps(info.props),
    // Silence has no balance of its own: the remembered one is shown.
    balance: balanceOf(sink.balance ?? info.volume, info.channelMap),
    ...(info.ports.length > 0 && { ports: portsOf(info) }),
  };
}

/** What a client's record takes from elsewhere than its own sink input. */
export interface ClientSurroundings {
  readonly kind: SoundServerKind;
  readonly name: string;
  readonly output: string | undefined;
}

/** Whether a stream's volume means anything: not for passthrough. */
export function hasVolume(info: SinkInputInfo): boolean {
  return info.hasVolume && info.volume.length > 0;
}

export function clientRecord(info: SinkInputInfo, { kind, name, output }: ClientSurroundings): ClientRecord {
  const { props } = info;
  const binary = props['application.process.binary'];
  return {
    id: info.index,
    name,
    app: shown(props['application.name'] || binary || name),
    muted: info.muted,
    ...(hasVolume(info) && { volume: levelOf(info.volume) }),
    corked: info.corked,
    backend: kind,
    ...optionalField('binary', binary),
    ...optionalField('user', props['application.process.user']),
    ...optionalField('host', props['application.process.host']),
    props: shownProps(props),
    ...optionalField('output', output),
  };
}
