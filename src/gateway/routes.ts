// All routes of the interface (contract, section 3), as one table: the router, 405, OPTIONS and the OpenAPI document come from it.
// Data and the building of commands only; what is done with a route stands in handler.ts.

import type { Backend, ChildName } from '../protocol/actor/backends.js';
import type {
  Answer,
  AudioTarget,
  Command,
  PlayersCommand,
  SystemdCommand,
} from '../protocol/actor/commands.js';
import type { Backends } from '../protocol/actor/messages.js';
import { RESOURCES, type Resource } from '../protocol/actor/resources.js';
import type { ComponentName } from '../protocol/actor/schemas.js';
import type { Settings } from '../protocol/actor/settings.js';
import { type Body, decodeBody, NO_BODY, optionalBody, type RawBody, requiredBody } from './body.js';
import type { PagePart } from './page.js';
import { type Problem, problem } from './problem.js';

/** The part of the configuration on which it depends which routes exist. */
export type RouteSettings = Pick<Settings, 'api' | ChildName>;

/** Decoded path parameters by the name in the template. */
export type Params = ReadonlyMap<string, string>;

/** A GET names the schema of its answer, for the OpenAPI document. */
export type Action =
  | {
      readonly kind: 'document';
      readonly backend: Backend;
      readonly resource: Resource;
      readonly schema: ComponentName;
    }
  /** An answer that only the backend can give; `text` is JSON, `cookie` bytes. */
  | { readonly kind: 'text'; readonly backend: Backend; readonly ask: Ask; readonly schema: ComponentName }
  | { readonly kind: 'cookie'; readonly backend: Backend; readonly ask: Ask }
  | { readonly kind: 'cover'; readonly backend: Backend; readonly player: (params: Params) => string }
  | {
      readonly kind: 'mutation';
      readonly backend: Backend;
      readonly body: Pick<Body<unknown>, 'schema' | 'isRequired'>;
      readonly run: (backends: Backends, params: Params, body: RawBody) => Promise<Answer | Problem>;
    }
  | { readonly kind: 'server' | 'health' | 'openapi'; readonly schema: ComponentName }
  | { readonly kind: 'events' }
  | { readonly kind: 'page'; readonly part: PagePart };

type Ask = (backends: Backends) => Promise<Answer>;

export interface Route {
  readonly method: 'GET' | 'POST';
  /** As the contract and OpenAPI write it, parameters in braces. Every path also answers with or without a trailing slash. */
  readonly path: string;
  readonly summary: string;
  /** The key of the configuration that would make it exist; undefined: it exists. */
  readonly lacks: (settings: RouteSettings) => string | undefined;
  readonly action: Action;
}

interface Mutation<B extends Backend, T> extends Pick<Route, 'path' | 'summary'> {
  /** Besides that its backend is enabled. */
  readonly lacks?: Lacks;
  readonly backend: B;
  readonly body: Body<T>;
  readonly command: (params: Params, body: T) => Command<B> | Problem;
}

type Lacks = Route['lacks'];

const always: Lacks = () => undefined;
const withPage: Lacks = ({ api }) => unless(api.ui.enabled, 'api.ui.enabled');
const withStream: Lacks = ({ api }) => unless(api.sse.enabled, 'api.sse.enabled');
const withAudio = enabling('audio', 'pulseaudio.enabled');
const withSystemd = enabling('systemd');
const withPower = enabling('power');
const withUpgrade = enabling('upgrade');
const withPlayers = enabling('players');

function unless(isThere: boolean, key: string): string | undefined {
  return isThere ? undefined : key;
}

function enabling(backend: Backend, key = `${backend}.enabled`): Lacks {
  return (settings) => unless(settings[backend].enabled, key);
}

function get(path: string, summary: string, lacks: Lacks, action: Action): Route {
  return { method: 'GET', path, summary, lacks, action };
}

/** Of a backend, as it was published last. */
function state(resource: Resource, schema: ComponentName): Action {
  return { kind: 'document', backend: RESOURCES[resource].backend, resource, schema };
}

