// Tables of access rights (docs/http-api.md, "Routes", and docs/http-api.md, "Host and Origin"): an example of each route, strangers by
// their requests, and the addresses of the node that each `bind` opens. Data only; access.test.ts tries all of it.

import type { RouteSettings } from '../../src/protocol/actor/operations.js';
import { SETTINGS } from '../gateway/gateway-under-test.js';

/** A configuration in which everything is enabled. */
export const EVERYTHING: RouteSettings = {
  ...SETTINGS,
  api: { ...SETTINGS.api, sse: { enabled: true, maxClients: 256 } },
  discovery: { ...SETTINGS.discovery, enabled: true },
};
const { api, audio, systemd, power, players, bluetooth, upgrade, discovery } = EVERYTHING;
const { checkUnit: _check, ...noCheck } = upgrade;
const { upgradeUnit: _upgrade, ...noUpgrade } = upgrade;

/** The part of the configuration that a route needs, removed. */
const WITHOUT = {
  page: { ...EVERYTHING, api: { ...api, ui: { enabled: false } } },
  logs: { ...EVERYTHING, api: { ...api, logs: false } },
  stream: { ...EVERYTHING, api: { ...api, sse: { enabled: false, maxClients: 1 } } },
  audio: { ...EVERYTHING, audio: { ...audio, enabled: false } },
  cookie: { ...EVERYTHING, audio: { ...audio, serveCookie: false } },
  systemd: { ...EVERYTHING, systemd: { ...systemd, enabled: false } },
  power: { ...EVERYTHING, power: { ...power, enabled: false } },
  players: { ...EVERYTHING, players: { ...players, enabled: false } },
  bluetooth: { ...EVERYTHING, bluetooth: { ...bluetooth, enabled: false } },
  upgrade: { ...EVERYTHING, upgrade: { ...upgrade, enabled: false } },
  discovery: { ...EVERYTHING, discovery: { ...discovery, enabled: false } },
  check: { ...EVERYTHING, upgrade: noCheck },
  start: { ...EVERYTHING, upgrade: noUpgrade },
} as const satisfies Record<string, RouteSettings>;

export type Need = keyof typeof WITHOUT;
export const CONFIGURATIONS_WITHOUT: Readonly<Record<Need, RouteSettings>> = WITHOUT;

export interface RouteAccess {
  readonly url: string;
  /** The JSON of the request. */
  readonly body?: string;
  /** The route vanishes when any one of these is removed. */
  readonly needs: readonly Need[];
  /** The status for a client that may use the route. */
  readonly status: number;
  /** Refused to pages of other origins. Any other read-only route answers them, but they cannot read the answer. */
  readonly isOwnOnly?: boolean;
}

const page = (url: string, status = 200): RouteAccess => ({ url, needs: ['page'], status, isOwnOnly: true });
const read = (url: string, ...needs: readonly Need[]): RouteAccess => ({ url, needs, status: 200 });
const act = (url: string, need: Need | readonly Need[], body?: string): RouteAccess => ({
  url,
  needs: [need].flat(),
  status: 202,
  ...(body !== undefined && { body }),
});

const loudness = (path: string, url: string): readonly (readonly [string, RouteAccess])[] => [
  [`POST ${path}/mute`, act(`${url}/mute`, 'audio')],
  [`POST ${path}/volume`, act(`${url}/volume`, 'audio', '{"volume":1}')],
];
const UNIT = '/services/{scope}/{unit}';
const PLAYER = '/players/{player}';

