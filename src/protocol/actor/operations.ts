// Every operation of the service (contract, section 3), as one table: its name, where it lies, what it takes, which command of its backend
// that is, and what MQTT calls it. Routes, the OpenAPI document, the client, bridges and README are made from it. Data and the building of
// commands only. It names schemas and loads none: their values weigh megabytes.

import type { Backend, ChildName } from './backends.js';
import type { AudioTarget, Command, PlayersCommand, SystemdCommand } from './commands.js';
import { areOf, type Params, type ParamsOf } from './parameters.js';
import { RESOURCES, type Resource } from './resources.js';
import type { BodyName, BodyOf, ComponentName } from './schemas.js';
import type { Settings } from './settings.js';

/** The part of the configuration on which it depends which routes exist. */
export type RouteSettings = Pick<Settings, 'api' | ChildName>;

/** The key of the configuration that would make something exist; undefined: it exists. */
export type Lacks = (settings: RouteSettings) => string | undefined;

/** A body that was sent, and the test by which it is typed. */
export interface GivenBody {
  readonly json: unknown;
  readonly fits: <K extends BodyName>(schema: K, json: unknown) => json is BodyOf<K>;
}

/** How MQTT asks for it: by a word, which is the whole payload, or by a member of an object, which is a member of the body, too. */
export interface MqttName {
  readonly by: 'word' | 'member';
  readonly name: string;
  /** Where it is not below what the path commands. A member that is called as a parameter which the topic lacks is that parameter. */
  readonly topic?: string;
  /** A newer command that sets the same supersedes one that waits. Absent: each counts. */
  readonly sets?: string;
}

interface Row<P extends string> {
  /** Parameters stand in braces. Every path also answers with or without a trailing slash. */
  readonly path: P;
  readonly summary: string;
  readonly lacks: Lacks;
}

/** `schema` is that of the answer; undefined: it is bytes. */
interface Read<P extends string, S extends ComponentName | undefined> extends Row<P> {
  readonly method: 'GET';
  readonly schema: S;
}

/** The gateway itself knows it. */
interface Own<P extends string, S extends ComponentName> extends Read<P, S> {
  readonly kind: 'server' | 'health' | 'openapi';
}

/** A backend's records, as they were published last. */
interface Document<P extends string, S extends ComponentName> extends Read<P, S> {
  readonly kind: 'document';
  readonly backend: Backend;
  readonly resource: Resource;
}

/** Only the backend can give the answer, as JSON or as bytes. */
interface Asked<K extends 'text' | 'cookie', P extends string, S extends ComponentName | undefined>
  extends Read<P, S> {
  readonly kind: K;
  readonly backend: Backend;
  readonly command: Command;
}

interface Cover<P extends string> extends Read<P, undefined> {
  readonly kind: 'cover';
  readonly backend: Backend;
}

interface Change<P extends string, K extends BodyName | undefined, R extends boolean> extends Row<P> {
  readonly method: 'POST';
  readonly kind: 'command';
  readonly backend: Backend;
  /** Undefined: it takes none. */
  readonly body: K;
  readonly isRequired: R;
  /** Undefined: the parameters, or the body, are not such. */
  readonly command: (params: Params, given: GivenBody | undefined) => Command | undefined;
  /** The topic of what is commanded, below the node's branch. */
  readonly topic: string;
  readonly mqtt: readonly MqttName[];
}

export type ChangeOperation = Change<string, BodyName | undefined, boolean>;

export type Operation =
  | Own<string, ComponentName>
  | Document<string, ComponentName>
  | Asked<'text', string, ComponentName>
  | Asked<'cookie', string, undefined>
  | Cover<string>
  | ChangeOperation;

/** How a row is written: `at` is the path of what is commanded. */
interface Written<A extends string, V extends string, B extends Backend> {
  readonly at: A;
  readonly verb: V;
  readonly summary: string;
  readonly backend: B;
  /** Besides that its backend is enabled. */
  readonly lacks?: Lacks;
  readonly mqtt?: readonly MqttName[];
}

