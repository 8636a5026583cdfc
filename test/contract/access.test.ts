// Tests the access to the gateway on real sockets, by the tables of access-rows.ts: each kind of page sends
// requests to each route, and each `bind` opens its addresses. The addresses are in a network of their own.
// The tests count the commands that reach the backends, because a refused request must have no effect.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import type { RouteSettings } from '../../src/gateway/routes.js';
import { ROUTES } from '../../src/gateway/routes.js';
import { documentedPath } from '../../src/protocol/actor/parameters.js';
import type { ControlChoice } from '../../src/protocol/actor/settings.js';
import { GatewayUnderTest } from '../gateway/gateway-under-test.js';
import type { OpenApi } from '../gateway/openapi-conformance.js';
import { RawConnection } from '../gateway/raw-connection.js';
import { type HttpAnswer, send } from '../tools/http.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import {
  ACCESS,
  ADDRESSES,
  type Address,
  EVERYTHING,
  FORM_OF_ANOTHER,
  LACKS,
  OPEN_BY_BIND,
  OWN_PAGE,
  PAGE_OF_HOUSE,
  PAGES_OF_OTHERS,
  REBINDING,
  type RouteAccess,
  type Stranger,
  without,
} from './access-rows.js';

type Target = Pick<RouteAccess, 'url' | 'body'>;

/** A client that sends requests to the gateway at the address `host`. */
function clientAt(host: Address, port: number) {
  /** Resolves with the head of the answer. */
  const ask = (method: string, { url, body }: Target, headers: object = {}): Promise<HttpAnswer> => {
    // With OPTIONS, Node.js would send the body without its length.
    const hasBody = method === 'POST' && body !== undefined;
    const json = hasBody ? { body } : {};
    const contentType = hasBody ? { 'Content-Type': 'application/json' } : {};
    const request = { host, method, path: url, ...json, headers: { ...contentType, ...headers } };
    return send(port, { ...request, isHeadOnly: true });
  };
  const hostInUrl = host.includes(':') ? `[${host}]` : host;
  return { authority: `${hostInUrl}:${port}`, ask };
}

const isOpen = (address: Address, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, address);
    socket.on('connect', () => {
      resolve(true);
      socket.destroy();
    });
    socket.on('error', () => resolve(false));
  });

/** Starts a gateway whose backends can answer every route. */
function startGateway(settings: RouteSettings, bind?: readonly string[]): GatewayUnderTest {
  const node = GatewayUnderTest.up(settings, { bind });
  const bytes = Uint8Array.of(1);
  const cover = { tag: 'tag', type: 'image/png', bytes } as const;
  // This one answer has all that a route can need: a text, bytes and a cover.
  node.backends.answer = { ok: true, value: { text: '{"reboot":true,"power_off":true}', bytes, cover } };
  // While discovery is not up, each request for the other nodes would wait two seconds.
  node.gateway.listener.health('discovery', { state: 'up', since: 0, restarts: 0 });
  return node;
}

/** Starts a gateway, and makes a client that sends requests to its loopback address. */
function startWithClient(context: TestContext, settings: RouteSettings) {
  const node = startGateway(settings).closeAtEndOf(context);
  return [clientAt('127.0.0.1', node.port), node] as const;
}

const routes = ROUTES.map(({ method, path }) => {
  const name = `${method} ${path}`;
  return { name, method, path, access: ACCESS[name] };
});

test('every route has a row in access-rows.ts, and every row has a route', () => {
  assert.deepEqual(Object.keys(ACCESS).sort(), routes.map(({ name }) => name).sort());
});

const postRoutes = routes.filter(({ method }) => method === 'POST');

type Route = (typeof routes)[number];
const statusOf = ({ access }: Route): number => access?.status ?? 0;
const answersPagesOfOthers = ({ method, access }: Route): boolean =>
  method === 'GET' && access?.isOwnOnly !== true;

/** Commands that change nothing. */
const READING: readonly string[] = ['cookie', 'cover', 'log', 'network', 'status'];