function post<B extends Backend, T>(row: Mutation<B, T>): Route {
  const { path, summary, backend, body, command } = row;
  const enabled = backend === 'audio' ? withAudio : enabling(backend);
  const lacks: Lacks = (settings) => enabled(settings) ?? row.lacks?.(settings);
  const run = async (backends: Backends, params: Params, raw: RawBody): Promise<Answer | Problem> => {
    const decoded = await decodeBody(body, raw);
    if (!decoded.ok) return decoded;
    const built = command(params, decoded.value);
    return 'fault' in built ? built : backends.ask(backend, built);
  };
  return { method: 'POST', path, summary, lacks, action: { kind: 'mutation', backend, body, run } };
}

function param(params: Params, name: string): string {
  const value = params.get(name);
  if (value === undefined) throw new Error(`The route's template has no {${name}}`);
  return value;
}

/** What can be muted and set in volume, and how its path names it. */
const TARGETS: readonly { path: string; what: string; of: (params: Params) => AudioTarget }[] = [
  { path: '/audio/server', what: 'the default output', of: () => ({ kind: 'server' }) },
  {
    path: '/audio/outputs/{output}',
    what: 'an output',
    of: (params) => ({ kind: 'output', ref: param(params, 'output') }),
  },
  {
    path: '/audio/clients/{sink}',
    what: 'a stream',
    of: (params) => ({ kind: 'client', ref: param(params, 'sink') }),
  },
];

const audioTargetRoutes = TARGETS.flatMap(({ path, what, of }) => [
  post({
    path: `${path}/mute`,
    summary: `Mutes ${what}; toggles without a body`,
    backend: 'audio',
    body: optionalBody('mute', {}),
    command: (params, body) => ({ do: 'mute', target: of(params), ...body }),
  }),
  post({
    path: `${path}/volume`,
    summary: `Sets or shifts the volume of ${what}`,
    backend: 'audio',
    body: requiredBody('volume'),
    command: (params, body) =>
      'volume' in body
        ? { do: 'volume', target: of(params), volume: body.volume }
        : { do: 'delta', target: of(params), delta: body.delta },
  }),
]);

const UNIT_VERBS = ['start', 'stop', 'restart', 'enable', 'disable'] as const;

const unitRoutes = UNIT_VERBS.map((verb) =>
  post({
    path: `/services/{scope}/{unit}/${verb}`,
    summary: `${verb} a unit`,
    backend: 'systemd',
    body: NO_BODY,
    command: (params): SystemdCommand | Problem => {
      const scope = param(params, 'scope');
      if (scope === 'user' || scope === 'system') return { do: verb, scope, unit: param(params, 'unit') };
      return problem('not-found', `There is no scope ${JSON.stringify(scope)}, only user and system`);
    },
  }),
);

const PLAYER_NAMES = 'org.mpris.MediaPlayer2.';

/** The whole bus name, which may be given without what all of them begin with. */
function playerOf(params: Params): string {
  const name = param(params, 'player');
  return name.startsWith(PLAYER_NAMES) ? name : PLAYER_NAMES + name;
}

function playerRoute<T>(
  verb: string,
  summary: string,
  body: Body<T>,
  command: (player: string, body: T) => PlayersCommand,
): Route {
  return post({
    path: `/players/{player}/${verb}`,
    summary,
    backend: 'players',
    body,
    command: (params, value) => command(playerOf(params), value),
  });
}

const PLAYER_VERBS = ['play', 'pause', 'play_pause', 'stop', 'next', 'previous'] as const;

const playerRoutes: readonly Route[] = [
  get('/players', 'The media players', withPlayers, state('players', 'Players')),
  get('/players/{player}/cover', 'The cover of what a player plays', withPlayers, {
    kind: 'cover',
    backend: 'players',
    player: playerOf,
  }),
  ...PLAYER_VERBS.map((verb) =>
    playerRoute(verb, `${verb} in a player`, NO_BODY, (player) => ({ do: verb, player })),
  ),
  playerRoute('seek', 'Moves the position by an offset', requiredBody('seek'), (player, { offset }) => ({
    do: 'seek',
    player,
    offset,
  })),
  playerRoute('position', 'Sets the position', requiredBody('position'), (player, body) => ({
    do: 'position',
    player,
    position: body.position,
    ...(body.track_id !== undefined && { trackId: body.track_id }),
  })),
  playerRoute('volume', 'Sets the volume of a player', requiredBody('setVolume'), (player, { volume }) => ({
    do: 'volume',
    player,
    volume,
  })),
  playerRoute('loop', 'Sets what is repeated', requiredBody('loop'), (player, { loop }) => ({
    do: 'loop',
    player,
    loop,
  })),
  playerRoute(
    'shuffle',
    'Sets whether the order is random',
    requiredBody('shuffle'),
    (player, { shuffle }) => ({
      do: 'shuffle',
      player,
      shuffle,
    }),
  ),
];