export function unless(isThere: boolean, key: string): string | undefined {
  return isThere ? undefined : key;
}

/** That its backend is enabled, and what else it needs. */
function needing(backend: Backend, more: Lacks = () => undefined): Lacks {
  const key = `${backend === 'audio' ? 'pulseaudio' : backend}.enabled`;
  return (settings) => unless(settings[backend].enabled, key) ?? more(settings);
}

function own<P extends string, S extends ComponentName>(
  kind: Own<P, S>['kind'],
  path: P,
  summary: string,
  schema: S,
): Own<P, S> {
  return { method: 'GET', kind, path, summary, schema, lacks: () => undefined };
}

function document<P extends string, S extends ComponentName>(
  resource: Resource,
  path: P,
  summary: string,
  schema: S,
): Document<P, S> {
  const { backend } = RESOURCES[resource];
  const lacks = needing(backend);
  return { method: 'GET', kind: 'document', path, summary, schema, backend, resource, lacks };
}

function change<
  A extends string,
  V extends string,
  B extends Backend,
  K extends BodyName | undefined,
  R extends boolean,
>(
  { at, verb, summary, backend, lacks, mqtt = [] }: Written<A, V, B>,
  body: K,
  isRequired: R,
  command: ChangeOperation['command'],
): Change<`${A}/${V}`, K, R> {
  const row = { method: 'POST', kind: 'command', path: `${at}/${verb}`, summary, backend } as const;
  return { ...row, body, isRequired, command, lacks: needing(backend, lacks), topic: at.slice(1), mqtt };
}

function fits<A extends string, V extends string>(
  { at, verb }: { readonly at: A; readonly verb: V },
  params: Params,
): params is ParamsOf<A> & ParamsOf<V> & Params {
  return areOf(at, params) && areOf(verb, params);
}

/** Without a body. */
function post<A extends string, V extends string, B extends Backend>(
  row: Written<A, V, B> & { readonly command: (params: ParamsOf<A> & ParamsOf<V>) => Command<B> },
): Change<`${A}/${V}`, undefined, false> {
  return change(row, undefined, false, (params) => (fits(row, params) ? row.command(params) : undefined));
}

/** With a body. */
function postWith<A extends string, V extends string, B extends Backend, K extends BodyName>(
  row: Written<A, V, B> & {
    readonly body: K;
    readonly command: (params: ParamsOf<A> & ParamsOf<V>, body: BodyOf<K>) => Command<B>;
  },
): Change<`${A}/${V}`, K, true> {
  return change(row, row.body, true, (params, given) =>
    fits(row, params) && given?.fits(row.body, given.json) ? row.command(params, given.json) : undefined,
  );
}

/** With a body that may be absent. */
function postMaybe<A extends string, V extends string, B extends Backend, K extends BodyName>(
  row: Written<A, V, B> & {
    readonly body: K;
    readonly command: (params: ParamsOf<A> & ParamsOf<V>, body: BodyOf<K> | undefined) => Command<B>;
  },
): Change<`${A}/${V}`, K, false> {
  return change(row, row.body, false, (params, given) => {
    if (!fits(row, params)) return undefined;
    if (given === undefined) return row.command(params, undefined);
    return given.fits(row.body, given.json) ? row.command(params, given.json) : undefined;
  });
}

function word(name: string, sets?: string): readonly MqttName[] {
  return [{ by: 'word', name, ...(sets !== undefined && { sets }) }];
}

/** It sets what it is called. */
function member(name: string): MqttName {
  return { by: 'member', name, sets: name };
}

/** It shifts what there is. */
function shift(name: string): MqttName {
  return { by: 'member', name };
}

function mute<A extends string>(at: A, what: string, target: (params: ParamsOf<A>) => AudioTarget) {
  return postMaybe({
    ...{ at, verb: 'mute', summary: `Mutes ${what}; toggles without a body`, backend: 'audio' },
    body: 'mute',
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
    mqtt: [member('volume'), shift('delta')],
  });
}

