// Decides which operations there are, what each takes, and which command it makes (docs/http-api.md,
// "Routes"). This file imports only types of schemas.ts, because the values of schemas.ts load typebox,
// which takes megabytes of memory.

import type { Backend, ChildName } from './backends.js';
import { RESOURCES, type Resource } from './collections.js';
import type { Params, ParamsOf } from './parameters.js';
import type { BodyName, BodyOf, ComponentName } from './schemas.js';

/**
 * A key of the configuration that a route may need, besides the key that enables its backend. The route
 * exists only if the value of this key is neither false nor empty.
 */
export type RequiredKey =
  | 'api.logs'
  | 'api.metrics'
  | 'api.sse.enabled'
  | 'api.ui.enabled'
  | 'pulseaudio.serve_cookie'
  | 'upgrade.checkUnit'
  | 'upgrade.upgradeUnit';

/** One way in which an MQTT message names an operation. */
export interface MqttName {
  /**
   * Where the name stands:
   * - `word`: the name is the whole payload.
   * - `member`: the payload is an object with a member of this name, whose value goes into the body.
   * - `topic-level`: the name is the last level of the topic, and the payload is a plain value.
   *   `PLAIN_BODIES` (actors/mqtt/plain-payloads.ts) makes the body from this value.
   */
  readonly by: 'word' | 'member' | 'topic-level';
  readonly name: string;
  /**
   * The topic at which this name is used, if it differs from the `topic` of the operation (`ChangeRow`). If
   * this topic lacks a parameter of the path, `name` is this parameter, and the payload has its value:
   * `{"output": "kitchen"}` at `audio/server` requests `/audio/outputs/kitchen/default`.
   */
  readonly topic?: string;
  /**
   * The name of the member that gets the value in the body, if it differs from `name`. With `output` for the
   * name `listen`, the payload `{"listen": "kitchen"}` makes the body `{"output": "kitchen"}`.
   */
  readonly bodyMember?: string;
  /**
   * Present if the operation gets no body when the member has the value `true`, as in `{"default": true}`.
   * Any other value goes into the body.
   */
  readonly isBare?: true;
  /**
   * A word for what the command sets. A newer command replaces a queued one with the same word and the same
   * topic, with a few exceptions (`#replacedBy` in actors/mqtt/command-queues.ts). With `topic-level`, the
   * last level of the topic does not count. With the words `default` and `default input`, the whole topic
   * does not count, because the node has only one default output and one default input. `setting` is absent
   * if all commands must be carried out. The plain value `toggle` makes a command without `setting`.
   */
  readonly setting?: string;
}

interface OperationRow<Path extends string> {
  /** Parameters are in braces. Every path is served with and without a trailing slash. */
  readonly path: Path;
  /** A line for people, in the OpenAPI document and in the help of `tonearm ctl`. */
  readonly summary: string;
  /** The operation needs all of these keys. */
  readonly needs: readonly RequiredKey[];
}

/** Any command. `TABLE` decides which commands there are. */
type AnyCommand = { readonly do: string };

/**
 * Where a JSON document comes from: the gateway (`server`, `health`, `openapi`), published records
 * (`document`, `tracklist`), or the answer of a backend to a command (`text`, `log`). The `lines` of a log
 * come from the query of the request (`LOG_LINES` in parameters.ts).
 */
type JsonSource<Command> =
  | { readonly kind: 'server' | 'health' | 'openapi' }
  | { readonly kind: 'tracklist'; readonly backend: Backend }
  | { readonly kind: 'document'; readonly backend: ChildName; readonly resource: Resource }
  | { readonly kind: 'text'; readonly backend: Backend; readonly command: Command }
  | { readonly kind: 'log'; readonly backend: Backend; command(params: Params, lines: number): Command };

/**
 * Where an answer of bytes comes from: `Covers` in gateway/covers.ts (`cover`), or the answer of a backend to
 * a command (`cookie`).
 */
