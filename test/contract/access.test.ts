// Requests each route of access-rows.ts as each stranger, on real sockets. In a network of its own it also
// tries all addresses with each `bind`. A route without a row fails. The tests count the commands that reach
// the backends, because a refused request must have no effect.

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

/** A client that asks the gateway at one of its addresses. */
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

/** A gateway whose backends can answer every route. */
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

/** Starts a gateway, and makes a client that asks at its loopback. */
function startWithClient(context: TestContext, settings: RouteSettings) {
  const node = startGateway(settings).closeAtEndOf(context);
  return [clientAt('127.0.0.1', node.port), node] as const;
}

const rows = ROUTES.map(({ method, path }) => {
  const name = `${method} ${path}`;
  return { name, method, path, access: ACCESS[name] };
});

test('every route has a row, and every row a route', () => {
  assert.deepEqual(Object.keys(ACCESS).sort(), rows.map(({ name }) => name).sort());
});

const posts = rows.filter(({ method }) => method === 'POST');

type Row = (typeof rows)[number];
const statusOf = ({ access }: Row): number => access?.status ?? 0;
const answersPagesOfOthers = ({ method, access }: Row): boolean =>
  method === 'GET' && access?.isOwnOnly !== true;

/** Commands that change nothing. */
const READING: readonly string[] = ['cookie', 'cover', 'log', 'network', 'status'];

/** Each kind of asker: the methods with which it asks for each route, and the status that it gets. */
const ASKERS: readonly {
  readonly whom: string;
  readonly strangers: readonly Stranger[];
  readonly methods: (row: Row) => readonly string[];
  readonly status: (row: Row, method: string) => number;
  /**
   * True if the answer may have headers that let a page read it. The node's own page is allowed to. A page
   * that sends a form cannot read the answer, whatever headers it has.
   */
  readonly mayBeReadable?: boolean;
}[] = [
  {
    whom: 'a page whose hostname leads to the node',
    strangers: REBINDING,
    methods: ({ method }) => [method, 'OPTIONS', 'PUT', ...(method === 'GET' ? ['HEAD'] : [])],
    status: () => 403,
  },
  {
    whom: 'a page of another site',
    strangers: PAGES_OF_OTHERS,
    methods: ({ method }) => [method, 'OPTIONS'],
    status: (row, method) => (method !== 'OPTIONS' && answersPagesOfOthers(row) ? statusOf(row) : 403),
  },
  {
    whom: 'a form of another site',
    strangers: [FORM_OF_ANOTHER],
    methods: ({ method }) => [method],
    status: (row) => (row.method === 'POST' ? 403 : statusOf(row)),
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
/** Each value of `api.control`, and the addresses at which something can be changed. */
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
    // Without nodad, nobody can listen on the address for a second or two.
    for (const address of addresses)
      ip('addr', 'add', address, 'dev', name, ...(address.includes(':') ? ['nodad'] : []));
  }

  for (const [bind, openAddresses] of Object.entries(OPEN_BY_BIND)) {
    test(`bind ${bind} opens only ${openAddresses.join(', ')}, and of all pages only the node's own may change something there`, async (context) => {
      const node = startGateway(EVERYTHING, bind.split(',')).closeAtEndOf(context);
      const areOpen = await Promise.all(ADDRESSES.map((address) => isOpen(address, node.port)));
      const actualAddresses = ADDRESSES.filter((_, index) => areOpen[index]);
      assert.deepEqual(actualAddresses, openAddresses);
      for (const address of openAddresses) {
        const client = clientAt(address, node.port);
        const ask = async ({ headers }: Stranger) =>
          (await client.ask('POST', { url: '/audio/server/mute' }, headers(client.authority))).status;
        assert.equal(await ask(OWN_PAGE), 202, address);
        for (const stranger of [...REBINDING, ...PAGES_OF_OTHERS, FORM_OF_ANOTHER])
          assert.equal(await ask(stranger), 403, `${stranger.what} at ${address}`);
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
        for (const row of rows) {
          const expected = mayChange || row.method === 'GET' ? statusOf(row) : 403;
          const { status } = await client.ask(row.method, row.access ?? assert.fail(row.name));
          assert.equal(status, expected, `${row.name} at ${address}`);
        }
        const unknown = { host: address, method: 'POST', path: '/no/such', headers: LOCAL };
        const { status, text } = await send(node.port, unknown);
        assert.equal(status, mayChange ? 404 : 403, `an unknown route at ${address}`);
        if (!mayChange) assert.match(JSON.parse(text).detail, /^api\.control is (false|local): /);
        const commands = mayChange ? posts.length : 0;
        assert.deepEqual(await permissionsAt(address, node.port), { control: mayChange, commands }, address);
      }
      const effects = node.backends.requests.filter(({ command }) => !READING.includes(command.do));
      assert.equal(effects.length, changeable.length * posts.length);
    });
  }
});

