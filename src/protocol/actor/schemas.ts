// The schemas of records and of request bodies. The types of this file can be imported anywhere. Its values
// load typebox, so a file that imports these values must be loaded only when it is needed.

import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { BACKEND_STATES, CHILD_NAMES, type ChildName } from './backends.js';
import { NAME_MAX_CHARACTERS } from './parameters.js';

/**
 * One of several words, as an `enum`. typebox's own union of literals would be an `anyOf` of constants, which
 * programs that generate clients do not understand.
 */
export function oneOf<const V extends readonly string[]>(...values: V) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: values });
}

/**
 * A map by name, with `additionalProperties`. typebox's own record would have `patternProperties`, which
 * programs that generate clients do not understand.
 */
function mapOf<M>(values: TSchema) {
  return Type.Unsafe<M>({ type: 'object', additionalProperties: values });
}

/** An object that may have only these members. */
function closed<T extends TProperties>(properties: T): TObject<T> {
  return Type.Object(properties, { additionalProperties: false });
}

const Volume = Type.Number({ minimum: 0, description: '1 = 100 %, two decimals; may exceed 1 when read' });
const StringMap = mapOf<Record<string, string>>(Type.String());

const BackendStateName = oneOf(...BACKEND_STATES);

export const BackendHealthRecord = closed({
  state: BackendStateName,
  since: Type.String({ format: 'date-time' }),
  restarts: Type.Integer({ minimum: 0 }),
  detail: Type.Optional(Type.String()),
});

export const BackendUpdateRecord = closed({
  backend: oneOf(...CHILD_NAMES),
  state: BackendStateName,
  detail: Type.Optional(Type.String()),
});

export const ServerRecord = closed({
  hostname: Type.String(),
  os_platform: Type.String({ description: 'linux/ARCH with Go-style architecture names' }),
  os_version: Type.String({ description: 'PRETTY_NAME of os-release' }),
  api_sw: Type.Literal('tonearm'),
  api_version: Type.String(),
  // Three members have other names than their children (`ChildName` in backends.ts): `mpris` stands for
  // `players`, `pulseaudio` for `audio`, and `zeroconf` for `discovery`.
  backends: closed({
    bluetooth: Type.Boolean(),
    mpris: Type.Boolean(),
    power: Type.Boolean(),
    pulseaudio: Type.Boolean(),
    systemd: Type.Boolean(),
    upgrade: Type.Boolean(),
    zeroconf: Type.Boolean(),
    mqtt: Type.Boolean(),
  }),
  volume_step: Type.Number({
    minimum: 0.01,
    maximum: 0.1,
    description: 'what a button or key of the page moves a volume by',
  }),
  control: Type.Boolean({ description: 'Whoever has asked may change something' }),
});

export const HealthRecord = closed({
  status: oneOf('ok', 'degraded'),
  version: Type.String(),
  uptime_s: Type.Integer({ minimum: 0 }),
  listening: Type.Array(Type.String(), { description: 'Addresses that are listened on' }),
  waiting: Type.Array(Type.String(), { description: 'Names of bind that are not there' }),
  backends: mapOf<Partial<Record<ChildName, Static<typeof BackendHealthRecord>>>>(BackendHealthRecord),
  streams: closed({ open: Type.Integer({ minimum: 0 }), closed_slow: Type.Integer({ minimum: 0 }) }),
});

export const ServiceRecord = closed({
  name: Type.String(),
  scope: oneOf('user', 'system'),
  active_state: Type.Optional(
    oneOf('active', 'reloading', 'inactive', 'failed', 'activating', 'deactivating', 'maintenance'),
  ),
  sub_state: Type.Optional(Type.String()),
  running: Type.Boolean(),
  enabled: Type.Boolean(),
  unit_file_state: Type.Optional(Type.String()),
  exists: Type.Boolean(),
  description: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
});

export const LogEntryRecord = closed({
  time: Type.String({ format: 'date-time' }),
  priority: Type.Integer({
    minimum: 0,
    maximum: 7,
    description: "syslog's: 0 is the most urgent, 3 an error",
  }),
  message: Type.String(),
});

export const SoundServerKind = oneOf('pulseaudio', 'pipewire');

export const AudioServerRecord = closed({
  kind: SoundServerKind,
  default_sink: Type.String({ description: 'name of the default output; empty while there is none' }),
  volume: Volume,
  muted: Type.Boolean(),
  server_name: Type.Optional(Type.String()),
  server_version: Type.Optional(Type.String()),
});