type BytesSource<Command> =
  | { readonly kind: 'cover'; readonly backend: Backend }
  | { readonly kind: 'cookie'; readonly backend: Backend; readonly command: Command };

interface ReadRow<Path extends string, Schema extends ComponentName | undefined> extends OperationRow<Path> {
  readonly method: 'GET';
  /** The name of the answer's schema; undefined if the answer is bytes. */
  readonly schema: Schema;
}

interface ChangeRow<Owner extends Backend, Path extends string, Body extends BodyName | undefined, Command>
  extends OperationRow<Path> {
  readonly method: 'POST';
  readonly kind: 'command';
  readonly backend: Owner;
  /** The name of the body's schema; undefined if the operation takes no body. */
  readonly body: Body;
  /** True if a request without a body is refused. */
  readonly isBodyRequired: boolean;
  /** A request without a body is carried out with this body. */
  readonly defaultBody: unknown;
  /**
   * Makes the command. `params` must have the parameters of `path`. `content` is the body of a request, and
   * must fit the schema that this row names as `body` (`BODIES` in schemas.ts).
   */
  command(params: Params, content: unknown): Command;
  /** The MQTT topic of the thing that the command is for, relative to the node's topic. */
  readonly topic: string;
  readonly mqtt: readonly MqttName[];
}

type ReadOperation<Command> =
  | (ReadRow<string, ComponentName> & JsonSource<Command>)
  | (ReadRow<string, undefined> & BytesSource<Command>);

type AnySource = JsonSource<AnyCommand> | BytesSource<AnyCommand>;

function read<
  Path extends string,
  Schema extends ComponentName | undefined,
  const Source extends AnySource & { readonly needs?: readonly RequiredKey[] },
>(path: Path, summary: string, schema: Schema, source: Source): ReadRow<Path, Schema> & Source {
  return { method: 'GET', path, summary, schema, needs: [], ...source };
}

/** The path of a resource: `audio` makes `/audio`, `audio.outputs` makes `/audio/outputs`. */
type PathOf<Name extends string> = Name extends `${infer Start}.${infer End}`
  ? `/${Start}/${End}`
  : `/${Name}`;

/** An operation that reads the published resource at the path: `/audio/outputs` reads `audio.outputs`. */
function published<Path extends PathOf<Resource>, Schema extends ComponentName>(
  path: Path,
  summary: string,
  schema: Schema,
) {
  const resource = path.slice(1).replace('/', '.') as Resource;
  const { backend } = RESOURCES[resource];
  return read(path, summary, schema, { kind: 'document', backend, resource });
}

/**
 * The type of a body by its name: `'port'` makes `{ port: string }`. `post` adds this type to a command by
 * `&`. Undefined makes `unknown`, which adds no members: `T & unknown` is `T`.
 */
type BodyFor<Body> = Body extends BodyName ? BodyOf<Body> : unknown;

/** One object type for an intersection: `{ do: 'x' } & { id: string }` makes `{ do: 'x', id: string }`. */
type Flat<T> = { readonly [Member in keyof T]: T[Member] };

interface ChangeOptions<PathParams, Body extends BodyName | undefined, Command> {
  readonly body?: Body;
  /**
   * A request without a body is carried out with this body. If the row has `body` but no `defaultBody`, such
   * a request is refused.
   */
  readonly defaultBody?: BodyFor<Body>;
  readonly needs?: readonly RequiredKey[];
  readonly mqtt?: readonly MqttName[];
  /** By default the command is the verb, with the parameters and the members of the body. */
  readonly command?: (params: PathParams, body: BodyFor<Body>) => Command;
}

/**
 * An operation that changes the thing at the path `at`. The types of its path and its command follow from the
 * arguments: `post('players', '/players/{player}', 'seek', '...', { body: 'seek' })` is a row with the path
 * `/players/{player}/seek`, whose command is `{ do: 'seek', player: string, offset: number }`. A verb may
 * have a parameter, too: `goto/{trackid}`.
 */