const SERVER = '/audio/server';
const OUTPUT = '/audio/outputs/{output}';
const CLIENT = '/audio/clients/{sink}';

const ofServer = (): AudioTarget => ({ kind: 'server' });
const ofOutput = ({ output: ref }: ParamsOf<typeof OUTPUT>): AudioTarget => ({ kind: 'output', ref });
const ofClient = ({ sink: ref }: ParamsOf<typeof CLIENT>): AudioTarget => ({ kind: 'client', ref });

/** A job of systemd's, which a newer one replaces; and whether a unit is enabled. */
const [RUN, ENABLED] = ['run', 'enabled'];

function unit<V extends SystemdCommand['do']>(verb: V, sets: string) {
  return post({
    ...{ at: '/services/{scope}/{unit}', verb, summary: `${verb} a unit`, backend: 'systemd' },
    command: ({ scope, unit: name }) => ({ do: verb, scope, unit: name }),
    mqtt: word(verb, sets),
  });
}

const PLAYER = '/players/{player}';
const PLAYER_NAMES = 'org.mpris.MediaPlayer2.';

/** The whole bus name, which may be given without what all of them begin with. */
export function busName(player: string): string {
  return player.startsWith(PLAYER_NAMES) ? player : PLAYER_NAMES + player;
}

type PlayerVerb = 'play' | 'pause' | 'play_pause' | 'stop' | 'next' | 'previous';
const PLAYBACK = 'playback';

function playback<V extends PlayerVerb>(verb: V, sets?: string) {
  return post({
    ...{ at: PLAYER, verb, summary: `${verb} in a player`, backend: 'players' },
    command: ({ player }) => ({ do: verb, player: busName(player) }),
    mqtt: word(verb, sets),
  });
}

function ofPlayer<V extends string, K extends BodyName>(
  verb: V,
  summary: string,
  body: K,
  mqtt: MqttName,
  command: (player: string, body: BodyOf<K>) => PlayersCommand,
) {
  return postWith({
    ...{ at: PLAYER, verb, summary, backend: 'players', body, mqtt: [mqtt] },
    command: ({ player }, value) => command(busName(player), value),
  });
}