export const PortRecord = closed({
  name: Type.String(),
  description: Type.String(),
  available: oneOf('unknown', 'no', 'yes'),
});

export const OutputRecord = closed({
  id: Type.Integer({ minimum: 0 }),
  name: Type.String(),
  description: Type.String(),
  nick: Type.Optional(Type.String()),
  label: Type.String({ minLength: 1, description: 'what people call it' }),
  muted: Type.Boolean(),
  volume: Volume,
  state: oneOf('running', 'idle', 'suspended', 'unknown'),
  default: Type.Boolean(),
  driver: Type.Optional(Type.String()),
  active_port: Type.Optional(Type.String()),
  is_network: Type.Optional(Type.Boolean()),
  props: StringMap,
  balance: Type.Number({ minimum: -1, maximum: 1 }),
  ports: Type.Optional(Type.Array(PortRecord)),
  card: Type.Optional(Type.String({ description: 'name of its card' })),
  volume_limit: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  hidden: Type.Optional(Type.Boolean()),
  group: Type.Optional(Type.Array(Type.String(), { description: 'names of the outputs that it stands for' })),
});

export const InputRecord = closed({
  id: Type.Integer({ minimum: 0 }),
  name: Type.String(),
  description: Type.String(),
  muted: Type.Boolean(),
  volume: Volume,
  state: oneOf('running', 'idle', 'suspended', 'unknown'),
  default: Type.Boolean(),
  driver: Type.Optional(Type.String()),
  active_port: Type.Optional(Type.String()),
  ports: Type.Optional(Type.Array(PortRecord)),
  card: Type.Optional(Type.String({ description: 'name of its card' })),
  props: StringMap,
  balance: Type.Number({ minimum: -1, maximum: 1 }),
  listen: Type.Optional(
    Type.Array(Type.String(), { description: 'names of the outputs at which it is heard' }),
  ),
});

export const ProfileRecord = closed({
  name: Type.String(),
  description: Type.String(),
  available: oneOf('yes', 'no', 'unknown'),
  outputs: Type.Integer({ minimum: 0, description: 'how many outputs it makes' }),
  inputs: Type.Integer({ minimum: 0, description: 'how many inputs it makes' }),
});

export const CardRecord = closed({
  id: Type.Integer({ minimum: 0 }),
  name: Type.String(),
  description: Type.String(),
  driver: Type.Optional(Type.String()),
  active_profile: Type.Optional(Type.String()),
  profiles: Type.Array(ProfileRecord),
});

export const ClientRecord = closed({
  id: Type.Integer({ minimum: 0 }),
  name: Type.String(),
  app: Type.String(),
  muted: Type.Boolean(),
  volume: Type.Optional(Volume),
  corked: Type.Boolean(),
  backend: SoundServerKind,
  binary: Type.Optional(Type.String()),
  user: Type.Optional(Type.String()),
  host: Type.Optional(Type.String()),
  props: Type.Optional(StringMap),
  output: Type.Optional(Type.String({ description: 'name of the output that the stream plays to' })),
  input: Type.Optional(Type.String({ description: 'name of the input that is heard through it' })),
});

export const NetworkRecord = closed({
  enabled: Type.Boolean({ description: 'other machines can play on this node' }),
  addresses: Type.Array(Type.String(), { description: 'of the sound server, the best one first' }),
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  cookie: Type.Optional(oneOf('required', 'unused', 'by_address')),
  allowed: Type.Optional(
    Type.Array(Type.String(), { description: 'addresses and networks that need no cookie' }),
  ),
  commands: Type.Array(
    closed({
      for: SoundServerKind,
      use: oneOf('program', 'output'),
      lines: Type.Array(Type.String(), { description: 'what to type on the computer' }),
    }),
  ),
});

export const SleepRecord = closed({
  active: Type.Boolean({ description: 'the music will end, or ends now' }),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'when the fade begins' })),
  fade: Type.Optional(Type.Number({ minimum: 0, maximum: 120, description: 'seconds' })),
});

export const AudioRecord = closed({
  kind: SoundServerKind,
  server: AudioServerRecord,
  outputs: Type.Array(OutputRecord),
  clients: Type.Array(ClientRecord),
});

const Level = closed({
  id: Type.Integer({ minimum: 0 }),
  peak: Type.Array(Type.Number({ minimum: 0, maximum: 1 }), { description: 'one for each channel' }),
});

export const PowerRecord = closed({ reboot: Type.Boolean(), power_off: Type.Boolean() });

