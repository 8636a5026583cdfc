// Table of all operations (docs/http-api.md, "Routes"): name, path, body, the backend's command, and MQTT names. Routes, the OpenAPI
// document, the client, bridges and the commands in docs/http-api.md are generated from it. It contains only data and functions that
// build commands. It names schemas but loads none, because their values take megabytes.

import type { Backend, ChildName } from './backends.js';
import { RESOURCES, type Resource } from './collections.js';
import type { AdapterVerb, AudioTarget, Command, DeviceVerb, PlayersCommand, UnitVerb } from './commands.js';
import type { Params, ParamsOf } from './parameters.js';
import type { BodyName, BodyOf, ComponentName } from './schemas.js';
import type { Settings } from './settings.js';

/** The part of the configuration that decides which routes exist. */
export type RouteSettings = Pick<Settings, 'api' | ChildName>;

/** The configuration key that would have to be set for something to exist; undefined if it exists. */
export type Lacks = (settings: RouteSettings) => string | undefined;

/** An MQTT name of an operation: a word is the whole payload; a member belongs to an object, and is a member of the body, too. */
export interface MqttName {
  readonly by: 'word' | 'member';
  readonly name: string;
  /** The topic, if it does not follow from the path. A path parameter that the topic lacks is the payload's member of that name. */
  readonly topic?: string;
  /** The body's member, if its name differs from `name`. */
  readonly of?: string;
  /** A newer command that sets the same thing replaces a waiting one. Absent: every command counts. */
  readonly sets?: string;
}

interface OperationRow<P extends string> {
  /** Parameters are in braces. Every path is served with and without a trailing slash. */
  readonly path: P;
  readonly summary: string;
  readonly lacks: Lacks;
}

interface PublishedSource {
  readonly kind: 'document';
  readonly backend: ChildName;
  readonly resource: Resource;
}

interface CommandSource<K> {
  readonly kind: K;
  readonly backend: Backend;
  readonly command: Command;
}

/** The log of a unit; it alone has a query (`LOG_LINES`). */
interface LogSource {
  readonly kind: 'log';
  readonly backend: Backend;
  command(params: Params, lines: number): Command;
}

/** The source of a JSON document: the gateway itself, records of a backend, or a command to the backend. */
type Json =
  | { readonly kind: 'server' | 'health' | 'openapi' }
  | { readonly kind: 'tracklist'; readonly backend: Backend }
  | PublishedSource
  | CommandSource<'text'>
  | LogSource;
type Bytes = { readonly kind: 'cover'; readonly backend: Backend } | CommandSource<'cookie'>;

/** `schema` is the answer's; undefined for bytes. */
interface ReadRow<P extends string, S extends ComponentName | undefined> extends OperationRow<P> {
  readonly method: 'GET';
  readonly schema: S;
}

interface ChangeRow<P extends string, K extends BodyName | undefined> extends OperationRow<P> {
  readonly method: 'POST';
  readonly kind: 'command';
  readonly backend: Backend;
  /** Undefined if the operation takes no body. */
  readonly body: K;
  readonly isRequired: boolean;
  /** Replaces a body that was left out. */
  readonly absent: unknown;
  /** The caller has checked that the parameters are those of the path, and that the body fits its schema. */
  command(params: Params, body: unknown): Command;
  /** The topic of the commanded thing, below the node's branch. */
  readonly topic: string;
  readonly mqtt: readonly MqttName[];
}

export type ChangeOperation = ChangeRow<string, BodyName | undefined>;

export type Operation =
  | (ReadRow<string, ComponentName> & Json)
  | (ReadRow<string, undefined> & Bytes)
  | ChangeOperation;

/** The common fields of a row; `at` is the path of the commanded thing. */
interface Written<A extends string, V extends string, B extends Backend> {
  readonly at: A;
  readonly verb: V;
  readonly summary: string;
  readonly backend: B;
  /** Conditions besides the enabled backend. */
  readonly lacks?: Lacks;
  readonly mqtt?: readonly MqttName[];
}

export function unless(isThere: boolean, key: string): string | undefined {
  return isThere ? undefined : key;
}

