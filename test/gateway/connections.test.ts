// Tests one connection with keep-alive and pipelining, with requests that are slow, broken or abandoned, and
// with streams. The process must survive all of it.

import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { Answer } from '../../src/protocol/actor/commands.js';
import { GatewayUnderTest } from './gateway-under-test.js';
import { RawConnection, statusOf } from './raw-connection.js';
import { put, sinkInput } from './scripted-backends.js';

const under = GatewayUnderTest.up().closeAtEndOf({ after });
const openConnections: RawConnection[] = [];
afterEach(async () => {
  for (const connection of openConnections.splice(0)) connection.destroy();
  under.backends.answer = { ok: true, value: {} };
  under.backends.requests.length = 0;
  assert.equal((await under.fetch({ path: '/server' })).status, 200, 'the gateway still serves');
  assert.deepEqual(under.logged, []);
});

function connect(): RawConnection {
  const connection = new RawConnection(under.port);
  openConnections.push(connection);
  return connection;
}

/** The gateway answers this request after it has read what the other connections have sent before. */
async function untilGatewayHasRead(): Promise<void> {
  await under.fetch({ path: '/server' });
}

const HOST = 'Host: 127.0.0.1\r\n';
const getRequest = (path: string): string => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`;
const muteRequest = (headers: string): string => `POST /audio/server/mute HTTP/1.1\r\n${HOST}${headers}\r\n`;
const JSON_TYPE = 'Content-Type: application/json\r\n';
const UNMUTE_REQUEST = `${muteRequest(`${JSON_TYPE}Content-Length: 15\r\n`)}{"muted":false}`;
/**
 * The backend's answer to `GET /power/`. It may also answer a command, because the gateway does not pass on
 * the text of an answer to a command.
 */
const POWER_ANSWER: Answer = { ok: true, value: { text: '{"reboot":true,"power_off":true}' } };
const statuses = (text: string): string[] => text.match(/(?<=HTTP\/1\.1 )\d{3}/g) ?? [];

describe('one connection', () => {
  test('a connection serves one request after the other: GET, HEAD, POST, 304 and problems', async () => {
    const connection = connect();
    const requests = [
      getRequest('/audio'),
      `HEAD /audio HTTP/1.1\r\n${HOST}\r\n`,
      muteRequest('Content-Length: 0\r\n'),
      `GET /audio HTTP/1.1\r\n${HOST}If-None-Match: *\r\n\r\n`,
      getRequest('/nowhere'),
      `OPTIONS /audio HTTP/1.1\r\n${HOST}\r\n`,
      getRequest('/power/'),
      getRequest('/server'),
    ];
    under.backends.answer = POWER_ANSWER;
    for (const [index, request] of requests.entries()) {
      connection.write(request);
      // The answer counts as received when its head is complete. The head ends with the empty line.
      await connection.until(
        (text) => statuses(text).length > index && text.split('\r\n\r\n').length > index + 1,
      );
    }
    const expected = ['200', '200', '202', '304', '404', '204', '200', '200'];
    assert.deepEqual(statuses(connection.received), expected);
  });

  test('a connection answers pipelined requests in order', async () => {
    const connection = connect().write(
      getRequest('/server') + getRequest('/nowhere') + getRequest('/audio/outputs'),
    );
    const text = await connection.until((received) => statuses(received).length === 3);
    assert.deepEqual(statuses(text), ['200', '404', '200']);
  });

  test('requests that follow a command wait until a slow backend has answered it, and all are answered in order', async () => {
    const answer = under.backends.hold();
    const connection = connect().write(muteRequest(''));
    await under.backends.untilRequested(1);
    connection.write(getRequest('/server') + getRequest('/power/'));
    await untilGatewayHasRead();
    assert.equal(connection.received, '');
    answer.resolve(POWER_ANSWER);
    const text = await connection.until((received) => statuses(received).length === 3);
    assert.deepEqual(statuses(text), ['202', '200', '200']);
  });

  for (const [what, request] of [
    ['a POST without a body', muteRequest('')],
    ['a POST with a body', UNMUTE_REQUEST],
    ['a GET', getRequest('/power/')],
  ] as const) {
    test(`a client that has ended its sending side gets its answer to ${what}`, async () => {
      const answer = under.backends.hold();
      const connection = connect().write(request).end();
      await under.backends.untilRequested(1);
      await untilGatewayHasRead();
      answer.resolve(POWER_ANSWER);
      assert.match(await connection.untilClosed(), /^HTTP\/1\.1 20[02] /);
    });
  }

  // uWebSockets.js closes such a connection (exchange.ts).
  test('a connection with two commands in one packet is closed before either has an effect', async () => {
    const connection = connect().write(muteRequest('') + muteRequest(''));
    assert.equal(await connection.untilClosed(), '');
    await untilGatewayHasRead();
    assert.deepEqual(under.backends.requests, []);
  });
});

describe('bodies', () => {
  const CHUNK = `10000\r\n${'x'.repeat(0x10000)}\r\n`;

  test('a body may arrive in pieces', async () => {
    const connection = connect().write(muteRequest(`${JSON_TYPE}Content-Length: 14\r\n`));
    for (const piece of ['{"mu', 'ted"', ':true', '}']) {
      connection.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await connection.until((text) => text.startsWith('HTTP/1.1 202 '));
    const command = { do: 'mute', target: { kind: 'server' }, muted: true };
    assert.deepEqual(under.backends.requests[0]?.command, command);
  });

  test('a body may be chunked', async () => {
    const head = muteRequest(`${JSON_TYPE}Transfer-Encoding: chunked\r\n`);
    const connection = connect().write(`${head}6\r\n{"mute\r\n8\r\nd":true}\r\n0\r\n\r\n`);
    await connection.until((text) => text.startsWith('HTTP/1.1 202 '));
  });

  for (const [title, header, body] of [
    [
      'a body whose announced length is too large is refused before it arrives',
      'Content-Length: 999999999999',
      '',
    ],
    [
      'a body of endless chunks is refused, and its connection is closed',
      'Transfer-Encoding: chunked',
      CHUNK.repeat(20),
    ],
  ] as const) {
    test(title, async () => {
      const connection = connect().write(`${muteRequest(`${JSON_TYPE}${header}\r\n`)}${body}`);
      assert.match(await connection.untilClosed(), /^HTTP\/1\.1 413 /);
      assert.deepEqual(under.backends.requests, []);
    });
  }

  test('the body of a GET is ignored', async () => {
    const head = `GET /server HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\n`;
    const connection = connect().write(`${head}hello${getRequest('/server')}`);
    const text = await connection.until((received) => statuses(received).length === 2);
    assert.deepEqual(statuses(text), ['200', '200']);
  });

  test('a body that ends half-way reaches no backend', async () => {
    const connection = connect().write(`${muteRequest(`${JSON_TYPE}Content-Length: 14\r\n`)}{"muted"`);
    await untilGatewayHasRead();
    connection.destroy();
    await untilGatewayHasRead();
    assert.deepEqual(under.backends.requests, []);
  });
});

/**
 * The body up to its last complete chunk (RFC 9112, section 7.1). Some clients take only whole chunks.
 */
function wholeChunks(text: string): string {
  let body = '';
  let chunkStart = text.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const lineEnd = text.indexOf('\r\n', chunkStart);
    const size = Number.parseInt(text.slice(chunkStart, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (lineEnd < 0 || Number.isNaN(size) || text.slice(end, end + 2) !== '\r\n') return body;
    body += text.slice(lineEnd + 2, end);
    chunkStart = end + 2;
  }
}

test('each event of a stream ends where a chunk ends, because some clients wait for the end of a chunk', async () => {
  const consumer = connect().write(getRequest('/events?types=audio.updated'));
  await consumer.until((text) => wholeChunks(text).endsWith('data: "connected"\n\n'));
  for (const id of [17, 18]) {
    under.gateway.listener.changes([put('audio.clients', String(id), sinkInput(id))]);
    const received = await consumer.until((text) => wholeChunks(text).includes(`data: [{"id":${id},`));
    assert.match(wholeChunks(received), /\}\]\n\n$/);
  }
});

// These tests assert nothing themselves, because `afterEach` checks that the gateway still serves.
describe('a client that leaves', () => {
  for (const [when, request] of [
    ['while a backend carries out its command', muteRequest('')],
    ['while a backend has not answered its GET', getRequest('/power/')],
  ] as const) {
    test(`a client may leave ${when}`, async () => {
      const answer = under.backends.hold();
      const connection = connect().write(request);
      await under.backends.untilRequested(1);
      connection.destroy();
      await untilGatewayHasRead();
      answer.resolve({ ok: true, value: { text: '{}' } });
    });
  }

  test('a client may leave in the middle of the head of its request', async () => {
    connect().write('GET /audio HTTP/1.1\r\nHo').destroy();
    await untilGatewayHasRead();
  });
});

describe('an idle connection', () => {
  const IDLE_AFTER: readonly (readonly [what: string, request: string])[] = [
    ['an answer made at once', getRequest('/server')],
    ['an answer made later', getRequest('/power/')],
    ['a command', muteRequest('')],
    ['a request that is refused', getRequest('/nowhere')],
  ];
  for (const [what, request] of IDLE_AFTER) {
    test(`an idle connection ends some time after ${what}, and the answer announces the time`, async () => {
      under.backends.answer = POWER_ANSWER;
      const connection = connect().write(request);
      const answer = await connection.untilClosed();
      assert.match(answer, /\r\nKeep-Alive: timeout=8\r\n/);
      assert.deepEqual(statuses(answer).length, 1);
    });
  }

  test('an answer after which the connection is closed has no Keep-Alive header', async () => {
    const connection = connect().write(muteRequest(`${JSON_TYPE}Content-Length: 999999999999\r\n`));
    assert.doesNotMatch(await connection.untilClosed(), /Keep-Alive/);
  });
});

test('a connection without a complete request within seconds is closed, even if it sends a byte now and then', async (context) => {
  const connection = connect().write('GET /server HTTP/1.1\r\nX: ');
  const trickle = setInterval(() => connection.write('y'), 1000);
  context.after(() => clearInterval(trickle));
  assert.equal(await connection.untilClosed(), '');
});

describe("a request's head", () => {
  // A head may have 16 KiB and 97 headers (docs/development/bounds.md).
  const rows: [what: string, request: string, status: number][] = [
    ['headers of 3 kB', `GET /server HTTP/1.1\r\n${HOST}X: ${'x'.repeat(3000)}\r\n\r\n`, 200],
    ['headers of 15 kB', `GET /server HTTP/1.1\r\n${HOST}X: ${'x'.repeat(15_000)}\r\n\r\n`, 200],
    ['headers of 17 kB', `GET /server HTTP/1.1\r\n${HOST}X: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
    ['97 headers', `GET /server HTTP/1.1\r\n${HOST}${'X: y\r\n'.repeat(96)}\r\n`, 200],
    ['120 headers', `GET /server HTTP/1.1\r\n${HOST}${'X: y\r\n'.repeat(119)}\r\n`, 431],
    ['a path of 3 kB', getRequest(`/${'x'.repeat(3000)}`), 404],
    ['a path of 17 kB', getRequest(`/${'x'.repeat(17_000)}`), 431],
    ['HTTP/1.0', `GET /server HTTP/1.0\r\n${HOST}\r\n`, 505],
    ['bytes that are not ASCII', getRequest('/\xff\xfe'), 404],
  ];
  for (const [what, request, status] of rows)
    test(`a request with ${what} gets the status ${status}`, async () =>
      assert.equal(await statusOf(under.port, request), status));

  test('a line break in a name of the path reaches no header', async () => {
    // This path has no `PUT`, so the answer has a header that depends on the path, `Allow`.
    const request = `PUT /audio/outputs/a%0d%0aX-Evil:%201/mute HTTP/1.1\r\n${HOST}\r\n`;
    const connection = connect().write(request);
    const received = await connection.until((text) => text.includes('}'));
    assert.match(received, /^HTTP\/1\.1 405 /);
    assert.doesNotMatch(received, /^X-Evil/m);
  });
});
