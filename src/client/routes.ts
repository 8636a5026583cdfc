// Every route as a function (contract, section 3): what each is called and takes, and one table of where it leads.

import { contentOf, jsonOf, send, type Transport } from './problem.js';
import type {
  AudioRecord,
  AudioServerRecord,
  BodyOf,
  ClientRecord,
  HealthRecord,
  OutputRecord,
  PlayerRecord,
  PowerRecord,
  ServerRecord,
  ServiceRecord,
  UpgradeRecord,
} from './records.js';

/** An id, or an exact name. */
type Ref = string | number;

type UnitScope = ServiceRecord['scope'];

type Done = Promise<void>;

/**
 * Each function rejects with a `ProblemError`. Those that change something resolve when the sound server, systemd, logind or the
 * player has accepted it. Names are encoded for you.
 */
export interface Routes {
  server(): Promise<ServerRecord>;
  health(): Promise<HealthRecord>;
  openapi(): Promise<unknown>;

  audio(): Promise<AudioRecord>;
  audioServer(): Promise<AudioServerRecord>;
  outputs(): Promise<OutputRecord[]>;
  clients(): Promise<ClientRecord[]>;
  /** Of the default output. Without a body it toggles. */
  muteServer(body?: BodyOf<'mute'>): Done;
  setServerVolume(body: BodyOf<'volume'>): Done;
  muteOutput(output: Ref, body?: BodyOf<'mute'>): Done;
  setOutputVolume(output: Ref, body: BodyOf<'volume'>): Done;
  setDefaultOutput(output: Ref): Done;
  setOutputPort(output: Ref, body: BodyOf<'port'>): Done;
  setOutputBalance(output: Ref, body: BodyOf<'balance'>): Done;
  muteClient(client: Ref, body?: BodyOf<'mute'>): Done;
  setClientVolume(client: Ref, body: BodyOf<'volume'>): Done;
  moveClient(client: Ref, body: BodyOf<'move'>): Done;
  cookie(): Promise<Blob>;

  services(): Promise<ServiceRecord[]>;
  startUnit(scope: UnitScope, unit: string): Done;
  stopUnit(scope: UnitScope, unit: string): Done;
  restartUnit(scope: UnitScope, unit: string): Done;
  enableUnit(scope: UnitScope, unit: string): Done;
  disableUnit(scope: UnitScope, unit: string): Done;

  power(): Promise<PowerRecord>;
  powerOff(): Done;
  reboot(): Done;

  upgrade(): Promise<UpgradeRecord>;
  checkUpgrade(): Done;
  startUpgrade(): Done;

  players(): Promise<PlayerRecord[]>;
  play(player: string): Done;
  pause(player: string): Done;
  playPause(player: string): Done;
  stop(player: string): Done;
  next(player: string): Done;
  previous(player: string): Done;
  seek(player: string, body: BodyOf<'seek'>): Done;
  setPosition(player: string, body: BodyOf<'position'>): Done;
  setPlayerVolume(player: string, body: BodyOf<'setVolume'>): Done;
  setLoop(player: string, body: BodyOf<'loop'>): Done;
  setShuffle(player: string, body: BodyOf<'shuffle'>): Done;
  /** `coverUrl` is what an `img` wants. */
  cover(player: string): Promise<Blob>;
}

export type RouteName = keyof Routes;