/** By their names, which are those of the client's functions. Lists of all operations keep this order. */
const TABLE = {
  server: own('server', '/server', 'The node and its software', 'Server'),
  health: own('health', '/health', 'The state of the backends', 'Health'),
  openapi: own('openapi', '/openapi.json', 'This document', 'OpenApi'),

  services: document('services', '/services', 'The whitelisted units', 'Services'),
  startUnit: unit('start', RUN),
  stopUnit: unit('stop', RUN),
  restartUnit: unit('restart', RUN),
  enableUnit: unit('enable', ENABLED),
  disableUnit: unit('disable', ENABLED),

  audio: document('audio', '/audio', 'The whole state of the sound server', 'Audio'),
  audioServer: document('audio.server', '/audio/server', 'The sound server', 'AudioServer'),
  outputs: document('audio.outputs', '/audio/outputs', 'The outputs', 'Outputs'),
  clients: document('audio.clients', '/audio/clients', 'The playing streams', 'Clients'),
  muteServer: mute(SERVER, 'the default output', ofServer),
  setServerVolume: volume(SERVER, 'the default output', ofServer),
  muteOutput: mute(OUTPUT, 'an output', ofOutput),
  setOutputVolume: volume(OUTPUT, 'an output', ofOutput),
  muteClient: mute(CLIENT, 'a stream', ofClient),
  setClientVolume: volume(CLIENT, 'a stream', ofClient),
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
  moveClient: postWith({
    ...{ at: CLIENT, verb: 'output', summary: 'Moves a stream to another output', backend: 'audio' },
    body: 'move',
    command: ({ sink: client }, { output }) => ({ do: 'move', client, output: String(output) }),
    mqtt: [member('output')],
  }),
  cookie: {
    method: 'GET',
    kind: 'cookie',
    path: '/audio/cookie',
    summary: 'The authentication cookie',
    schema: undefined,
    backend: 'audio',
    command: { do: 'cookie' },
    lacks: needing('audio', ({ audio }) => unless(audio.serveCookie, 'pulseaudio.serve_cookie')),
  },

  power: {
    method: 'GET',
    kind: 'text',
    path: '/power/',
    summary: 'The granted power actions',
    schema: 'Power',
    backend: 'power',
    command: { do: 'status' },
    lacks: needing('power'),
  },
  powerOff: post({
    ...{ at: '/power', verb: 'power_off', summary: 'Powers the node off', backend: 'power' },
    command: () => ({ do: 'poweroff' }),
    mqtt: word('poweroff', RUN),
  }),
  reboot: post({
    ...{ at: '/power', verb: 'reboot', summary: 'Reboots the node', backend: 'power' },
    command: () => ({ do: 'reboot' }),
    mqtt: word('reboot', RUN),
  }),

  players: document('players', '/players', 'The media players', 'Players'),
  cover: {
    method: 'GET',
    kind: 'cover',
    path: '/players/{player}/cover',
    summary: 'The cover of what a player plays',
    schema: undefined,
    backend: 'players',
    lacks: needing('players'),
  },
  play: playback('play', PLAYBACK),
  pause: playback('pause', PLAYBACK),
  playPause: playback('play_pause'),
  stop: playback('stop', PLAYBACK),
  next: playback('next'),
  previous: playback('previous'),
  seek: ofPlayer('seek', 'Moves the position by an offset', 'seek', shift('offset'), (player, body) => ({
    ...{ do: 'seek', player, offset: body.offset },
  })),
  setPosition: ofPlayer('position', 'Sets the position', 'position', member('position'), (player, body) => ({
    ...{ do: 'position', player, position: body.position },
    ...(body.track_id !== undefined && { trackId: body.track_id }),
  })),
  setPlayerVolume: ofPlayer(
    ...(['volume', 'Sets the volume of a player', 'setVolume', member('volume')] as const),
    (player, { volume: value }) => ({ do: 'volume', player, volume: value }),
  ),
  setLoop: ofPlayer('loop', 'Sets what is repeated', 'loop', member('loop'), (player, { loop }) => ({
    ...{ do: 'loop', player, loop },
  })),
  setShuffle: ofPlayer(
    ...(['shuffle', 'Sets whether the order is random', 'shuffle', member('shuffle')] as const),
    (player, { shuffle }) => ({ do: 'shuffle', player, shuffle }),
  ),

  upgrade: document('upgrade', '/upgrade', 'The state of upgrades', 'Upgrade'),
  checkUpgrade: post({
    ...{ at: '/upgrade', verb: 'check', summary: 'Looks for an upgrade', backend: 'upgrade' },
    lacks: ({ upgrade }) => unless(upgrade.checkUnit !== undefined, 'upgrade.checkUnit'),
    command: () => ({ do: 'check' }),
    mqtt: word('check', 'check'),
  }),
  startUpgrade: post({
    ...{ at: '/upgrade', verb: 'start', summary: 'Starts the upgrade', backend: 'upgrade' },
    lacks: ({ upgrade }) => unless(upgrade.upgradeUnit !== undefined, 'upgrade.upgradeUnit'),
    command: () => ({ do: 'start' }),
    mqtt: word('start', 'start'),
  }),
} as const satisfies Record<string, Operation>;

export type OperationTable = typeof TABLE;

export type OperationName = keyof OperationTable;

/** The table with its rows widened to what any of them may have. */
export const OPERATIONS: Readonly<Record<OperationName, Operation>> = TABLE;

export const OPERATION_NAMES = Object.keys(TABLE) as readonly OperationName[];
