// Tables of the access to the gateway (docs/http-api.md, "Routes", and docs/http-api.md, "Host and Origin"):
// an example request to each route, the headers that various pages send with their requests, and the
// addresses of the node that each `bind` opens. access.test.ts sends the requests.

import type { RouteSettings } from '../../src/gateway/routes.js';
import { OPERATIONS } from '../../src/protocol/actor/operations.js';
import { EXAMPLE_BODIES } from '../gateway/example-bodies.js';
import { SETTINGS } from '../gateway/gateway-under-test.js';

/** A configuration in which everything is enabled. */
export const EVERYTHING: RouteSettings = {
  ...SETTINGS,
  api: { ...SETTINGS.api, sse: { enabled: true, maxClients: 256 } },
  discovery: { ...SETTINGS.discovery, enabled: true },
};
const { api, audio, systemd, power, players, bluetooth, upgrade, discovery } = EVERYTHING;
const { checkUnit: _check, ...withoutCheckUnit } = upgrade;
const { upgradeUnit: _upgrade, ...withoutUpgradeUnit } = upgrade;

/** The configuration that disables one thing that routes need. */
type Lack = readonly [
  /** This key of the configuration enables the thing. While the thing is disabled, a 404 names this key. */
  key: string,
  /** The sections of the configuration that differ while the thing is disabled. */
  sections: Partial<RouteSettings>,
];

/** The lack of each thing that a route can need. */
const LACK_BY_NEED = {
  page: ['api.ui.enabled', { api: { ...api, ui: { ...api.ui, enabled: false } } }],
  logs: ['api.logs', { api: { ...api, logs: false } }],
  metrics: ['api.metrics', { api: { ...api, metrics: false } }],
  stream: ['api.sse.enabled', { api: { ...api, sse: { enabled: false, maxClients: 1 } } }],
  audio: ['pulseaudio.enabled', { audio: { ...audio, enabled: false } }],
  cookie: ['pulseaudio.serve_cookie', { audio: { ...audio, serveCookie: false } }],
  systemd: ['systemd.enabled', { systemd: { ...systemd, enabled: false } }],
  power: ['power.enabled', { power: { ...power, enabled: false } }],
  players: ['players.enabled', { players: { ...players, enabled: false } }],
  bluetooth: ['bluetooth.enabled', { bluetooth: { ...bluetooth, enabled: false } }],
  upgrade: ['upgrade.enabled', { upgrade: { ...upgrade, enabled: false } }],
  discovery: ['discovery.enabled', { discovery: { ...discovery, enabled: false } }],
  check: ['upgrade.checkUnit', { upgrade: withoutCheckUnit }],
  start: ['upgrade.upgradeUnit', { upgrade: withoutUpgradeUnit }],
} as const satisfies Record<string, Lack>;

type Need = keyof typeof LACK_BY_NEED;
export const LACKS = Object.entries(LACK_BY_NEED) as readonly (readonly [Need, Lack])[];
export function without(need: Need): RouteSettings {
  const [, sections] = LACK_BY_NEED[need];
  return { ...EVERYTHING, ...sections };
}

export interface RouteAccess {
  readonly url: string;
  /** The JSON of the request. */
  readonly body?: string;
  /** The route does not exist if any of these is disabled. */
  readonly needs: readonly Need[];
  /** The status for a client that may use the route. */
  readonly status: number;
  /**
   * True if this `GET` refuses pages of other origins. Every other `GET` answers these pages, but without
   * the header that lets them read the answer. This is false for a `POST`, although a `POST` refuses these
   * pages. The pages of other nodes are exceptions, see `isOfHouse`.
   */
  readonly isOwnOnly: boolean;
  /** True if pages of other nodes may use the route while these nodes are trusted. */
  readonly isOfHouse: boolean;
}

/**
 * All routes, grouped by what they need, in a short form: commas separate routes, and `POST /power/ power_off
 * reboot` stands for two routes with the same beginning.
 */