function post<
  const Owner extends Backend,
  At extends string,
  Verb extends string,
  const Body extends BodyName | undefined = undefined,
  const Command extends AnyCommand = Flat<
    { readonly do: Verb } & ParamsOf<At> & ParamsOf<Verb> & BodyFor<Body>
  >,
>(
  backend: Owner,
  at: At,
  verb: Verb,
  summary: string,
  options: ChangeOptions<ParamsOf<At> & ParamsOf<Verb>, Body, Command> = {},
): ChangeRow<Owner, `${At}/${Verb}`, Body, Command> {
  const { body, defaultBody, needs = [], mqtt = [] } = options;
  const verbCommand = (params: Params, content: unknown) => ({ ...(content as object), ...params, do: verb });
  // The compiler cannot see that `verbCommand` makes a `Command` if the row has no `command` of its own.
  const makeCommand = (options.command ?? verbCommand) as (params: Params, content: unknown) => Command;
  // Requests may name a player without the prefix of its bus name, but the backend knows only whole bus
  // names. `PLAYER` is declared further below, but before `TABLE`, whose rows call this function.
  const isForPlayer = at.startsWith(PLAYER);
  return {
    method: 'POST',
    kind: 'command',
    path: `${at}/${verb}`,
    summary,
    backend,
    topic: at.slice(1),
    body: body as Body,
    isBodyRequired: body !== undefined && defaultBody === undefined,
    defaultBody,
    command: isForPlayer ? (params, content) => makeCommand(withBusName(params), content) : makeCommand,
    needs,
    mqtt,
  };
}

/** An MQTT message requests the operation by a payload that is only the word `name`. */
function byWord(name: string, setting?: string): readonly MqttName[] {
  return [{ by: 'word', name, ...(setting !== undefined && { setting }) }];
}

/** An MQTT message requests the operation by the member `name`, which by default is also the `setting`. */
function byMember(name: string, setting: string = name): MqttName {
  return { by: 'member', name, setting };
}

/**
 * An MQTT message requests a relative change by the member `name`. Every command counts, so there is no
 * `setting`.
 */
function byRelativeMember(name: string): MqttName {
  return { by: 'member', name };
}

/**
 * The target of an audio command. The kind `server` stands for the default output, and `client` for a stream
 * of sound. `ref` is a decimal id or an exact name, copied from the request.
 */
export type AudioTarget =
  | { readonly kind: 'server' }
  | { readonly kind: 'output'; readonly ref: string }
  | { readonly kind: 'input'; readonly ref: string }
  | { readonly kind: 'client'; readonly ref: string };

function muteRow<At extends string>(
  at: At,
  nounWithArticle: string,
  target: (params: ParamsOf<At>) => AudioTarget,
) {
  return post('audio', at, 'mute', `Mutes ${nounWithArticle}; toggles without a body`, {
    body: 'mute',
    defaultBody: {},
    // Both names have the `setting` `muted`, so a newer value by one replaces a queued value by the other.
    mqtt: [byMember('muted'), { by: 'topic-level', name: 'mute', setting: 'muted' }],
    command: (params, body) => ({ do: 'mute', target: target(params), ...body }),
  });
}

function volumeRow<At extends string>(
  at: At,
  nounWithArticle: string,
  target: (params: ParamsOf<At>) => AudioTarget,
) {
  return post('audio', at, 'volume', `Sets or shifts the volume of ${nounWithArticle}`, {
    body: 'volume',
    mqtt: [
      byMember('volume'),
      byRelativeMember('delta'),
      { by: 'topic-level', name: 'volume', setting: 'volume' },
    ],
    command: (params, body) =>
      'volume' in body
        ? { do: 'volume', target: target(params), volume: body.volume }
        : { do: 'delta', target: target(params), delta: body.delta },
  });
}