/** Where each leads; `{}` is a parameter. */
const PATHS: Readonly<Record<RouteName, string>> = {
  server: 'GET /server',
  health: 'GET /health',
  openapi: 'GET /openapi.json',
  audio: 'GET /audio',
  audioServer: 'GET /audio/server',
  outputs: 'GET /audio/outputs',
  clients: 'GET /audio/clients',
  muteServer: 'POST /audio/server/mute',
  setServerVolume: 'POST /audio/server/volume',
  muteOutput: 'POST /audio/outputs/{}/mute',
  setOutputVolume: 'POST /audio/outputs/{}/volume',
  setDefaultOutput: 'POST /audio/outputs/{}/default',
  setOutputPort: 'POST /audio/outputs/{}/port',
  setOutputBalance: 'POST /audio/outputs/{}/balance',
  muteClient: 'POST /audio/clients/{}/mute',
  setClientVolume: 'POST /audio/clients/{}/volume',
  moveClient: 'POST /audio/clients/{}/output',
  cookie: 'GET /audio/cookie',
  services: 'GET /services',
  startUnit: 'POST /services/{}/{}/start',
  stopUnit: 'POST /services/{}/{}/stop',
  restartUnit: 'POST /services/{}/{}/restart',
  enableUnit: 'POST /services/{}/{}/enable',
  disableUnit: 'POST /services/{}/{}/disable',
  power: 'GET /power/',
  powerOff: 'POST /power/power_off',
  reboot: 'POST /power/reboot',
  upgrade: 'GET /upgrade',
  checkUpgrade: 'POST /upgrade/check',
  startUpgrade: 'POST /upgrade/start',
  players: 'GET /players',
  play: 'POST /players/{}/play',
  pause: 'POST /players/{}/pause',
  playPause: 'POST /players/{}/play_pause',
  stop: 'POST /players/{}/stop',
  next: 'POST /players/{}/next',
  previous: 'POST /players/{}/previous',
  seek: 'POST /players/{}/seek',
  setPosition: 'POST /players/{}/position',
  setPlayerVolume: 'POST /players/{}/volume',
  setLoop: 'POST /players/{}/loop',
  setShuffle: 'POST /players/{}/shuffle',
  cover: 'GET /players/{}/cover',
};

/** Whose answers are bytes. */
const BLOBS: readonly string[] = ['cookie', 'cover'] satisfies RouteName[];

export interface ClientOptions {
  /** Instead of the platform's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** For a request and its whole answer: 15 000 unless given. The node itself takes at most 10 s. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;

/** One node, as its routes see it. */
export interface Tonearm extends Routes {
  readonly transport: Transport;
  coverUrl(player: string): string;
}

/**
 * `base` is where the node is (`http://node.local:8018`); in a page of the node's own none is needed. Nothing is asked yet.
 * @throws {TypeError} where `base` is no address of http or https
 */
export function tonearm(base: string | URL = '', options: ClientOptions = {}): Tonearm {
  const transport: Transport = {
    base: checked(String(base).replace(/\/+$/, '')),
    // Called as a method of anything else, the browser's own refuses.
    fetch: options.fetch ?? ((...args) => globalThis.fetch(...args)),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
  };
  const routes = Object.entries(PATHS).map(([name, route]) => [name, routeFunction(transport, name, route)]);
  return {
    ...(Object.fromEntries(routes) as Routes),
    transport,
    coverUrl: (player) => `${transport.base}/players/${encodeURIComponent(player)}/cover`,
  };
}

/** Else nothing would ever answer: to `fetch`, `localhost:8018` is of the protocol `localhost:`, and it takes no user in an address. */
function checked(base: string): string {
  if (base === '' && 'location' in globalThis) return base;
  if (!/^https?:\/\/[^/]/i.test(base) || new URL(base).username !== '')
    throw new TypeError(`${JSON.stringify(base)} is no address such as http://node.local:8018`);
  return base;
}

/** Takes the route's parameters, and behind them a body. */
function routeFunction(transport: Transport, name: string, route: string) {
  const [method = '', template = ''] = route.split(' ');
  const read = async (response: Response): Promise<unknown> => {
    if (BLOBS.includes(name)) return contentOf(response);
    return method === 'GET' ? jsonOf(response) : undefined;
  };
  return (...args: readonly unknown[]): Promise<unknown> => {
    const rest = [...args];
    const path = template.replaceAll('{}', () => encodeURIComponent(String(rest.shift())));
    return send(transport, method, path, rest[0], read);
  };
}