const BY_NEEDS: readonly (readonly [needs: readonly Need[], routes: string])[] = [
  [[], 'GET /server, GET /health, GET /openapi.json'],
  [['page'], 'GET /, GET /ui, GET /ui/{file}'],
  [['stream'], 'GET /events'],
  [['metrics'], 'GET /metrics'],
  [['discovery'], 'GET /nodes'],
  [['systemd'], 'GET /services'],
  [['systemd'], 'POST /services/{scope}/{unit}/ start stop restart enable disable'],
  [['systemd', 'logs'], 'GET /services/{scope}/{unit}/log'],
  [['audio'], 'GET /audio, GET /audio/ server outputs inputs cards clients network sleep'],
  [['audio'], 'POST /audio/sleep, POST /audio/sleep/stop'],
  [['audio'], 'POST /audio/server/ mute volume'],
  [['audio'], 'POST /audio/outputs/{output}/ mute volume default port balance'],
  [['audio'], 'POST /audio/inputs/{input}/ mute volume default port balance listen listen/stop'],
  [['audio'], 'POST /audio/clients/{client}/ mute volume output, POST /audio/cards/{card}/profile'],
  [['audio', 'cookie'], 'GET /audio/cookie'],
  [['power'], 'GET /power/, POST /power/ power_off reboot'],
  [['players'], 'GET /players, POST /players/pause, GET /players/{player}/ cover tracklist'],
  [['players'], 'POST /players/{player}/ play pause play_pause stop next previous seek'],
  [['players'], 'POST /players/{player}/ position volume loop shuffle'],
  [['players'], 'POST /players/{player}/tracklist/ goto/{trackid} remove/{trackid} add'],
  [['bluetooth'], 'GET /bluetooth, GET /bluetooth/devices'],
  [['bluetooth'], 'POST /bluetooth/ power_up power_down pairing_mode pairing_mode/stop scan scan/stop'],
  [['bluetooth'], 'POST /bluetooth/ connect disconnect forget'],
  [['upgrade'], 'GET /upgrade'],
  [['upgrade', 'check'], 'POST /upgrade/check'],
  [['upgrade', 'start'], 'POST /upgrade/start'],
  [['upgrade', 'start', 'logs'], 'GET /upgrade/log'],
];

/**
 * Pages of other nodes in the house may use the routes that need one of these things, except the route of the
 * cookie (docs/http-api.md, "The house"). These pages may also use `ROUTE_OF_HOUSE`, which needs nothing.
 */
const NEEDS_OF_HOUSE: readonly Need[] = ['stream', 'discovery', 'audio', 'players'];
const ROUTE_OF_HOUSE = 'GET /server';

/** Returns the routes of a list in the short form of `BY_NEEDS`. */
function routesIn(list: string): readonly string[] {
  return list.split(', ').flatMap((group) => {
    const [method, start = '', ...ends] = group.split(' ');
    return (ends.length === 0 ? [''] : ends).map((end) => `${method} ${start}${end}`);
  });
}

/** An example for each parameter of a path. */
const EXAMPLE_PARAMETERS: Readonly<Record<string, string>> = {
  scope: 'user',
  unit: 'mpd.service',
  output: '0',
  input: '4',
  card: '0',
  client: '7',
  player: 'mpv',
  trackid: '1',
  file: 'app-1.js',
};

function accessTo(route: string, needs: readonly Need[]): RouteAccess {
  const [method, path = ''] = route.split(' ');
  const url = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => EXAMPLE_PARAMETERS[parameter] ?? '');
  const operation = Object.values(OPERATIONS).find(
    (candidate) => `${candidate.method} ${candidate.path}` === route,
  );
  const bodyKind = operation?.kind === 'command' ? operation.body : undefined;
  const statusOfRead = path === '/' ? 308 : 200;
  const status = method === 'POST' ? 202 : statusOfRead;
  const isShared = needs.some((need) => NEEDS_OF_HOUSE.includes(need)) && !needs.includes('cookie');
  const isOfHouse = isShared || route === ROUTE_OF_HOUSE;
  const access = { url, needs, status, isOwnOnly: needs.includes('page'), isOfHouse };
  return bodyKind === undefined ? access : { ...access, body: JSON.stringify(EXAMPLE_BODIES[bodyKind]) };
}