/** Each kind of asker: the methods of its requests to each route, and the status of the answer. */
const ASKERS: readonly {
  readonly whom: string;
  readonly strangers: readonly Stranger[];
  readonly methods: (route: Route) => readonly string[];
  readonly status: (route: Route, method: string) => number;
  /**
   * True if the answer may have headers that let a page read the answer. The node's own page may read it. A
   * page can never read the answer to its form, so the headers of this answer do not matter.
   */
  readonly mayBeReadable?: boolean;
}[] = [
  {
    whom: 'a page whose hostname resolves to the address of the node',
    strangers: REBINDING,
    methods: ({ method }) => [method, 'OPTIONS', 'PUT', ...(method === 'GET' ? ['HEAD'] : [])],
    status: () => 403,
  },
  {
    whom: 'a page of another origin',
    strangers: PAGES_OF_OTHERS,
    methods: ({ method }) => [method, 'OPTIONS'],
    status: (route, method) => (method !== 'OPTIONS' && answersPagesOfOthers(route) ? statusOf(route) : 403),
  },
  {
    whom: 'a form of another site',
    strangers: [FORM_OF_ANOTHER],
    methods: ({ method }) => [method],
    status: (route) => (route.method === 'POST' ? 403 : statusOf(route)),
    mayBeReadable: true,
  },
  {
    whom: OWN_PAGE.what,
    strangers: [OWN_PAGE],
    methods: ({ method }) => [method],
    status: statusOf,
    mayBeReadable: true,
  },
];

const LOCAL = { Host: 'localhost' };
const LOOPBACK: readonly Address[] = ['127.0.0.1', '127.0.0.2', '::1'];
/** Each value of `api.control`, and the addresses at which it allows changes. */
const CONTROLLED: readonly (readonly [control: ControlChoice, changeable: readonly Address[]])[] = [
  [true, ADDRESSES],
  ['local', LOOPBACK],
  [false, []],
];

/** The interfaces besides loopback, and the addresses of each. */
const NETWORKS = { house0: ['10.9.0.1/24', 'fd00:9::1/64'], guest0: ['10.9.1.1/24'] };

inOwnNetwork(import.meta.url, () => {
  for (const [name, addresses] of Object.entries(NETWORKS)) {
    ip('link', 'add', name, 'type', 'veth', 'peer', 'name', `${name}-peer`);
    ip('link', 'set', `${name}-peer`, 'up');
    ip('link', 'set', name, 'up');
    // An IPv6 address without `nodad` accepts no listener during its first second or two.
    for (const address of addresses)
      ip('addr', 'add', address, 'dev', name, ...(address.includes(':') ? ['nodad'] : []));
  }

  for (const [bind, openAddresses] of Object.entries(OPEN_BY_BIND)) {
    test(`bind ${bind} opens only ${openAddresses.join(', ')}, and only the node's own page may change something there`, async (context) => {
      const node = startGateway(EVERYTHING, bind.split(',')).closeAtEndOf(context);
      const areOpen = await Promise.all(ADDRESSES.map((address) => isOpen(address, node.port)));
      const actualAddresses = ADDRESSES.filter((_, index) => areOpen[index]);
      assert.deepEqual(actualAddresses, openAddresses);
      for (const address of openAddresses) {
        const client = clientAt(address, node.port);
        const statusOfMuteBy = async ({ headers }: Stranger) =>
          (await client.ask('POST', { url: '/audio/server/mute' }, headers(client.authority))).status;
        assert.equal(await statusOfMuteBy(OWN_PAGE), 202, address);
        for (const stranger of [...REBINDING, ...PAGES_OF_OTHERS, FORM_OF_ANOTHER])
          assert.equal(await statusOfMuteBy(stranger), 403, `${stranger.what} at ${address}`);
      }
    });
  }

  for (const [control, changeable] of CONTROLLED) {
    const addresses = changeable.length === 0 ? 'no address' : changeable.join(', ');
    test(`api.control ${control} allows changes at ${addresses}, and reading at every address`, async (context) => {
      const settings = { ...EVERYTHING, api: { ...EVERYTHING.api, control } };
      const node = startGateway(settings, ['all']).closeAtEndOf(context);
      for (const address of ADDRESSES) {
        const mayChange = changeable.includes(address);
        const client = clientAt(address, node.port);
        for (const route of routes) {
          const expected = mayChange || route.method === 'GET' ? statusOf(route) : 403;
          const { status } = await client.ask(route.method, route.access ?? assert.fail(route.name));
          assert.equal(status, expected, `${route.name} at ${address}`);
        }
        const requestToUnknownRoute = { host: address, method: 'POST', path: '/no/such', headers: LOCAL };
        const { status, text } = await send(node.port, requestToUnknownRoute);
        assert.equal(status, mayChange ? 404 : 403, `an unknown route at ${address}`);
        if (!mayChange) assert.match(JSON.parse(text).detail, /^api\.control is (false|local): /);
        const permissions = { control: mayChange, commandCount: mayChange ? postRoutes.length : 0 };
        assert.deepEqual(await permissionsAt(address, node.port), permissions, address);
      }
      const effects = node.backends.requests.filter(({ command }) => !READING.includes(command.do));
      assert.equal(effects.length, changeable.length * postRoutes.length);
    });
  }
});