const SERVER = '/audio/server';
const OUTPUT = '/audio/outputs/{output}';
const INPUT = '/audio/inputs/{input}';
const CLIENT = '/audio/clients/{client}';

const serverTarget = (): AudioTarget => ({ kind: 'server' });
const outputTarget = ({ output: ref }: ParamsOf<typeof OUTPUT>): AudioTarget => ({ kind: 'output', ref });
const inputTarget = ({ input: ref }: ParamsOf<typeof INPUT>): AudioTarget => ({ kind: 'input', ref });
const clientTarget = ({ client: ref }: ParamsOf<typeof CLIENT>): AudioTarget => ({ kind: 'client', ref });

const SLEEP_TOPIC = 'audio/sleep';

const BLUETOOTH = '/bluetooth';
const UNIT = '/services/{scope}/{unit}';
/** The `setting` of commands that decide whether a unit or the node runs. */
const RUN = 'run';
/** The `setting` of commands that decide whether a unit is enabled. */
const ENABLED = 'enabled';

const PLAYER = '/players/{player}';
const TRACKLIST = `${PLAYER}/tracklist` as const;
/** The prefix is repeated here, because this folder must not import `PLAYER_NAME_PREFIX` (dbus/mpris.ts). */
const BUS_NAME_PREFIX = 'org.mpris.MediaPlayer2.';
/** The `setting` of commands that decide whether a player plays. */
const PLAYBACK = 'playback';

/** The whole bus name of a player. `player` is the bus name with or without `BUS_NAME_PREFIX`. */
export function fullBusName(player: string): string {
  return player.startsWith(BUS_NAME_PREFIX) ? player : BUS_NAME_PREFIX + player;
}

/** The path always has the parameter `player`, but the compiler does not know this. */
function withBusName({ player = '', ...otherParams }: Params): Params {
  return { ...otherParams, player: fullBusName(player) };
}

/**
 * The keys are the names of the functions of the npm package `tonearm-client`. Routes, the OpenAPI document
 * and the types of commands follow from this table.
 */