/** The access to each route, by its method and path in the table of routes. */
export const ACCESS: Readonly<Record<string, RouteAccess>> = Object.fromEntries(
  BY_NEEDS.flatMap(([needs, list]) => routesIn(list).map((route) => [route, accessTo(route, needs)])),
);

export interface Stranger {
  readonly what: string;
  /** `authority` is the host and port of the node in the request. */
  readonly headers: (authority: string) => Readonly<Record<string, string>>;
}

const stranger = (what: string, headers: Stranger['headers']): Stranger => ({ what, headers });

const REBOUND = 'evil.example:8018';
/**
 * Pages of attackers. The hostname of such a page resolves to the node's address, but is no name of the node,
 * so every request must be refused. Some hostnames begin with a name of the node, which is called Kitchen.
 * `2130706433` is 127.0.0.1 as a number.
 */
export const REBINDING: readonly Stranger[] = [
  'evil.example',
  'kitchen.evil.example',
  'localhost.evil.example',
  '127.0.0.1.nip.io',
  'attic.local',
  '2130706433',
]
  .map((host) => stranger(`a page of ${host}`, () => ({ Host: host })))
  .concat(
    // Host and Origin of this page agree, so the browser sends `same-origin`, as for the node's own page.
    stranger('a page of evil.example with its own Origin', () => ({
      Host: REBOUND,
      Origin: `http://${REBOUND}`,
      'Sec-Fetch-Site': 'same-origin',
    })),
  );

/**
 * Pages of other origins. The requests of these pages must have no effect, and the pages must not read an
 * answer.
 */
export const PAGES_OF_OTHERS: readonly Stranger[] = [
  stranger('a page of another site', () => ({
    Origin: 'http://evil.example',
    'Sec-Fetch-Site': 'cross-site',
  })),
  stranger('a sandboxed page', () => ({ Origin: 'null' })),
  stranger('a page at the usual https port of the node', (authority) => ({
    Origin: `https://${authority.replace(/:\d+$/, '')}`,
  })),
  stranger('a page at another port of the node', (authority) => ({
    Origin: `http://${authority.replace(/\d+$/, '1')}`,
    'Sec-Fetch-Site': 'same-site',
  })),
  stranger('a page whose Origin has the node as user name', (authority) => ({
    Origin: `http://${authority}@evil.example`,
  })),
];

/** A form of another site, without an Origin. */
export const FORM_OF_ANOTHER = stranger('a form of another site', () => ({ 'Sec-Fetch-Site': 'cross-site' }));

/** The node's own page, which is not a stranger. */
export const OWN_PAGE = stranger("the node's own page", (authority) => ({
  Origin: `http://${authority}`,
  'Sec-Fetch-Site': 'same-origin',
}));

/** The origin of the page of another node. It is trusted as long as that other node is known. */
export const PAGE_OF_HOUSE = 'http://10.9.0.7:8018';

/** The addresses of the machine in the network that access.test.ts makes. */
export const ADDRESSES = ['127.0.0.1', '127.0.0.2', '::1', '10.9.0.1', 'fd00:9::1', '10.9.1.1'] as const;
export type Address = (typeof ADDRESSES)[number];

/**
 * The open addresses for each value of `bind`; all others are closed. `house0` and `guest0` are network
 * interfaces of the machine: `house0` has 10.9.0.1 and fd00:9::1, `guest0` has 10.9.1.1.
 */
export const OPEN_BY_BIND: Readonly<Record<string, readonly Address[]>> = {
  lo: ['127.0.0.1', '::1'],
  '10.9.0.1': ['10.9.0.1'],
  house0: ['10.9.0.1', 'fd00:9::1'],
  'lo,10.9.1.1': ['127.0.0.1', '::1', '10.9.1.1'],
  all: ADDRESSES,
};