/** Requires the enabled backend, and `more`. */
function needing(backend: ChildName, more: Lacks = () => undefined): Lacks {
  const key = `${backend === 'audio' ? 'pulseaudio' : backend}.enabled`;
  return (settings) => unless(settings[backend].enabled, key) ?? more(settings);
}

function read<P extends string, S extends ComponentName | undefined, F extends Json | Bytes>(
  path: P,
  summary: string,
  schema: S,
  source: F,
  more?: Lacks,
): ReadRow<P, S> & F {
  const lacks = 'backend' in source ? needing(source.backend, more) : () => undefined;
  return { method: 'GET', path, summary, schema, lacks, ...source };
}

function published(resource: Resource): PublishedSource {
  return { kind: 'document', backend: RESOURCES[resource].backend, resource };
}

type Given<K> = K extends BodyName ? BodyOf<K> : undefined;

/** An operation with a body. `absent` replaces a missing body; without `absent` a body is required. */
function postWith<A extends string, V extends string, B extends Backend, K extends BodyName | undefined>({
  at,
  verb,
  lacks,
  mqtt = [],
  absent,
  ...row
}: Written<A, V, B> & {
  readonly body: K;
  readonly absent?: Given<K>;
  readonly command: (params: ParamsOf<A> & ParamsOf<V>, body: Given<K>) => Command<B>;
}): ChangeRow<`${A}/${V}`, K> {
  return {
    ...row,
    ...{ method: 'POST', kind: 'command', path: `${at}/${verb}`, topic: at.slice(1) },
    ...{ isRequired: row.body !== undefined && absent === undefined, absent },
    ...{ lacks: needing(row.backend, lacks), mqtt },
  };
}

/** An operation without a body. */
function post<A extends string, V extends string, B extends Backend>(
  row: Written<A, V, B> & { readonly command: (params: ParamsOf<A> & ParamsOf<V>) => Command<B> },
): ChangeRow<`${A}/${V}`, undefined> {
  return postWith({ ...row, body: undefined });
}

function payloadWord(name: string, sets?: string): readonly MqttName[] {
  return [{ by: 'word', name, ...(sets !== undefined && { sets }) }];
}

/** A member sets the thing of its own name. False as `sets` means a relative change, which replaces no other. */
function member(name: string, sets: string | false = name): MqttName {
  return { by: 'member', name, ...(sets !== false && { sets }) };
}

function mute<A extends string>(at: A, what: string, target: (params: ParamsOf<A>) => AudioTarget) {
  return postWith({
    ...{ at, verb: 'mute', summary: `Mutes ${what}; toggles without a body`, backend: 'audio' },
    ...{ body: 'mute', absent: {} },
    command: (params, body) => ({ do: 'mute', target: target(params), ...body }),
    mqtt: [member('muted')],
  });
}

function volume<A extends string>(at: A, what: string, target: (params: ParamsOf<A>) => AudioTarget) {
  return postWith({
    ...{ at, verb: 'volume', summary: `Sets or shifts the volume of ${what}`, backend: 'audio' },
    body: 'volume',
    command: (params, body) =>
      'volume' in body
        ? { do: 'volume', target: target(params), volume: body.volume }
        : { do: 'delta', target: target(params), delta: body.delta },
    mqtt: [member('volume'), member('delta', false)],
  });
}

const SERVER = '/audio/server';
const OUTPUT = '/audio/outputs/{output}';
const CLIENT = '/audio/clients/{sink}';

const serverTarget = (): AudioTarget => ({ kind: 'server' });
const outputTarget = ({ output: ref }: ParamsOf<typeof OUTPUT>): AudioTarget => ({ kind: 'output', ref });
const clientTarget = ({ sink: ref }: ParamsOf<typeof CLIENT>): AudioTarget => ({ kind: 'client', ref });

/** RUN starts or stops something, which a newer command replaces; ENABLED is a unit file's state. */
const [RUN, ENABLED] = ['run', 'enabled'];