/** Reads `control` in `GET /server`, and counts the commands in `GET /openapi.json`, at this address. */
async function permissionsAt(host: Address, port: number) {
  const read = async (path: string) => JSON.parse((await send(port, { host, path, headers: LOCAL })).text);
  const { paths } = (await read('/openapi.json')) as OpenApi;
  const commands = Object.values(paths).filter((methods) => Object.hasOwn(methods, 'post'));
  return { control: (await read('/server')).control as boolean, commandCount: commands.length };
}

for (const { whom, strangers, methods, status, mayBeReadable = false } of ASKERS) {
  test(`every route answers or refuses ${whom} as the tables say`, async (context) => {
    const [client, node] = startWithClient(context, EVERYTHING);
    for (const route of routes) {
      for (const { what, headers } of strangers) {
        for (const method of methods(route)) {
          const access = route.access ?? assert.fail(route.name);
          const reply = await client.ask(method, access, headers(client.authority));
          assert.equal(reply.status, status(route, method), `${method} ${route.path} by ${what}`);
          const corsHeaders = Object.keys(reply.headers).filter((name) => name.startsWith('access-control-'));
          if (!mayBeReadable) assert.deepEqual(corsHeaders, [], `${method} ${route.path} by ${what}`);
        }
      }
    }
    const effects = node.backends.requests.filter(({ command }) => !READING.includes(command.do));
    const isOwnPage = whom === OWN_PAGE.what;
    assert.equal(effects.length, isOwnPage ? postRoutes.length : 0);
  });
}

test('the page of another node may use only the routes of the house, and only while the gateway knows that node', async (context) => {
  const [client, node] = startWithClient(context, EVERYTHING);
  const origin = PAGE_OF_HOUSE;
  const record = { collection: 'nodes.origins', key: origin } as const;
  const headers = {
    Origin: origin,
    'Sec-Fetch-Site': 'cross-site',
    'Access-Control-Request-Private-Network': 'true',
  };
  const answersOf = async (route: Route) => {
    const access = route.access ?? assert.fail(route.name);
    const reply = await client.ask(route.method, access, headers);
    const preflight = await client.ask('OPTIONS', access, headers);
    const origins = [reply, preflight].map((answer) => answer.headers['access-control-allow-origin']);
    const network = preflight.headers['access-control-allow-private-network'];
    return { statuses: [reply.status, preflight.status], origins, network };
  };
  for (const isKnown of [true, false]) {
    const put = { ...record, kind: 'put', json: '"attic"' } as const;
    node.gateway.listener.changes([isKnown ? put : { ...record, kind: 'drop' }]);
    for (const route of routes) {
      const isAllowed = isKnown && route.access?.isOfHouse === true;
      const statusForOtherOrigins = answersPagesOfOthers(route) ? statusOf(route) : 403;
      const expected = isAllowed
        ? { statuses: [statusOf(route), 204], origins: [origin, origin], network: 'true' }
        : { statuses: [statusForOtherOrigins, 403], origins: [undefined, undefined], network: undefined };
      assert.deepEqual(await answersOf(route), expected, route.name);
    }
  }
});

test('every route refuses a request without a host', async (context) => {
  const node = startGateway(EVERYTHING).closeAtEndOf(context);
  for (const { name, method, access } of routes) {
    for (const versionAndHost of ['HTTP/1.0', 'HTTP/1.1', 'HTTP/1.1\r\nHost: ']) {
      const text = `${method} ${access?.url} ${versionAndHost}\r\n\r\n`;
      const answer = await new RawConnection(node.port).write(text).end().untilClosed();
      // The older uWebSockets.js, from the package uws-pack, closes the connection without an answer.
      assert.match(answer, /^(?:$|HTTP\/1\.1 [45])/, `${name} ${versionAndHost}`);
    }
  }
  assert.deepEqual(node.backends.requests, []);
});

describe('a route does not exist while something that it needs is disabled', () => {
  for (const [need, [key]] of LACKS) {
    test(`without ${key}, the routes that need it are 404, and all other routes answer`, async (context) => {
      const [client, node] = startWithClient(context, without(need));
      const expectedDetail = `There is no such path; ${key} in the configuration enables it`;
      const { paths } = (await node.json('/openapi.json')) as OpenApi;
      for (const { name, method, path, access } of routes) {
        if (access === undefined) continue;
        const isGone = access.needs.includes(need);
        if (isGone) {
          const { status, text } = await node.fetch({ method, path: access.url });
          assert.deepEqual([status, JSON.parse(text).detail], [404, expectedDetail], name);
        } else assert.equal((await client.ask(method, access)).status, access.status, name);
        assert.equal(Object.hasOwn(paths, documentedPath(path)), !isGone, `${name} in the document`);
      }
    });
  }
});
