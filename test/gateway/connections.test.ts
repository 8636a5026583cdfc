// One connection under keep-alive, pipelining, slow, broken and abandoned requests, and streams: the process
// must survive all of it.

import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { GatewayUnderTest } from './gateway-under-test.js';
import { RawConnection, statusOf } from './raw-connection.js';
import { put, stream } from './scripted-backends.js';

const gateway = GatewayUnderTest.up().within({ after });
const open: RawConnection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) connection.destroy();
  gateway.backends.answer = { ok: true, value: {} };
  gateway.backends.requests.length = 0;
  assert.equal((await gateway.fetch({ path: '/server' })).status, 200, 'the gateway still serves');
  assert.deepEqual(gateway.logged, []);
});

function connection(): RawConnection {
  const made = new RawConnection(gateway.port);
  open.push(made);
  return made;
}

const HOST = 'Host: 127.0.0.1\r\n';
const get = (path: string): string => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`;
const mute = (headers: string): string => `POST /audio/server/mute HTTP/1.1\r\n${HOST}${headers}\r\n`;
const JSON_TYPE = 'Content-Type: application/json\r\n';
const UNMUTE = `${mute(`${JSON_TYPE}Content-Length: 15\r\n`)}{"muted":false}`;
const statuses = (text: string): string[] => text.match(/(?<=HTTP\/1\.1 )\d{3}/g) ?? [];

describe('one connection', () => {
  test('a connection serves one request after the other: GET, HEAD, POST, 304 and problems', async () => {
    const one = connection();
    const requests = [
      get('/audio'),
      `HEAD /audio HTTP/1.1\r\n${HOST}\r\n`,
      mute('Content-Length: 0\r\n'),
      `GET /audio HTTP/1.1\r\n${HOST}If-None-Match: *\r\n\r\n`,
      get('/nowhere'),
      `OPTIONS /audio HTTP/1.1\r\n${HOST}\r\n`,
      get('/power/'),
      get('/server'),
    ];
    gateway.backends.answer = { ok: true, value: { text: '{"reboot":true,"power_off":true}' } };
    for (const [index, request] of requests.entries()) {
      one.write(request);
      await one.until((text) => statuses(text).length > index && text.includes('\r\n\r\n'));
    }
    const expected = ['200', '200', '202', '304', '404', '204', '200', '200'];
    assert.deepEqual(statuses(one.received), expected);
  });

  test('a connection answers pipelined requests in order', async () => {
    const one = connection().write(get('/server') + get('/nowhere') + get('/audio/outputs'));
    const text = await one.until((all) => statuses(all).length === 3);
    assert.deepEqual(statuses(text), ['200', '404', '200']);
  });

  test('requests wait behind one that waits for a backend, and all are answered in order', async () => {
    const settle = gateway.backends.hold();
    const one = connection().write(mute(''));
    await gateway.backends.untilRequested(1);
    one.write(get('/server') + get('/power/'));
    await gateway.fetch({ path: '/server' });
    assert.equal(one.received, '');
    settle({ ok: true, value: { text: '{"reboot":true,"power_off":true}' } });
    const text = await one.until((all) => statuses(all).length === 3);
    assert.deepEqual(statuses(text), ['202', '200', '200']);
  });

  for (const request of [mute(''), UNMUTE, get('/power/')]) {
    test(`a client that has ended its sending side gets its answer: ${request.slice(0, 18)}`, async () => {
      const settle = gateway.backends.hold();
      const one = connection().write(request).end();
      await gateway.backends.untilRequested(1);
      await gateway.fetch({ path: '/server' });
      settle({ ok: true, value: { text: '{"reboot":true,"power_off":true}' } });
      assert.match(await one.closed(), /^HTTP\/1\.1 20[02] /);
    });
  }

  test('a connection with two commands in one packet is closed before either has an effect', async () => {
    const one = connection().write(mute('') + mute(''));
    assert.equal(await one.closed(), '');
    await gateway.fetch({ path: '/server' });
    assert.deepEqual(gateway.backends.requests, []);
  });
});

describe('bodies', () => {
  const CHUNK = `10000\r\n${'x'.repeat(0x10000)}\r\n`;

  test('a body may arrive in pieces', async () => {
    const one = connection().write(mute(`${JSON_TYPE}Content-Length: 14\r\n`));
    for (const piece of ['{"mu', 'ted"', ':true', '}']) {
      one.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await one.until((text) => text.startsWith('HTTP/1.1 202 '));
    const command = { do: 'mute', target: { kind: 'server' }, muted: true };
    assert.deepEqual(gateway.backends.requests[0]?.command, command);
  });

  test('a body may be chunked', async () => {
    const head = mute(`${JSON_TYPE}Transfer-Encoding: chunked\r\n`);
    const one = connection().write(`${head}6\r\n{"mute\r\n8\r\nd":true}\r\n0\r\n\r\n`);
    await one.until((text) => text.startsWith('HTTP/1.1 202 '));
  });

  for (const [what, headers, rest] of [
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
    test(what, async () => {
      const one = connection().write(`${mute(`${JSON_TYPE}${headers}\r\n`)}${rest}`);
      assert.match(await one.closed(), /^HTTP\/1\.1 413 /);
      assert.deepEqual(gateway.backends.requests, []);
    });
  }

  test('the body of a GET is ignored', async () => {
    const head = `GET /server HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\n`;
    const one = connection().write(`${head}hello${get('/server')}`);
    const text = await one.until((all) => statuses(all).length === 2);
    assert.deepEqual(statuses(text), ['200', '200']);
  });

  test('a body that ends half-way reaches no backend', async () => {
    const one = connection().write(`${mute(`${JSON_TYPE}Content-Length: 14\r\n`)}{"muted"`);
    await gateway.fetch({ path: '/server' });
    one.destroy();
    await gateway.fetch({ path: '/server' });
    assert.deepEqual(gateway.backends.requests, []);
  });
});

/**
 * The body up to its last complete chunk (RFC 9112, section 7.1): a client that takes only whole chunks gets
 * this much.
 */
function wholeChunks(text: string): string {
  let body = '';
  let at = text.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (lineEnd < 0 || Number.isNaN(size) || text.slice(end, end + 2) !== '\r\n') return body;
    body += text.slice(lineEnd + 2, end);
    at = end + 2;
  }
}

test('the chunks of a stream end with its events, for clients that wait for the end of a chunk', async () => {
  const consumer = connection().write(get('/events?types=audio.updated'));
  await consumer.until((text) => wholeChunks(text).endsWith('data: "connected"\n\n'));
  for (const id of [17, 18]) {
    gateway.gateway.listener.changes([put('audio.clients', String(id), stream(id))]);
    const received = await consumer.until((text) => wholeChunks(text).includes(`data: [{"id":${id},`));
    assert.match(wholeChunks(received), /\}\]\n\n$/);
  }
});

describe('a client that leaves', () => {
  for (const [when, request] of [
    ['while a backend carries out its command', mute('')],
    ['while a backend has not answered its GET', get('/power/')],
  ] as const) {
    test(`a client may leave ${when}`, async () => {
      const settle = gateway.backends.hold();
      const one = connection().write(request);
      await gateway.backends.untilRequested(1);
      one.destroy();
      await gateway.fetch({ path: '/server' });
      settle({ ok: true, value: { text: '{}' } });
    });
  }

  test('a client may leave in the middle of the head of its request', async () => {
    connection().write('GET /audio HTTP/1.1\r\nHo').destroy();
    await gateway.fetch({ path: '/server' });
  });
});

describe('an idle connection', () => {
  const IDLE_AFTER: readonly (readonly [what: string, request: string])[] = [
    ['an answer made at once', get('/server')],
    ['an answer made later', get('/power/')],
    ['a command', mute('')],
    ['a request that is refused', get('/nowhere')],
  ];
  for (const [what, request] of IDLE_AFTER) {
    test(`an idle connection ends some time after ${what}, and the answer says how long it may be used`, async () => {
      gateway.backends.answer = { ok: true, value: { text: '{"reboot":true,"power_off":true}' } };
      const one = connection().write(request);
      const answer = await one.closed();
      assert.match(answer, /\r\nKeep-Alive: timeout=8\r\n/);
      assert.deepEqual(statuses(answer).length, 1);
    });
  }

  test('an answer after which the connection is closed has no Keep-Alive header', async () => {
    const one = connection().write(mute(`${JSON_TYPE}Content-Length: 999999999999\r\n`));
    assert.doesNotMatch(await one.closed(), /Keep-Alive/);
  });
});

test('a connection without a complete request within seconds is closed, even if it sends a byte now and then', async (context) => {
  const one = connection().write('GET /server HTTP/1.1\r\nX: ');
  const trickle = setInterval(() => one.write('y'), 1000);
  context.after(() => clearInterval(trickle));
  assert.equal(await one.closed(), '');
});

describe("a request's head", () => {
  const rows: [what: string, text: string, status: number][] = [
    ['headers of 3 kB', `GET /server HTTP/1.1\r\n${HOST}X: ${'x'.repeat(3000)}\r\n\r\n`, 200],
    ['headers of 15 kB', `GET /server HTTP/1.1\r\n${HOST}X: ${'x'.repeat(15_000)}\r\n\r\n`, 200],
    ['headers of 17 kB', `GET /server HTTP/1.1\r\n${HOST}X: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
    ['97 headers', `GET /server HTTP/1.1\r\n${HOST}${'X: y\r\n'.repeat(96)}\r\n`, 200],
    ['120 headers', `GET /server HTTP/1.1\r\n${HOST}${'X: y\r\n'.repeat(119)}\r\n`, 431],
    ['a path of 3 kB', get(`/${'x'.repeat(3000)}`), 404],
    ['a path of 17 kB', get(`/${'x'.repeat(17_000)}`), 431],
    ['HTTP/1.0', `GET /server HTTP/1.0\r\n${HOST}\r\n`, 505],
    ['bytes that are not ASCII', get('/\xff\xfe'), 404],
  ];
  for (const [what, text, status] of rows)
    test(`${what}: ${status}`, async () => assert.equal(await statusOf(gateway.port, text), status));

  test('a line break in a name of the path reaches no header', async () => {
    const text = `PUT /audio/outputs/a%0d%0aX-Evil:%201/mute HTTP/1.1\r\n${HOST}\r\n`;
    const one = connection().write(text);
    const received = await one.until((all) => all.includes('}'));
    assert.match(received, /^HTTP\/1\.1 405 /);
    assert.doesNotMatch(received, /^X-Evil/m);
  });
});
