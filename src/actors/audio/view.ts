// Turns records of the sound server into the records that clients see (docs/http-api.md, "Records"). Pure.
// The lengths of texts and property lists need no bound here, because the decoding in protocol/pulse has
// bounded them already (text-cache.ts, property-budget.ts).

import type {
  AudioServerRecord,
  CardRecord,
  ClientRecord,
  OutputRecord,
  PortRecord,
  ProfileRecord,
  SoundServerKind,
} from '../../protocol/actor/schemas.js';
import type { CardInfo, ServerInfo, SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { balanceOf, loudestFractionOf } from '../../protocol/pulse/volume.js';
import { withoutPrototype } from '../text.js';
import { stateName } from './device-states.js';
import type { KnownRecord } from './known-records.js';
import { isGroup, listenInputOf } from './marks.js';
import type { Props } from './names.js';
import { hasVolume } from './passthrough.js';
import { kindOfServer, PIPEWIRE_NAME } from './server-kind.js';
import type { OutputWish } from './wishes.js';

/**
 * A record contains at most this many profiles. A card may have more, because it has a profile for every
 * combination of its outputs and inputs.
 */
const PROFILES_MAX = 128;

/** PA_SINK_NETWORK in libpulse's def.h. */
const SINK_NETWORK = 0x8;

/** The words for the values of a port's `available`, from 0 (PA_PORT_AVAILABLE_UNKNOWN). */
const PORT_STATES = ['unknown', 'no', 'yes'] as const;
const PLUGGED_IN = PORT_STATES.indexOf('yes');

/**
 * The parts of a record that come from a property list. The records of outputs and inputs use only `props`.
 */
interface PropertyParts {
  readonly props: Record<string, string>;
  readonly app: string | undefined;
  readonly binary: string | undefined;
  readonly user: string | undefined;
  readonly host: string | undefined;
}

/**
 * Making these parts takes as long as making the rest of the record, so the parts are cached by property
 * list. An unchanged list is usually the same object (text-cache.ts).
 */
export class PropertyCache {
  readonly #parts = new WeakMap<Props, PropertyParts>();

  /**
   * Sorts the keys, so that the record stays the same if a server changes only the order of the properties.
   */
  partsOf(props: Props): PropertyParts {
    const cached = this.#parts.get(props);
    if (cached !== undefined) return cached;
    const binary = nonEmpty(props['application.process.binary']);
    const parts = {
      props: withoutPrototype(Object.entries(props).sort(([a], [b]) => (a < b ? -1 : 1))),
      app: nonEmpty(props['application.name']) ?? binary,
      binary,
      user: nonEmpty(props['application.process.user']),
      host: nonEmpty(props['application.process.host']),
    };
    this.#parts.set(props, parts);
    return parts;
  }
}

/**
 * The record `R`, but with optional fields that may be undefined: `{ id: number; nick?: string }` becomes
 * `{ id: number; nick?: string | undefined }`. JSON.stringify leaves undefined fields out.
 * `object extends Pick<R, K>` is true only for an optional field `K`.
 */
export type Encodable<R> = { readonly [K in keyof R]: object extends Pick<R, K> ? R[K] | undefined : R[K] };

/** Undefined for an empty text. */
export function nonEmpty(value: string | undefined): string | undefined {
  return value || undefined;
}

export function portsOf(ports: SinkInfo['ports']): PortRecord[] {
  return ports.map((port) => ({
    name: port.name,
    description: port.description || port.name,
    available: PORT_STATES[port.available] ?? 'unknown',
  }));
}

export function audioServerRecord(
  server: ServerInfo,
  defaultSink: KnownRecord<SinkInfo> | undefined,
): Encodable<AudioServerRecord> {
  // PipeWire's own version is only in `packageName`. The `packageVersion` is the same for every
  // PipeWire (server-kind.ts).
  const pipeWireVersion = PIPEWIRE_NAME.exec(server.packageName ?? '')?.[1];
  return {
    kind: kindOfServer(server),
    default_sink: defaultSink?.info.name ?? '',
    volume: defaultSink === undefined ? 0 : loudestFractionOf(defaultSink.info.volume),
    muted: defaultSink?.info.muted ?? false,
    server_name: nonEmpty(server.packageName),
    server_version: nonEmpty(pipeWireVersion ?? server.packageVersion),
  };
}

/** The parts of an output's record that do not come from its sink. */
export interface OutputSurroundings {
  readonly label: string;
  readonly isDefault: boolean;
  /** The name of the output's card. */
  readonly card: string | undefined;
  readonly wish: OutputWish;
  readonly volumeLimit: number | undefined;
}

/** A configured label takes the place of the device's own nick. */
function nickOf({ props }: SinkInfo, wish: OutputWish): string | undefined {
  return wish.label ?? nonEmpty(props['node.nick']) ?? nonEmpty(props['device.nick']);
}

/** Never empty. If outputs share a label, output-labels.ts adds their names. */
export function outputLabel(info: SinkInfo, wish: OutputWish): string {
  const candidates = [nickOf(info, wish), info.description, info.name].map((text) => text?.trim());
  return candidates.find((text) => text) ?? `#${info.index}`;
}

export function outputRecord(
  sink: KnownRecord<SinkInfo>,
  { label, isDefault, card, wish, volumeLimit }: OutputSurroundings,
  propertyCache: PropertyCache,
): Encodable<OutputRecord> {
  const { info } = sink;
  const { props } = propertyCache.partsOf(info.props);
  return {
    id: info.index,
    name: info.name,
    description: info.description || info.name,
    nick: nickOf(info, wish),
    label,
    muted: info.muted,
    volume: loudestFractionOf(info.volume),
    state: stateName(info.state) ?? 'unknown',
    default: isDefault,
    driver: nonEmpty(info.driver),
    active_port: nonEmpty(info.activePort),
    is_network: (info.flags & SINK_NETWORK) !== 0,
    props: wish.label === undefined ? props : withoutNick(props),
    // Silent channels show no balance, so the remembered one (`sink.balance`) is preferred.
    balance: balanceOf(sink.balance ?? info.volume, info.channelMap),
    ports: info.ports.length > 0 ? portsOf(info.ports) : undefined,
    card: nonEmpty(card),
    volume_limit: volumeLimit,
    hidden: wish.hidden,
    // `isGroup` is needed, because `wish.group` depends only on the sink's name, and a sink of another
    // program may have the name of a group. The record's type needs a mutable array, so the array is copied.
    group: isGroup(info) ? wish.group?.slice() : undefined,
  };
}

/**
 * If `available` is 0, the profile is certainly unusable now. The server's other values say nothing certain.
 * A profile is certainly usable if something is plugged into one of its ports. A profile without sinks and
 * sources is usable, because it only switches the card off.
 */
function profileAvailability(
  { name, available, sinks, sources }: CardInfo['profiles'][number],
  { ports = [] }: CardInfo,
): ProfileRecord['available'] {
  if (available === 0) return 'no';
  if (sinks + sources === 0) return 'yes';
  const isReady = ports.some((port) => port.available === PLUGGED_IN && port.profiles.includes(name));
  return isReady ? 'yes' : 'unknown';
}

export function cardRecord(info: CardInfo, name: string): Encodable<CardRecord> {
  const profiles = profileRecords(info);
  const isActive = (profile: ProfileRecord): boolean => profile.name === info.activeProfile;
  const activePosition = profiles.findIndex(isActive);
  // If the active profile is not among the first `PROFILES_MAX`, it takes the last place. If no profile
  // is active, `activePosition` is -1, and no place is kept.
  const firstCount = activePosition < PROFILES_MAX ? PROFILES_MAX : PROFILES_MAX - 1;
  return {
    id: info.index,
    name,
    description: info.props['device.description'] || name,
    driver: nonEmpty(info.driver),
    active_profile: info.activeProfile || undefined,
    // `slice` is needed, too, because a broken server may send several profiles with the active name.
    profiles: profiles
      .filter((profile, position) => position < firstCount || isActive(profile))
      .slice(0, PROFILES_MAX),
  };
}

/** Profiles without a name are left out. */
function profileRecords(info: CardInfo): readonly ProfileRecord[] {
  const records: ProfileRecord[] = [];
  for (const profile of info.profiles) {
    const { name, description, sinks, sources } = profile;
    if (!name) continue;
    const available = profileAvailability(profile, info);
    records.push({ name, description: description || name, available, outputs: sinks, inputs: sources });
  }
  return records;
}

/** Removes the device's own nick, so that clients cannot mistake it for the configured label. */
function withoutNick(props: Record<string, string>): Record<string, string> {
  const { 'node.nick': _node, 'device.nick': _device, ...others } = props;
  return others;
}

/** The parts of a client's record that do not come from its sink input. */
export interface ClientSurroundings {
  readonly kind: SoundServerKind;
  readonly name: string;
  /** The name of the client's output. */
  readonly output: string | undefined;
}

export function clientRecord(
  info: SinkInputInfo,
  { kind, name, output }: ClientSurroundings,
  propertyCache: PropertyCache,
): Encodable<ClientRecord> {
  const { app = name, binary, user, host, props } = propertyCache.partsOf(info.props);
  return {
    id: info.index,
    name,
    app,
    muted: info.muted,
    volume: hasVolume(info) ? loudestFractionOf(info.volume) : undefined,
    corked: info.corked,
    backend: kind,
    binary,
    user,
    host,
    props,
    output,
    input: listenInputOf(info),
  };
}