function unit<V extends UnitVerb>(verb: V, summary: string, sets: string) {
  return post({
    ...{ at: '/services/{scope}/{unit}', verb, summary, backend: 'systemd' },
    command: ({ scope, unit: name }) => ({ do: verb, scope, unit: name }),
    mqtt: payloadWord(verb, sets),
  });
}

const PLAYER = '/players/{player}';
const TRACKLIST = `${PLAYER}/tracklist` as const;
const PLAYER_NAMES = 'org.mpris.MediaPlayer2.';

/** The whole bus name; the common prefix of all players may be left out. */
export function fullBusName(player: string): string {
  return player.startsWith(PLAYER_NAMES) ? player : PLAYER_NAMES + player;
}

type PlayerVerb = 'play' | 'pause' | 'play_pause' | 'stop' | 'next' | 'previous';
const PLAYBACK = 'playback';

function playback<V extends PlayerVerb>(verb: V, summary: string, sets?: string) {
  return post({
    ...{ at: PLAYER, verb, summary, backend: 'players' },
    command: ({ player }) => ({ do: verb, player: fullBusName(player) }),
    mqtt: payloadWord(verb, sets),
  });
}

/** The bodies that have the members of the command `V`. */
type BodyLike<V> = {
  [K in BodyName]: BodyOf<K> extends Omit<Extract<PlayersCommand, { readonly do: V }>, 'do' | 'player'>
    ? K
    : never;
}[BodyName];

function playerOperation<V extends PlayersCommand['do'], K extends BodyLike<V>>(
  verb: V,
  summary: string,
  body: K,
  mqtt = member(verb),
) {
  return postWith({
    ...{ at: PLAYER, verb, summary, backend: 'players', body, mqtt: [mqtt] },
    // `BodyLike` has checked it, which the compiler cannot follow for all verbs at once.
    command: ({ player }, value) =>
      ({ do: verb, player: fullBusName(player), ...(value as object) }) as PlayersCommand,
  });
}

function adapter<V extends AdapterVerb>(verb: V, summary: string, mqtt: readonly MqttName[] = []) {
  return post({
    ...{ at: '/bluetooth', verb, summary, backend: 'bluetooth', mqtt },
    command: () => ({ do: verb }),
  });
}

function device<V extends DeviceVerb>(verb: V, summary: string, mqtt: readonly MqttName[] = []) {
  return postWith({
    ...{ at: '/bluetooth', verb, summary, backend: 'bluetooth', body: 'device', mqtt },
    command: (_params, { address }) => ({ do: verb, address }),
  });
}

