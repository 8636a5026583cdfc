// Tries access-rows.ts on real sockets in a network of its own: each route, from each address that each `bind` opens, to each stranger.
// A route without a row fails. The commands that reach the backends show that a request is refused before it has an effect.

import assert from 'node:assert/strict';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { ROUTES } from '../../src/gateway/routes.js';
import type { RouteSettings } from '../../src/protocol/actor/operations.js';
import { GatewayUnderTest } from '../gateway/gateway-under-test.js';
import type { OpenApi } from '../gateway/openapi-conformance.js';
import { RawConnection } from '../gateway/raw-connection.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import {
  ACCESS,
  ADDRESSES,
  type Address,
  CONFIGURATIONS_WITHOUT,
  EVERYTHING,
  FORM_OF_ANOTHER,
  type Need,
  OPEN_BY_BIND,
  OWN_PAGE,
  PAGES_OF_OTHERS,
  REBINDING,
  type RouteAccess,
  type Stranger,
} from './access-rows.js';

type Headers = Readonly<Record<string, string>>;

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** One address of the gateway, for requests. */
class Door {
  readonly own: string;
  readonly #address: Address;
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(address: Address, port: number) {
    this.#address = address;
    this.#port = port;
    this.own = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  }

  /** Resolves with the head of the answer, without waiting for the rest, such as a stream. */
  ask(method: string, { url: path, ...access }: RouteAccess, headers: Headers = {}): Promise<Reply> {
    // Node would send a body with OPTIONS without declaring its length.
    const body = method === 'POST' ? access.body : undefined;
    const typed = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const to = { host: this.#address, port: this.#port, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const sent = request({ ...to, method, path, headers: { ...typed, ...headers } }, (incoming) => {
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers });
        if (incoming.headers['content-type'] === 'text/event-stream') incoming.destroy();
        else incoming.resume();
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** Sends text that is not valid HTTP; resolves with all bytes that come back until the other end closes. */
  answerTo(text: string): Promise<string> {
    return new RawConnection(this.#port, this.#address).write(text).end().closed();
  }

  close(): void {
    this.#agent.destroy();
  }
}

const isOpen = (address: Address, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, address);
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

/** A gateway whose backends can answer every route. */
function whole(settings: RouteSettings, bind?: readonly string[]): GatewayUnderTest {
  const under = GatewayUnderTest.up(settings, bind);
  const bytes = Uint8Array.of(1);
  const cover = { tag: 'tag', type: 'image/png', bytes } as const;
  under.backends.answer = { ok: true, text: '{"reboot":true,"power_off":true}', bytes, cover };
  // Until then each request for the other nodes would wait two seconds.
  under.gateway.listener.health('discovery', { state: 'up', since: 0, restarts: 0 });
  return under;
}

/** A gateway as from `whole`, and a door at one of its addresses. */
function opened(
  context: TestContext,
  address: Address,
  ...of: Parameters<typeof whole>
): [Door, GatewayUnderTest] {
  const under = whole(...of).within(context);
  const door = new Door(address, under.port);
  context.after(() => door.close());
  return [door, under];
}

const rows = ROUTES.map(({ method, path }) => {
  const access = ACCESS[`${method} ${path}`];
  return { name: `${method} ${path}`, method, path, access };
});

test('every route has a row, and every row a route', () => {
  assert.deepEqual(Object.keys(ACCESS).sort(), rows.map(({ name }) => name).sort());
});

/** No answer to a stranger may allow a page to read it. */
function isUnreadable({ headers }: Reply, what: string): void {
  const allowing = Object.keys(headers).filter((name) => name.startsWith('access-control-'));
  assert.deepEqual(allowing, [], what);
}

/** Commands that change nothing. */
const READING: readonly string[] = ['cookie', 'cover', 'log', 'status'];

/** One request of a row, by one stranger. */
interface Try {
  readonly row: (typeof rows)[number];
  readonly what: string;
  readonly ask: (method: string) => Promise<Reply>;
}

/** Tries every route as every stranger at one door; resolves with the commands that reached the backends. */
async function tryRoutes(
  door: Door,
  under: GatewayUnderTest,
  strangers: readonly Stranger[],
  check: (tried: Try) => Promise<void>,
): Promise<readonly string[]> {
  under.backends.asked.length = 0;
  for (const row of rows) {
    const access = row.access ?? assert.fail(row.name);
    const tries = strangers.map(({ what, headers }) =>
      check({
        row,
        what: `${row.name} at ${door.own} by ${what}`,
        ask: (method) => door.ask(method, access, headers(door.own)),
      }),
    );
    await Promise.all(tries);
  }
  return under.backends.asked.map(({ command }): string => command.do);
}

function effectsOf(commands: readonly string[]): readonly string[] {
  return commands.filter((each) => !READING.includes(each));
}

async function isClosedToRebinding(door: Door, under: GatewayUnderTest): Promise<void> {
  const asked = await tryRoutes(door, under, REBINDING, async ({ row: { method }, what, ask }) => {
    for (const each of [method, 'OPTIONS', 'PUT', ...(method === 'GET' ? ['HEAD'] : [])]) {
      const reply = await ask(each);
      assert.equal(reply.status, 403, `${each} ${what}`);
      isUnreadable(reply, what);
    }
  });
  assert.deepEqual(asked, []);
}

async function isClosedToPages(door: Door, under: GatewayUnderTest): Promise<void> {
  const asked = await tryRoutes(door, under, PAGES_OF_OTHERS, async ({ row, what, ask }) => {
    const isRead = row.method === 'GET' && row.access?.isOwnOnly !== true;
    const reply = await ask(row.method);
    assert.equal(reply.status, isRead ? row.access?.status : 403, what);
    isUnreadable(reply, what);
    const preflight = await ask('OPTIONS');
    assert.equal(preflight.status, 403, `OPTIONS of ${what}`);
    isUnreadable(preflight, what);
  });
  assert.deepEqual(effectsOf(asked), []);
}

async function isClosedToForms(door: Door, under: GatewayUnderTest): Promise<void> {
  const asked = await tryRoutes(door, under, [FORM_OF_ANOTHER], async ({ row, what, ask }) => {
    assert.equal((await ask(row.method)).status, row.method === 'POST' ? 403 : row.access?.status, what);
  });
  assert.deepEqual(effectsOf(asked), []);
}

async function wantsAHost(door: Door, under: GatewayUnderTest): Promise<void> {
  under.backends.asked.length = 0;
  for (const { name, method, access } of rows) {
    for (const end of ['HTTP/1.0', 'HTTP/1.1', 'HTTP/1.1\r\nHost: ']) {
      const answer = await door.answerTo(`${method} ${access?.url} ${end}\r\n\r\n`);
      assert.doesNotMatch(answer, /^HTTP\/1\.1 [23]/, `${name} ${end}`);
    }
  }
  assert.deepEqual(under.backends.asked, []);
}

async function isOpenToItsOwn(door: Door, under: GatewayUnderTest): Promise<void> {
  const asked = await tryRoutes(door, under, [OWN_PAGE], async ({ row, what, ask }) => {
    const { status, headers } = await ask(row.method);
    assert.equal(status, row.access?.status, what);
    if (row.name === 'GET /ui')
      assert.match(String(headers['content-security-policy']), /frame-ancestors 'self'$/, what);
  });
  assert.equal(effectsOf(asked).length, rows.filter(({ method }) => method === 'POST').length);
}

inOwnNetwork(import.meta.url, () => {
  for (const [name, addresses] of [
    ['house0', ['10.9.0.1/24', 'fd00:9::1/64']],
    ['guest0', ['10.9.1.1/24']],
  ] as const) {
    ip('link', 'add', name, 'type', 'veth', 'peer', 'name', `${name}-peer`);
    ip('link', 'set', `${name}-peer`, 'up');
    ip('link', 'set', name, 'up');
    // Without nodad, nobody can listen on the address for a second or two.
    for (const address of addresses)
      ip('addr', 'add', address, 'dev', name, ...(address.includes(':') ? ['nodad'] : []));
  }

  for (const [bind, open] of OPEN_BY_BIND) {
    describe(`bind ${bind.join(', ')}`, () => {
      test('opens these addresses and no others', async (context) => {
        const under = whole(EVERYTHING, bind).within(context);
        const found = await Promise.all(ADDRESSES.map((address) => isOpen(address, under.port)));
        const isFound = (_: string, index: number): boolean => found[index] === true;
        assert.deepEqual(ADDRESSES.filter(isFound), open);
      });

      for (const address of open) {
        test(`leaves other machines no route at ${address}`, async (context) => {
          const [door, under] = opened(context, address, EVERYTHING, bind);
          await isClosedToRebinding(door, under);
          await isClosedToPages(door, under);
          await isClosedToForms(door, under);
          await wantsAHost(door, under);
          await isOpenToItsOwn(door, under);
        });
      }
    });
  }
});

describe('a part that is not configured does not exist', () => {
  for (const [need, settings] of Object.entries(CONFIGURATIONS_WITHOUT)) {
    test(need, async (context) => {
      const [door, under] = opened(context, '127.0.0.1', settings);
      const { paths } = (await under.json('/openapi.json')) as OpenApi;
      for (const { name, method, path, access } of rows) {
        if (access === undefined) continue;
        const isGone = access.needs.includes(need as Need);
        assert.equal((await door.ask(method, access)).status, isGone ? 404 : access.status, name);
        assert.equal(Object.hasOwn(paths, path), !isGone, `${name} in the document`);
      }
    });
  }
});