/** Keys: method and path of the table of routes. */
export const ACCESS: Readonly<Record<string, RouteAccess>> = Object.fromEntries([
  ['GET /', page('/', 308)],
  ['GET /ui', page('/ui')],
  ['GET /ui/{file}', page('/ui/app-1.js')],
  ['GET /server', read('/server')],
  ['GET /health', read('/health')],
  ['GET /nodes', read('/nodes', 'discovery')],
  ['GET /openapi.json', read('/openapi.json')],
  ['GET /events', read('/events', 'stream')],
  ['GET /services', read('/services', 'systemd')],
  ...['start', 'stop', 'restart', 'enable', 'disable'].map((verb) => [
    `POST ${UNIT}/${verb}`,
    act(`/services/user/mpd.service/${verb}`, 'systemd'),
  ]),
  [`GET ${UNIT}/log`, read('/services/user/mpd.service/log', 'systemd', 'logs')],
  ['GET /upgrade/log', read('/upgrade/log', 'upgrade', 'logs', 'start')],
  ['GET /audio', read('/audio', 'audio')],
  ['GET /audio/server', read('/audio/server', 'audio')],
  ['GET /audio/outputs', read('/audio/outputs', 'audio')],
  ['GET /audio/cards', read('/audio/cards', 'audio')],
  ['GET /audio/clients', read('/audio/clients', 'audio')],
  ...loudness('/audio/server', '/audio/server'),
  ...loudness('/audio/outputs/{output}', '/audio/outputs/0'),
  ...loudness('/audio/clients/{sink}', '/audio/clients/7'),
  ['POST /audio/outputs/{output}/default', act('/audio/outputs/0/default', 'audio')],
  ['POST /audio/outputs/{output}/port', act('/audio/outputs/0/port', 'audio', '{"port":"line"}')],
  ['POST /audio/outputs/{output}/balance', act('/audio/outputs/0/balance', 'audio', '{"balance":1}')],
  ['POST /audio/cards/{card}/profile', act('/audio/cards/0/profile', 'audio', '{"profile":"off"}')],
  ['POST /audio/clients/{sink}/output', act('/audio/clients/7/output', 'audio', '{"output":0}')],
  ['GET /audio/cookie', read('/audio/cookie', 'audio', 'cookie')],
  ['GET /power/', read('/power/', 'power')],
  ['POST /power/power_off', act('/power/power_off', 'power')],
  ['POST /power/reboot', act('/power/reboot', 'power')],
  ['GET /players', read('/players', 'players')],
  [`GET ${PLAYER}/cover`, read('/players/mpv/cover', 'players')],
  ...['play', 'pause', 'play_pause', 'stop', 'next', 'previous'].map((verb) => [
    `POST ${PLAYER}/${verb}`,
    act(`/players/mpv/${verb}`, 'players'),
  ]),
  [`POST ${PLAYER}/seek`, act('/players/mpv/seek', 'players', '{"offset":1}')],
  [`POST ${PLAYER}/position`, act('/players/mpv/position', 'players', '{"position":1}')],
  [`POST ${PLAYER}/volume`, act('/players/mpv/volume', 'players', '{"volume":1}')],
  [`POST ${PLAYER}/loop`, act('/players/mpv/loop', 'players', '{"loop":"None"}')],
  [`GET ${PLAYER}/tracklist`, read('/players/mpv/tracklist', 'players')],
  ...['goto', 'remove'].map((verb) => [
    `POST ${PLAYER}/tracklist/${verb}/{trackid}`,
    act(`/players/mpv/tracklist/${verb}/1`, 'players'),
  ]),
  [`POST ${PLAYER}/tracklist/add`, act('/players/mpv/tracklist/add', 'players', '{"uri":"http://a/"}')],
  [`POST ${PLAYER}/shuffle`, act('/players/mpv/shuffle', 'players', '{"shuffle":true}')],
  ['GET /bluetooth', read('/bluetooth', 'bluetooth')],
  ['GET /bluetooth/devices', read('/bluetooth/devices', 'bluetooth')],
  ...['power_up', 'power_down', 'pairing_mode', 'pairing_mode/stop', 'scan', 'scan/stop'].map((verb) => [
    `POST /bluetooth/${verb}`,
    act(`/bluetooth/${verb}`, 'bluetooth'),
  ]),
  ...['connect', 'disconnect', 'forget'].map((verb) => [
    `POST /bluetooth/${verb}`,
    act(`/bluetooth/${verb}`, 'bluetooth', '{"address":"AA:BB:CC:DD:EE:FF"}'),
  ]),
  ['GET /upgrade', read('/upgrade', 'upgrade')],
  ['POST /upgrade/check', act('/upgrade/check', ['upgrade', 'check'])],
  ['POST /upgrade/start', act('/upgrade/start', ['upgrade', 'start'])],
]);

export interface Stranger {
  readonly what: string;
  /** `own` is the address and port of the node in the request. */
  readonly headers: (own: string) => Readonly<Record<string, string>>;
}

const stranger = (what: string, headers: Stranger['headers']): Stranger => ({ what, headers });

const REBOUND = 'evil.example:8018';
/** Attackers whose own name resolves to the node's address: no request may get an answer. The node is called Kitchen. */
export const REBINDING: readonly Stranger[] = [
  ...['evil.example', 'kitchen.evil.example', 'localhost.evil.example', '127.0.0.1.nip.io'],
  ...['attic.local', '2130706433'],
]
  .map((host) => stranger(`a page of ${host}`, () => ({ Host: host })))
  .concat(
    stranger('a rebound page, which is its own origin', () => ({
      ...{ Host: REBOUND, Origin: `http://${REBOUND}`, 'Sec-Fetch-Site': 'same-origin' },
    })),
  );

/** Pages of other sites in a browser: they must have no effect, and read nothing. */
export const PAGES_OF_OTHERS: readonly Stranger[] = [
  stranger('another site', () => ({ Origin: 'http://evil.example', 'Sec-Fetch-Site': 'cross-site' })),
  stranger('a sandboxed page', () => ({ Origin: 'null' })),
  stranger('the usual https port of the node', (own) => ({ Origin: `https://${own.replace(/:\d+$/, '')}` })),
  stranger('another port of the node', (own) => ({
    ...{ Origin: `http://${own.replace(/\d+$/, '1')}`, 'Sec-Fetch-Site': 'same-site' },
  })),
  stranger('the node as a user name', (own) => ({ Origin: `http://${own}@evil.example` })),
];

/** Browsers send no Origin with this form. */
export const FORM_OF_ANOTHER = stranger('a form of another site', () => ({ 'Sec-Fetch-Site': 'cross-site' }));

/** The node's own page, which is not a stranger. */
export const OWN_PAGE = stranger("the node's own page", (own) => ({
  ...{ Origin: `http://${own}`, 'Sec-Fetch-Site': 'same-origin' },
}));

/** The addresses of the machine in the network that access.test.ts makes. */
export const ADDRESSES = ['127.0.0.1', '127.0.0.2', '::1', '10.9.0.1', 'fd00:9::1', '10.9.1.1'] as const;
export type Address = (typeof ADDRESSES)[number];

/** `house0` has 10.9.0.1 and fd00:9::1, `guest0` has 10.9.1.1. All other addresses are closed. */
export const OPEN_BY_BIND: readonly (readonly [bind: readonly string[], open: readonly Address[]])[] = [
  [['lo'], ['127.0.0.1', '::1']],
  [['10.9.0.1'], ['10.9.0.1']],
  [['house0'], ['10.9.0.1', 'fd00:9::1']],
  [
    ['lo', '10.9.1.1'],
    ['127.0.0.1', '::1', '10.9.1.1'],
  ],
  [['all'], ADDRESSES],
];