/** Keyed by the names of the client's functions. Lists of all operations keep this order. */
const TABLE = {
  server: read('/server', 'The node and its software', 'Server', { kind: 'server' }),
  nodes: read('/nodes', 'The nodes on the network', 'Nodes', published('nodes')),
  health: read('/health', 'The state of the backends', 'Health', { kind: 'health' }),
  openapi: read('/openapi.json', 'This document', 'OpenApi', { kind: 'openapi' }),

  services: read('/services', 'The configured units', 'Services', published('services')),
  startUnit: unit('start', 'Starts a unit', RUN),
  stopUnit: unit('stop', 'Stops a unit', RUN),
  restartUnit: unit('restart', 'Restarts a unit', RUN),
  enableUnit: unit('enable', 'Enables a unit', ENABLED),
  disableUnit: unit('disable', 'Disables a unit', ENABLED),

  unitLog: read(
    ...(['/services/{scope}/{unit}/log', "The newest lines of a unit's log", 'Log'] as const),
    {
      ...{ kind: 'log', backend: 'systemd' },
      command: ({ scope, unit: name }: ParamsOf<'/services/{scope}/{unit}'>, lines: number) => ({
        do: 'log',
        scope,
        unit: name,
        lines,
      }),
    },
    ({ api }) => unless(api.logs, 'api.logs'),
  ),

  audio: read('/audio', 'The whole state of the sound server', 'Audio', published('audio')),
  audioServer: read('/audio/server', 'The sound server', 'AudioServer', published('audio.server')),
  outputs: read('/audio/outputs', 'The outputs', 'Outputs', published('audio.outputs')),
  cards: read('/audio/cards', 'The sound cards', 'Cards', published('audio.cards')),
  clients: read(
    '/audio/clients',
    'The clients, which are streams of sound',
    'Clients',
    published('audio.clients'),
  ),
  muteServer: mute(SERVER, 'the default output', serverTarget),
  setServerVolume: volume(SERVER, 'the default output', serverTarget),
  muteOutput: mute(OUTPUT, 'an output', outputTarget),
  setOutputVolume: volume(OUTPUT, 'an output', outputTarget),
  muteClient: mute(CLIENT, 'a client', clientTarget),
  setClientVolume: volume(CLIENT, 'a client', clientTarget),
  setDefaultOutput: post({
    ...{ at: OUTPUT, verb: 'default', summary: 'Makes an output the default', backend: 'audio' },
    command: ({ output }) => ({ do: 'default', output }),
    mqtt: [member('default'), { by: 'member', name: 'output', topic: 'audio/server', sets: 'default' }],
  }),
  setOutputPort: postWith({
    ...{ at: OUTPUT, verb: 'port', summary: 'Switches an output to one of its ports', backend: 'audio' },
    body: 'port',
    command: ({ output }, { port }) => ({ do: 'port', output, port }),
    mqtt: [member('port')],
  }),
  setOutputBalance: postWith({
    ...{ at: OUTPUT, verb: 'balance', backend: 'audio' },
    summary: 'Sets the balance of an output between left and right',
    body: 'balance',
    command: ({ output }, { balance }) => ({ do: 'balance', output, balance }),
    mqtt: [member('balance')],
  }),
  setCardProfile: postWith({
    ...{ at: '/audio/cards/{card}', verb: 'profile', backend: 'audio', body: 'profile' },
    summary: 'Switches a card to one of its profiles',
    command: ({ card }, { profile }) => ({ do: 'profile', card, profile }),
    mqtt: [member('profile')],
  }),
  moveClient: postWith({
    ...{ at: CLIENT, verb: 'output', summary: 'Moves a client to another output', backend: 'audio' },
    body: 'move',
    command: ({ sink: client }, { output }) => ({ do: 'move', client, output: String(output) }),
    mqtt: [member('output')],
  }),
  cookie: read(
    ...(['/audio/cookie', 'The authentication cookie', undefined] as const),
    { kind: 'cookie', backend: 'audio', command: { do: 'cookie' } },
    ({ audio }) => unless(audio.serveCookie, 'pulseaudio.serve_cookie'),
  ),

  power: read('/power/', 'The granted power actions', 'Power', {
    ...{ kind: 'text', backend: 'power', command: { do: 'status' } },
  }),
  powerOff: post({
    ...{ at: '/power', verb: 'power_off', summary: 'Powers the node off', backend: 'power' },
    command: () => ({ do: 'poweroff' }),
    mqtt: payloadWord('poweroff', RUN),
  }),
  reboot: post({
    ...{ at: '/power', verb: 'reboot', summary: 'Reboots the node', backend: 'power' },
    command: () => ({ do: 'reboot' }),
    mqtt: payloadWord('reboot', RUN),
  }),

  players: read('/players', 'The media players', 'Players', published('players')),
  cover: read('/players/{player}/cover', 'The cover of what a player plays', undefined, {
    ...{ kind: 'cover', backend: 'players' },
  }),
  play: playback('play', 'Plays', PLAYBACK),
  pause: playback('pause', 'Pauses', PLAYBACK),
  playPause: playback('play_pause', 'Pauses if it plays, else plays'),
  stop: playback('stop', 'Stops', PLAYBACK),
  next: playback('next', 'Goes to the next track'),
  previous: playback('previous', 'Goes to the previous track'),
  seek: playerOperation('seek', 'Moves the position by an offset', 'seek', member('offset', false)),
  setPosition: playerOperation('position', 'Sets the position', 'position'),
  setPlayerVolume: playerOperation('volume', 'Sets the volume of a player', 'setVolume'),
  setLoop: playerOperation('loop', 'Sets what is repeated', 'loop'),
  setShuffle: playerOperation('shuffle', 'Sets whether the order is random', 'shuffle'),
  tracklist: read('/players/{player}/tracklist', 'The tracklist of a player', 'Tracklist', {
    ...{ kind: 'tracklist', backend: 'players' },
  }),
  gotoTrack: post({
    ...{ at: TRACKLIST, verb: 'goto/{trackid}', summary: 'Goes to a track', backend: 'players' },
    command: ({ player, trackid: track }) => ({ do: 'goto', player: fullBusName(player), track }),
  }),
  removeTrack: post({
    ...{ at: TRACKLIST, verb: 'remove/{trackid}', summary: 'Removes a track', backend: 'players' },
    command: ({ player, trackid: track }) => ({ do: 'remove', player: fullBusName(player), track }),
  }),
  addTrack: postWith({
    ...{ at: TRACKLIST, verb: 'add', summary: 'Adds a track', backend: 'players', body: 'addTrack' },
    command: ({ player }, { uri, after_track: after, set_as_current: isCurrent = false }) => ({
      ...{ do: 'add', player: fullBusName(player), uri, isCurrent, ...(after !== undefined && { after }) },
    }),
  }),

  bluetooth: read(
    '/bluetooth',
    'The Bluetooth adapter, and the devices that it knows',
    'Bluetooth',
    published('bluetooth'),
  ),
  bluetoothDevices: read(
    '/bluetooth/devices',
    'Known Bluetooth devices, and what a scan has found',
    'BluetoothDevices',
    published('bluetooth.devices'),
  ),
  switchBluetoothOn: adapter('power_up', 'Switches the adapter on', payloadWord('power_up', 'power')),
  switchBluetoothOff: adapter('power_down', 'Switches the adapter off', payloadWord('power_down', 'power')),
  startPairing: adapter(
    ...(['pairing_mode', 'Lets a device find the node and pair with it'] as const),
    payloadWord('pairing_mode', 'pairing'),
  ),
  stopPairing: adapter('pairing_mode/stop', 'Ends pairing mode'),
  startScan: adapter('scan', 'Looks for devices', payloadWord('scan', 'scan')),
  stopScan: adapter('scan/stop', 'Ends the scan'),
  connectDevice: device('connect', 'Pairs with a device if needed, and connects it', [
    { by: 'member', name: 'connect', of: 'address' },
  ]),
  disconnectDevice: device('disconnect', 'Disconnects a device', [
    { by: 'member', name: 'disconnect', of: 'address' },
  ]),
  forgetDevice: device('forget', 'Forgets a device, and its keys'),

  upgrade: read('/upgrade', 'The state of upgrades', 'Upgrade', published('upgrade')),
  upgradeLog: read(
    ...(['/upgrade/log', "The newest lines of the upgrade unit's log", 'Log'] as const),
    { kind: 'log', backend: 'upgrade', command: (_params, lines) => ({ do: 'log', lines }) },
    ({ api, upgrade }) =>
      unless(api.logs, 'api.logs') ?? unless(upgrade.upgradeUnit !== undefined, 'upgrade.upgradeUnit'),
  ),
  checkUpgrade: post({
    ...{ at: '/upgrade', verb: 'check', summary: 'Looks for an upgrade', backend: 'upgrade' },
    lacks: ({ upgrade }) => unless(upgrade.checkUnit !== undefined, 'upgrade.checkUnit'),
    command: () => ({ do: 'check' }),
    mqtt: payloadWord('check', 'check'),
  }),
  startUpgrade: post({
    ...{ at: '/upgrade', verb: 'start', summary: 'Starts the upgrade', backend: 'upgrade' },
    lacks: ({ upgrade }) => unless(upgrade.upgradeUnit !== undefined, 'upgrade.upgradeUnit'),
    command: () => ({ do: 'start' }),
    mqtt: payloadWord('start', 'start'),
  }),
} as const satisfies Record<string, Operation>;

export type OperationTable = typeof TABLE;

export type OperationName = keyof OperationTable;

/** The table with its rows widened to all optional fields. */
export const OPERATIONS: Readonly<Record<OperationName, Operation>> = TABLE;

export const OPERATION_NAMES = Object.keys(TABLE) as readonly OperationName[];