const TABLE = {
  server: read('/server', 'The node and its software', 'Server', { kind: 'server' }),
  nodes: published('/nodes', 'The nodes on the network', 'Nodes'),
  health: read('/health', 'The state of the backends', 'Health', { kind: 'health' }),
  openapi: read('/openapi.json', 'This document', 'OpenApi', { kind: 'openapi' }),

  services: published('/services', 'The configured units', 'Services'),
  startUnit: post('systemd', UNIT, 'start', 'Starts a unit', { mqtt: byWord('start', RUN) }),
  stopUnit: post('systemd', UNIT, 'stop', 'Stops a unit', { mqtt: byWord('stop', RUN) }),
  restartUnit: post('systemd', UNIT, 'restart', 'Restarts a unit', { mqtt: byWord('restart', RUN) }),
  enableUnit: post('systemd', UNIT, 'enable', 'Enables a unit', { mqtt: byWord('enable', ENABLED) }),
  disableUnit: post('systemd', UNIT, 'disable', 'Disables a unit', { mqtt: byWord('disable', ENABLED) }),

  unitLog: read(`${UNIT}/log`, "The newest lines of a unit's log", 'Log', {
    kind: 'log',
    backend: 'systemd',
    needs: ['api.logs'],
    command: (params: ParamsOf<typeof UNIT>, lines) => ({ ...params, do: 'log' as const, lines }),
  }),

  audio: published('/audio', 'The whole state of the sound server', 'Audio'),
  audioServer: published('/audio/server', 'The sound server', 'AudioServer'),
  outputs: published('/audio/outputs', 'The outputs', 'Outputs'),
  inputs: published('/audio/inputs', 'The inputs', 'Inputs'),
  cards: published('/audio/cards', 'The sound cards', 'Cards'),
  clients: published('/audio/clients', 'The clients, which are streams of sound', 'Clients'),
  muteServer: muteRow(SERVER, 'the default output', serverTarget),
  setServerVolume: volumeRow(SERVER, 'the default output', serverTarget),
  muteOutput: muteRow(OUTPUT, 'an output', outputTarget),
  setOutputVolume: volumeRow(OUTPUT, 'an output', outputTarget),
  muteClient: muteRow(CLIENT, 'a client', clientTarget),
  setClientVolume: volumeRow(CLIENT, 'a client', clientTarget),
  setDefaultOutput: post(
    'audio',
    OUTPUT,
    'default',
    'Makes an output the default, and may move all streams',
    {
      body: 'makeDefault',
      defaultBody: {},
      // All three names have the `setting` `default`, so a newer command by one name replaces a queued
      // command by another name.
      mqtt: [
        { by: 'member', name: 'default', isBare: true, setting: 'default' },
        { by: 'member', name: 'output', topic: 'audio/server', setting: 'default' },
        byMember('move', 'default'),
      ],
    },
  ),
  setOutputPort: post('audio', OUTPUT, 'port', 'Switches an output to one of its ports', {
    body: 'port',
    mqtt: [byMember('port')],
  }),
  setOutputBalance: post('audio', OUTPUT, 'balance', 'Sets the balance of an output between left and right', {
    body: 'balance',
    mqtt: [byMember('balance')],
  }),
  muteInput: muteRow(INPUT, 'an input', inputTarget),
  setInputVolume: volumeRow(INPUT, 'an input', inputTarget),
  setDefaultInput: post('audio', INPUT, 'default', 'Makes an input the default', {
    mqtt: [{ by: 'member', name: 'default', isBare: true, setting: 'default input' }],
  }),
  setInputPort: post('audio', INPUT, 'port', 'Switches an input to one of its ports', {
    body: 'port',
    mqtt: [byMember('port')],
  }),
  setInputBalance: post('audio', INPUT, 'balance', 'Sets the balance of an input between left and right', {
    body: 'balance',
    mqtt: [byMember('balance')],
  }),
  // An input can be heard at several outputs at a time. No command may replace a queued one, so the MQTT
  // names of `listenToInput` and `stopListening` have no `setting`. The bodies name an output by its id (a
  // number) or by its name (a text), but the commands always have a text. `listenToInput` and `moveClient`
  // have the same body.
  listenToInput: post('audio', INPUT, 'listen', 'Lets an input be heard at an output', {
    body: 'move',
    mqtt: [{ by: 'member', name: 'listen', bodyMember: 'output' }],
    command: ({ input }, { output }) => ({ do: 'listen', input, output: String(output) }),
  }),
  stopListening: post(
    'audio',
    INPUT,
    'listen/stop',
    'Ends that an input is heard, at an output or everywhere',
    {
      body: 'stopListening',
      defaultBody: {},
      mqtt: [{ by: 'member', name: 'listen_stop', bodyMember: 'output', isBare: true }],
      command: ({ input }, { output }) => ({
        do: 'stop-listen',
        input,
        ...(output !== undefined && { output: String(output) }),
      }),
    },
  ),
  setCardProfile: post('audio', '/audio/cards/{card}', 'profile', 'Switches a card to one of its profiles', {
    body: 'profile',
    mqtt: [byMember('profile')],
  }),
  moveClient: post('audio', CLIENT, 'output', 'Moves a client to another output', {
    body: 'move',
    mqtt: [byMember('output')],
    command: ({ client }, { output }) => ({ do: 'move', client, output: String(output) }),
  }),
  sleep: published('/audio/sleep', 'When the music ends', 'Sleep'),
  startSleep: post(
    'audio',
    '/audio',
    'sleep',
    'Lets the music end: fades the default output, and pauses all players',
    {
      body: 'sleep',
      // A payload with both members makes one request. `fade` alone is refused, because the body must have
      // `minutes`.
      mqtt: [
        { by: 'member', name: 'minutes', topic: SLEEP_TOPIC, setting: 'sleep' },
        { by: 'member', name: 'fade', topic: SLEEP_TOPIC, setting: 'sleep' },
      ],
    },
  ),
  stopSleep: post('audio', '/audio', 'sleep/stop', 'Lets the music go on', {
    mqtt: [{ by: 'word', name: 'stop', topic: SLEEP_TOPIC, setting: 'sleep' }],
  }),
  network: read('/audio/network', 'How other machines play on this node', 'Network', {
    kind: 'text',
    backend: 'audio',
    command: { do: 'network' },
  }),
  cookie: read('/audio/cookie', 'The authentication cookie', undefined, {
    kind: 'cookie',
    backend: 'audio',
    command: { do: 'cookie' },
    needs: ['pulseaudio.serve_cookie'],
  }),

  // The OpenAPI document has this path with its slash at the end. It is also served without the slash.
  power: read('/power/', 'The granted power actions', 'Power', {
    kind: 'text',
    backend: 'power',
    command: { do: 'status' },
  }),
  powerOff: post('power', '/power', 'power_off', 'Powers the node off', {
    mqtt: byWord('poweroff', RUN),
    command: () => ({ do: 'poweroff' }),
  }),
  reboot: post('power', '/power', 'reboot', 'Reboots the node', { mqtt: byWord('reboot', RUN) }),

  players: published('/players', 'The media players', 'Players'),
  pausePlayers: post('players', '/players', 'pause', 'Pauses all players that play', {
    command: () => ({ do: 'pause_all' }),
  }),
  cover: read(`${PLAYER}/cover`, 'The cover of what a player plays', undefined, {
    kind: 'cover',
    backend: 'players',
  }),
  play: post('players', PLAYER, 'play', 'Plays', { mqtt: byWord('play', PLAYBACK) }),
  pause: post('players', PLAYER, 'pause', 'Pauses', { mqtt: byWord('pause', PLAYBACK) }),
  playPause: post('players', PLAYER, 'play_pause', 'Pauses if it plays, else plays', {
    mqtt: byWord('play_pause'),
  }),
  stop: post('players', PLAYER, 'stop', 'Stops', { mqtt: byWord('stop', PLAYBACK) }),
  next: post('players', PLAYER, 'next', 'Goes to the next track', { mqtt: byWord('next') }),
  previous: post('players', PLAYER, 'previous', 'Goes to the previous track', { mqtt: byWord('previous') }),
  seek: post('players', PLAYER, 'seek', 'Moves the position by an offset', {
    body: 'seek',
    mqtt: [byRelativeMember('offset')],
  }),
  setPosition: post('players', PLAYER, 'position', 'Sets the position', {
    body: 'position',
    mqtt: [byMember('position')],
  }),
  setPlayerVolume: post('players', PLAYER, 'volume', 'Sets the volume of a player', {
    body: 'setVolume',
    mqtt: [byMember('volume')],
  }),
  setLoop: post('players', PLAYER, 'loop', 'Sets what is repeated', {
    body: 'loop',
    mqtt: [byMember('loop')],
  }),
  setShuffle: post('players', PLAYER, 'shuffle', 'Sets whether the order is random', {
    body: 'shuffle',
    mqtt: [byMember('shuffle')],
  }),
  tracklist: read(TRACKLIST, 'The tracklist of a player', 'Tracklist', {
    kind: 'tracklist',
    backend: 'players',
  }),
  gotoTrack: post('players', TRACKLIST, 'goto/{trackid}', 'Goes to a track', {
    command: ({ player, trackid: track }) => ({ do: 'goto', player, track }),
  }),
  removeTrack: post('players', TRACKLIST, 'remove/{trackid}', 'Removes a track', {
    command: ({ player, trackid: track }) => ({ do: 'remove', player, track }),
  }),
  addTrack: post('players', TRACKLIST, 'add', 'Adds a track', { body: 'addTrack' }),

  bluetooth: published('/bluetooth', 'The Bluetooth adapter, and the devices that it knows', 'Bluetooth'),
  bluetoothDevices: published(
    '/bluetooth/devices',
    'Known Bluetooth devices, and what a scan has found',
    'BluetoothDevices',
  ),
  switchBluetoothOn: post('bluetooth', BLUETOOTH, 'power_up', 'Switches the adapter on', {
    mqtt: byWord('power_up', 'power'),
  }),
  switchBluetoothOff: post('bluetooth', BLUETOOTH, 'power_down', 'Switches the adapter off', {
    mqtt: byWord('power_down', 'power'),
  }),
  startPairing: post('bluetooth', BLUETOOTH, 'pairing_mode', 'Lets a device find the node and pair with it', {
    mqtt: byWord('pairing_mode', 'pairing'),
  }),
  stopPairing: post('bluetooth', BLUETOOTH, 'pairing_mode/stop', 'Ends pairing mode', {
    mqtt: byWord('pairing_mode_stop', 'pairing'),
  }),
  startScan: post('bluetooth', BLUETOOTH, 'scan', 'Looks for devices', { mqtt: byWord('scan', 'scan') }),
  stopScan: post('bluetooth', BLUETOOTH, 'scan/stop', 'Ends the scan'),
  connectDevice: post('bluetooth', BLUETOOTH, 'connect', 'Pairs with a device if needed, and connects it', {
    body: 'device',
    mqtt: [{ by: 'member', name: 'connect', bodyMember: 'address' }],
  }),
  disconnectDevice: post('bluetooth', BLUETOOTH, 'disconnect', 'Disconnects a device', {
    body: 'device',
    mqtt: [{ by: 'member', name: 'disconnect', bodyMember: 'address' }],
  }),
  forgetDevice: post('bluetooth', BLUETOOTH, 'forget', 'Forgets a device, and its keys', { body: 'device' }),

  upgrade: published('/upgrade', 'The state of upgrades', 'Upgrade'),
  upgradeLog: read('/upgrade/log', "The newest lines of the upgrade unit's log", 'Log', {
    kind: 'log',
    backend: 'upgrade',
    needs: ['api.logs', 'upgrade.upgradeUnit'],
    command: (_params, lines) => ({ do: 'log' as const, lines }),
  }),
  checkUpgrade: post('upgrade', '/upgrade', 'check', 'Looks for an upgrade', {
    needs: ['upgrade.checkUnit'],
    mqtt: byWord('check', 'check'),
  }),
  startUpgrade: post('upgrade', '/upgrade', 'start', 'Starts the upgrade', {
    needs: ['upgrade.upgradeUnit'],
    mqtt: byWord('start', 'start'),
  }),
} as const;

export type OperationTable = typeof TABLE;

export type OperationName = keyof OperationTable;

/**
 * The command of a row: `X` if the row has `command: X` or `command: (params, body) => X`, and `never` if
 * the row has no `command`.
 */
type CommandIn<Row> = Row extends { readonly command: infer Member }
  ? Member extends (...inputs: never[]) => infer Command
    ? Command
    : Member
  : never;

/**
 * The commands that the operations of a backend make: those of `power` are
 * `{ do: 'status' } | { do: 'poweroff' } | { do: 'reboot' }`.
 */
export type CommandOf<B extends Backend> = {
  [N in OperationName]: OperationTable[N] extends { readonly backend: B }
    ? CommandIn<OperationTable[N]>
    : never;
}[OperationName];

export type ChangeOperation = ChangeRow<Backend, string, BodyName | undefined, CommandOf<Backend>>;
export type Operation = ReadOperation<CommandOf<Backend>> | ChangeOperation;

/** The table `TABLE`, with one type for all rows. */
export const OPERATIONS: Readonly<Record<OperationName, Operation>> = TABLE;

export const OPERATION_NAMES = Object.keys(TABLE) as readonly OperationName[];