export const ROUTES: readonly Route[] = [
  get('/', 'The way to the page', withPage, { kind: 'page', part: 'way' }),
  get('/ui', 'The page', withPage, { kind: 'page', part: 'document' }),
  get('/ui/{file}', 'A file of the page', withPage, { kind: 'page', part: 'file' }),
  get('/server', 'The node and its software', always, { kind: 'server', schema: 'Server' }),
  get('/health', 'The state of the backends', always, { kind: 'health', schema: 'Health' }),
  get('/openapi.json', 'This document', always, { kind: 'openapi', schema: 'OpenApi' }),
  get('/events', 'The stream of changes', withStream, { kind: 'events' }),
  get('/services', 'The whitelisted units', withSystemd, state('services', 'Services')),
  ...unitRoutes,
  get('/audio', 'The whole state of the sound server', withAudio, state('audio', 'Audio')),
  get('/audio/server', 'The sound server', withAudio, state('audio.server', 'AudioServer')),
  get('/audio/outputs', 'The outputs', withAudio, state('audio.outputs', 'Outputs')),
  get('/audio/clients', 'The playing streams', withAudio, state('audio.clients', 'Clients')),
  ...audioTargetRoutes,
  post({
    path: '/audio/outputs/{output}/default',
    summary: 'Makes an output the default',
    backend: 'audio',
    body: NO_BODY,
    command: (params) => ({ do: 'default', output: param(params, 'output') }),
  }),
  post({
    path: '/audio/outputs/{output}/port',
    summary: 'Switches an output to one of its ports',
    backend: 'audio',
    body: requiredBody('port'),
    command: (params, { port }) => ({ do: 'port', output: param(params, 'output'), port }),
  }),
  post({
    path: '/audio/outputs/{output}/balance',
    summary: 'Sets the balance of an output between left and right',
    backend: 'audio',
    body: requiredBody('balance'),
    command: (params, { balance }) => ({ do: 'balance', output: param(params, 'output'), balance }),
  }),
  post({
    path: '/audio/clients/{sink}/output',
    summary: 'Moves a stream to another output',
    backend: 'audio',
    body: requiredBody('move'),
    command: (params, { output }) => ({ do: 'move', client: param(params, 'sink'), output: String(output) }),
  }),
  get(
    '/audio/cookie',
    'The authentication cookie',
    (settings) => withAudio(settings) ?? unless(settings.audio.serveCookie, 'pulseaudio.serve_cookie'),
    { kind: 'cookie', backend: 'audio', ask: (backends) => backends.ask('audio', { do: 'cookie' }) },
  ),
  get('/power/', 'The granted power actions', withPower, {
    kind: 'text',
    backend: 'power',
    schema: 'Power',
    ask: (backends) => backends.ask('power', { do: 'status' }),
  }),
  post({
    path: '/power/power_off',
    summary: 'Powers the node off',
    backend: 'power',
    body: NO_BODY,
    command: () => ({ do: 'poweroff' }),
  }),
  post({
    path: '/power/reboot',
    summary: 'Reboots the node',
    backend: 'power',
    body: NO_BODY,
    command: () => ({ do: 'reboot' }),
  }),
  ...playerRoutes,
  get('/upgrade', 'The state of upgrades', withUpgrade, state('upgrade', 'Upgrade')),
  post({
    path: '/upgrade/check',
    summary: 'Looks for an upgrade',
    lacks: ({ upgrade }) => unless(upgrade.checkUnit !== undefined, 'upgrade.checkUnit'),
    backend: 'upgrade',
    body: NO_BODY,
    command: () => ({ do: 'check' }),
  }),
  post({
    path: '/upgrade/start',
    summary: 'Starts the upgrade',
    lacks: ({ upgrade }) => unless(upgrade.upgradeUnit !== undefined, 'upgrade.upgradeUnit'),
    backend: 'upgrade',
    body: NO_BODY,
    command: () => ({ do: 'start' }),
  }),
];