export const UpgradeRun = closed({
  state: oneOf('idle', 'running', 'failed'),
  origin: Type.Optional(oneOf('systemd', 'socket')),
  percent: Type.Optional(Type.Integer()),
  step: Type.Optional(Type.String()),
  started_at: Type.Optional(Type.String({ format: 'date-time' })),
  finished_at: Type.Optional(Type.String({ format: 'date-time' })),
});

const upgradeStatusMembers = {
  current: Type.String(),
  latest: Type.String(),
  upgrade_available: Type.Boolean(),
  checked_at: Type.Optional(Type.String({ format: 'date-time' })),
  extra: Type.Optional(mapOf<Record<string, unknown>>(Type.Unknown())),
};

export const UpgradeStatus = closed(upgradeStatusMembers);

const UpgradeCheck = closed({
  state: oneOf('idle', 'running', 'failed'),
  finished_at: Type.Optional(Type.String({ format: 'date-time' })),
  detail: Type.Optional(Type.String()),
});

export const UpgradeRecord = closed({
  ...upgradeStatusMembers,
  run: UpgradeRun,
  can_check: Type.Boolean(),
  can_upgrade: Type.Boolean(),
  check: Type.Optional(UpgradeCheck),
});

const BusName = Type.String({ description: 'the whole name, org.mpris.MediaPlayer2.NAME' });
const Microseconds = Type.Integer({ description: 'microseconds' });
const EmittedAt = Type.Integer({ description: 'milliseconds since the epoch' });
const LoopStatus = oneOf('None', 'Track', 'Playlist');

export const PlayerRecord = closed({
  bus_name: BusName,
  identity: Type.String(),
  playback_status: oneOf('Playing', 'Paused', 'Stopped'),
  loop_status: Type.Optional(LoopStatus),
  shuffle: Type.Optional(Type.Boolean()),
  volume: Type.Optional(Volume),
  position: Type.Optional(Microseconds),
  position_updated_at: Type.String({
    format: 'date-time',
    description: 'when the position was this one: while it plays, reckon on from here at the rate',
  }),
  rate: Type.Optional(Type.Number()),
  metadata: Type.Optional(StringMap),
  capabilities: closed({
    can_play: Type.Boolean(),
    can_pause: Type.Boolean(),
    can_go_next: Type.Boolean(),
    can_go_previous: Type.Boolean(),
    can_seek: Type.Boolean(),
    can_control: Type.Boolean(),
  }),
  tracklist_supported: Type.Boolean(),
  pid: Type.Optional(
    Type.Integer({ minimum: 1, description: 'as application.process.id among the props of its streams' }),
  ),
  can_raise: Type.Optional(Type.Boolean()),
  can_quit: Type.Optional(Type.Boolean()),
});

export const PlayerPosition = closed({ bus_name: BusName, position: Microseconds, emitted_at: EmittedAt });

const Track = closed({ track_id: Type.String(), metadata: StringMap });

const tracklistMembers = { can_edit_tracks: Type.Boolean(), tracks: Type.Array(Track) };

export const TracklistRecord = closed(tracklistMembers);

const Truncated = Type.Literal(true, { description: 'the list is longer: GET has all that are shown' });

export const NodeRecord = closed({
  name: Type.String({ description: 'as announced; else its host' }),
  host: Type.String(),
  addresses: Type.Array(Type.String(), { description: 'IPv4 first; none that needs a scope' }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  path: Type.String({ description: 'of its page' }),
  api: oneOf('tonearm', 'odio-api'),
  version: Type.Optional(Type.String()),
  self: Type.Boolean({ description: 'this node' }),
  configured: Type.Optional(Type.Boolean({ description: 'one of discovery.nodes' })),
  reachable: Type.Optional(Type.Boolean({ description: 'false while such a one does not answer' })),
});

export const DeviceRecord = closed({
  address: Type.String({ description: 'AA:BB:CC:DD:EE:FF' }),
  name: Type.String(),
  paired: Type.Boolean(),
  bonded: Type.Boolean(),
  trusted: Type.Boolean({ description: 'it may come back by itself' }),
  connected: Type.Boolean(),
  kind: Type.Optional(Type.String({ description: "BlueZ's icon: phone, audio-headset, computer ..." })),
  battery: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: 'percent' })),
  rssi: Type.Optional(Type.Integer({ description: 'dBm, while there is a scan' })),
  output: Type.Optional(Type.String({ description: 'name of the output that it is' })),
});