/** Reads `control` in `GET /server`, and counts the commands in `GET /openapi.json`, at this address. */
async function permissionsAt(host: Address, port: number) {
  const read = async (path: string) => JSON.parse((await send(port, { host, path, headers: LOCAL })).text);
  const { paths } = (await read('/openapi.json')) as OpenApi;
  const commands = Object.values(paths).filter((methods) => Object.hasOwn(methods, 'post'));
  return { control: (await read('/server')).control as boolean, commands: commands.length };
}

for (const { whom, strangers, methods, status, mayBeReadable = false } of ASKERS) {
  test(`every route answers or refuses ${whom} as its row says`, async (context) => {
    const [client, node] = startWithClient(context, EVERYTHING);
    for (const row of rows) {
      for (const { what, headers } of strangers) {
        for (const method of methods(row)) {
          const access = row.access ?? assert.fail(row.name);
          const reply = await client.ask(method, access, headers(client.authority));
          assert.equal(reply.status, status(row, method), `${method} ${row.path} by ${what}`);
          const permissions = Object.keys(reply.headers).filter((name) => name.startsWith('access-control-'));
          if (!mayBeReadable) assert.deepEqual(permissions, [], `${method} ${row.path} by ${what}`);
        }
      }
    }
    const effects = node.backends.requests.filter(({ command }) => !READING.includes(command.do));
    const isOwnPage = whom === OWN_PAGE.what;
    assert.equal(effects.length, isOwnPage ? posts.length : 0);
  });
}

test('the page of another node may use the routes of the house, and only while that node is known', async (context) => {
  const [client, node] = startWithClient(context, EVERYTHING);
  const origin = PAGE_OF_HOUSE;
  const record = { collection: 'nodes.origins', key: origin } as const;
  const headers = {
    Origin: origin,
    'Sec-Fetch-Site': 'cross-site',
    'Access-Control-Request-Private-Network': 'true',
  };
  const answersOf = async (row: Row) => {
    const access = row.access ?? assert.fail(row.name);
    const reply = await client.ask(row.method, access, headers);
    const preflight = await client.ask('OPTIONS', access, headers);
    const allowed = [reply, preflight].map((answer) => answer.headers['access-control-allow-origin']);
    const network = preflight.headers['access-control-allow-private-network'];
    return { statuses: [reply.status, preflight.status], allowed, network };
  };
  for (const isKnown of [true, false]) {
    const put = { ...record, kind: 'put', json: '"attic"' } as const;
    node.gateway.listener.changes([isKnown ? put : { ...record, kind: 'drop' }]);
    for (const row of rows) {
      const isAllowed = isKnown && row.access?.isOfHouse === true;
      const statusForOtherSites = answersPagesOfOthers(row) ? statusOf(row) : 403;
      const expected = isAllowed
        ? { statuses: [statusOf(row), 204], allowed: [origin, origin], network: 'true' }
        : { statuses: [statusForOtherSites, 403], allowed: [undefined, undefined], network: undefined };
      assert.deepEqual(await answersOf(row), expected, row.name);
    }
  }
});

test('every route refuses a request without a host', async (context) => {
  const node = startGateway(EVERYTHING).closeAtEndOf(context);
  for (const { name, method, access } of rows) {
    for (const end of ['HTTP/1.0', 'HTTP/1.1', 'HTTP/1.1\r\nHost: ']) {
      const text = `${method} ${access?.url} ${end}\r\n\r\n`;
      const answer = await new RawConnection(node.port).write(text).end().untilClosed();
      // The older uWebSockets.js, from the package uws-pack, closes the connection without an answer.
      assert.match(answer, /^(?:$|HTTP\/1\.1 [45])/, `${name} ${end}`);
    }
  }
  assert.deepEqual(node.backends.requests, []);
});

describe('a part that is not configured does not exist', () => {
  for (const [need, [key]] of LACKS) {
    test(`without ${key} its routes are 404, and all others answer`, async (context) => {
      const [client, node] = startWithClient(context, without(need));
      const missing = `There is no such path; ${key} in the configuration enables it`;
      const { paths } = (await node.json('/openapi.json')) as OpenApi;
      for (const { name, method, path, access } of rows) {
        if (access === undefined) continue;
        const isGone = access.needs.includes(need);
        if (isGone) {
          const { status, text } = await node.fetch({ method, path: access.url });
          assert.deepEqual([status, JSON.parse(text).detail], [404, missing], name);
        } else assert.equal((await client.ask(method, access)).status, access.status, name);
        assert.equal(Object.hasOwn(paths, documentedPath(path)), !isGone, `${name} in the document`);
      }
    });
  }
});