export const BluetoothRecord = closed({
  powered: Type.Boolean(),
  discoverable: Type.Boolean(),
  pairable: Type.Boolean(),
  pairing_active: Type.Boolean(),
  pairing_until: Type.Optional(Type.String({ format: 'date-time' })),
  scanning: Type.Boolean(),
  known_devices: Type.Optional(Type.Array(DeviceRecord)),
  name: Type.String(),
  address: Type.String(),
});

export const ProblemRecord = closed({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
});

/**
 * The integers that are exact as numbers of JavaScript. Offsets and positions have 64 bits on the bus, so
 * the bus would accept larger integers, but JavaScript would round them first.
 */
const EXACT_INTEGERS = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER } as const;

const SetVolume = closed({ volume: Type.Number({ minimum: 0, maximum: 1 }) });
const ChangeVolume = closed({ delta: Type.Number({ minimum: -1, maximum: 1 }) });

/** The name of a port, a profile or an output. */
const Name = Type.String({ minLength: 1, maxLength: NAME_MAX_CHARACTERS });

/** Request bodies, by the names that the table of operations uses. */
export const BODIES = {
  mute: closed({ muted: Type.Optional(Type.Boolean()) }),
  volume: Type.Union([SetVolume, ChangeVolume]),
  port: closed({ port: Name }),
  profile: closed({ profile: Name }),
  balance: closed({ balance: Type.Number({ minimum: -1, maximum: 1 }) }),
  makeDefault: closed({
    move: Type.Optional(Type.Boolean({ description: 'also moves all streams there' })),
  }),
  sleep: closed({
    minutes: Type.Number({ minimum: 1, maximum: 720 }),
    fade: Type.Optional(Type.Number({ minimum: 0, maximum: 120, description: 'seconds; 20 by default' })),
  }),
  move: closed({ output: Type.Union([Name, Type.Integer({ minimum: 0 })]) }),
  stopListening: closed({ output: Type.Optional(Type.Union([Name, Type.Integer({ minimum: 0 })])) }),
  seek: closed({ offset: Type.Integer({ ...EXACT_INTEGERS, description: 'microseconds' }) }),
  position: closed({
    position: Type.Integer({ ...EXACT_INTEGERS, minimum: 0, description: 'microseconds' }),
    // The id has no pattern. Clients take the id from the player's record, and some players have ids that are
    // no object paths of D-Bus. An empty id counts as no id. Some clients send "/" if the record has no id.
    track_id: Type.Optional(Type.String({ maxLength: NAME_MAX_CHARACTERS })),
  }),
  setVolume: SetVolume,
  loop: closed({ loop: LoopStatus }),
  shuffle: closed({ shuffle: Type.Boolean() }),
  addTrack: closed({
    // Control characters are refused: no address has them, and players differ in what they do with them. An
    // address may be as long as a name (`NAME_MAX_CHARACTERS`).
    uri: Type.String({ pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]{1,4096}$' }),
    after_track: Type.Optional(
      Type.String({
        maxLength: NAME_MAX_CHARACTERS,
        description: "a track's id, or its last segment; NoTrack: before the first track; empty: at the end",
      }),
    ),
    set_as_current: Type.Optional(Type.Boolean()),
  }),
  device: closed({ address: Type.String({ pattern: '^[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}$' }) }),
} as const satisfies Record<string, TSchema>;

/** The name of a body's schema in the OpenAPI document: for the body `volume` it is `VolumeBody`. */
export function bodyComponent(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}Body`;
}

const BODY_COMPONENTS = Object.fromEntries(
  Object.entries(BODIES).map(([name, schema]): [string, TSchema] => [bodyComponent(name), schema]),
) as Record<`${Capitalize<keyof typeof BODIES>}Body`, TSchema>;

/** All schemas by their names in the OpenAPI document, in which schemas refer to each other by name. */
export const COMPONENTS = {
  Server: ServerRecord,
  Health: HealthRecord,
  BackendHealth: BackendHealthRecord,
  Service: ServiceRecord,
  Services: Type.Array(ServiceRecord),
  LogEntry: LogEntryRecord,
  Log: Type.Array(LogEntryRecord),
  Audio: AudioRecord,
  SoundServerKind: SoundServerKind,
  AudioServer: AudioServerRecord,
  Output: OutputRecord,
  Port: PortRecord,
  Outputs: Type.Array(OutputRecord),
  Input: InputRecord,
  Inputs: Type.Array(InputRecord),
  Card: CardRecord,
  Profile: ProfileRecord,
  Cards: Type.Array(CardRecord),
  Client: ClientRecord,
  Clients: Type.Array(ClientRecord),
  Sleep: SleepRecord,
  Network: NetworkRecord,
  AudioLevel: closed({ outputs: Type.Array(Level), inputs: Type.Optional(Type.Array(Level)) }),
  Power: PowerRecord,
  Upgrade: UpgradeRecord,
  UpgradeStatus: UpgradeStatus,
  UpgradeRun: UpgradeRun,
  // The event `upgrade.info` has either the versions or the state of the run.
  UpgradeInfo: Type.Union([UpgradeStatus, UpgradeRun]),
  UpgradeCheck: UpgradeCheck,
  // The event `upgrade.progress` has the content of a JSON line from the upgrade script. This content may
  // have more members than `event`.
  UpgradeProgress: Type.Object({ event: Type.String() }),
  PowerAction: Type.Object({ action: oneOf('reboot', 'poweroff') }),
  Player: PlayerRecord,
  Players: Type.Array(PlayerRecord),
  PlayerEvent: closed({ data: PlayerRecord, emitted_at: EmittedAt }),
  PlayerRemoval: closed({ bus_name: BusName }),
  PlayerPosition: PlayerPosition,
  PlayerPositions: Type.Array(PlayerPosition),
  Track: Track,
  Tracklist: TracklistRecord,
  TracklistEvent: closed({ bus_name: BusName, ...tracklistMembers, truncated: Type.Optional(Truncated) }),
  Node: NodeRecord,
  Nodes: Type.Array(NodeRecord),
  NodeRemoval: closed({ name: Type.String() }),
  Bluetooth: BluetoothRecord,
  BluetoothDevice: DeviceRecord,
  BluetoothDevices: Type.Array(DeviceRecord),
  BackendUpdate: BackendUpdateRecord,
  // `love` is the keep-alive (docs/events.md, "Keep-alive").
  ServerInfo: oneOf('connected', 'love', 'bye'),
  ...BODY_COMPONENTS,
  // `VolumeBody` is either of two schemas, and the document refers to both by name. `SetVolume` has a name,
  // because it is also the row `setVolume` of `BODIES`. `ChangeVolume` is no row there, so it gets its name
  // here.
  ChangeVolumeBody: ChangeVolume,
  OpenApi: Type.Object({ openapi: Type.String() }),
  Problem: ProblemRecord,
} as const satisfies Record<string, TSchema>;

export type BackendUpdateRecord = Static<typeof BackendUpdateRecord>;
export type ServerRecord = Static<typeof ServerRecord>;
export type SleepRecord = Static<typeof SleepRecord>;
export type HealthRecord = Static<typeof HealthRecord>;
export type ServiceRecord = Static<typeof ServiceRecord>;
export type LogEntryRecord = Static<typeof LogEntryRecord>;
export type SoundServerKind = Static<typeof SoundServerKind>;
export type AudioServerRecord = Static<typeof AudioServerRecord>;
export type AudioRecord = Static<typeof AudioRecord>;
export type PortRecord = Static<typeof PortRecord>;
export type OutputRecord = Static<typeof OutputRecord>;
export type InputRecord = Static<typeof InputRecord>;
export type ProfileRecord = Static<typeof ProfileRecord>;
export type CardRecord = Static<typeof CardRecord>;
export type ClientRecord = Static<typeof ClientRecord>;
export type NetworkRecord = Static<typeof NetworkRecord>;
export type PowerRecord = Static<typeof PowerRecord>;
export type UpgradeRun = Static<typeof UpgradeRun>;
export type UpgradeStatus = Static<typeof UpgradeStatus>;
export type UpgradeRecord = Static<typeof UpgradeRecord>;
export type PlayerRecord = Static<typeof PlayerRecord>;
export type PlayerPosition = Static<typeof PlayerPosition>;
export type TracklistRecord = Static<typeof TracklistRecord>;
export type NodeRecord = Static<typeof NodeRecord>;
export type DeviceRecord = Static<typeof DeviceRecord>;
export type BluetoothRecord = Static<typeof BluetoothRecord>;
export type ProblemRecord = Static<typeof ProblemRecord>;
export type BodyName = keyof typeof BODIES;
export type BodyOf<K extends BodyName> = Static<(typeof BODIES)[K]>;
export type ComponentName = keyof typeof COMPONENTS;
export type ComponentOf<K extends ComponentName> = Static<(typeof COMPONENTS)[K]>;
