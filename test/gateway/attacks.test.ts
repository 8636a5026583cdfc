// Attacks and their honest twins over real HTTP: what is refused is refused before any effect.

import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { GatewayUnderTest, SETTINGS, type TestResponse } from './gateway-under-test.js';
import { RawConnection, statusOf } from './raw-connection.js';

const under = GatewayUnderTest.up({
  ...SETTINGS,
  api: { ...SETTINGS.api, hosts: ['radio.lan'], cors: { origins: ['http://app.lan'] } },
});
after(() => under.close());
beforeEach(() => {
  under.backends.asked.length = 0;
});

const own = `http://127.0.0.1:${under.port}`;

describe('the host', () => {
  const paths: [method: string, path: string][] = [
    ['GET', '/audio'],
    ['GET', '/events'],
    ['HEAD', '/server'],
    ['GET', '/nowhere'],
    ['OPTIONS', '/audio'],
    ['POST', '/power/reboot'],
    ['DELETE', '/audio'],
  ];
  for (const [method, path] of paths) {
    test(`${method} ${path} under a foreign name is 403`, async () => {
      const response = await under.fetch({ method, path, headers: { Host: 'evil.example' } });
      assert.equal(response.status, 403);
      assert.deepEqual(under.backends.asked, []);
    });
  }
  for (const host of [
    '127.0.0.1',
    '[::1]:8018',
    'localhost:1',
    'KITCHEN',
    'kitchen.local.',
    'radio.lan:8018',
  ]) {
    test(`${host} is answered`, async () => {
      assert.equal((await under.fetch({ path: '/audio', headers: { Host: host } })).status, 200);
    });
  }
});

describe('effects of pages of other sites', () => {
  const rows: [what: string, headers: Record<string, string>, status: number][] = [
    ['no browser', {}, 202],
    ['a page of the node', { Origin: own, 'Sec-Fetch-Site': 'same-origin' }, 202],
    ['an allowed page', { Origin: 'http://app.lan', 'Sec-Fetch-Site': 'cross-site' }, 202],
    ['a foreign page', { Origin: 'http://evil.example', 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['a foreign page in an old browser', { Origin: 'http://evil.example' }, 403],
    ['a sandboxed page', { Origin: 'null' }, 403],
    ['the same host at another port', { Origin: 'http://127.0.0.1:1' }, 403],
    ['the same host with https', { Origin: own.replace('http', 'https') }, 403],
    ['a form of another site without Origin', { 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['an allowed origin as a prefix', { Origin: 'http://app.lan.evil.example' }, 403],
  ];
  for (const [what, headers, status] of rows) {
    test(`${what}: ${status}`, async () => {
      const response = await under.fetch({ method: 'POST', path: '/power/reboot', headers });
      assert.equal(response.status, status);
      assert.equal(under.backends.asked.length, status === 202 ? 1 : 0);
    });
  }

  test('a refused request with its body still to come leaves the connection in order', async () => {
    const connection = new RawConnection(under.port);
    const head = `Host: 127.0.0.1\r\nOrigin: http://evil.example\r\nContent-Length: 16\r\n\r\n`;
    connection.write(`POST /audio/server/mute HTTP/1.1\r\n${head}{"mut`);
    await connection.until((text) => text.startsWith('HTTP/1.1 403 '));
    connection.write('ed": true}}GET /audio/kind HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    const all = await connection.until((text) => text.split('HTTP/1.1 ').length === 3);
    assert.match(all, /HTTP\/1\.1 404 /);
    connection.destroy();
    assert.deepEqual(under.backends.asked, []);
  });
});

describe('what browsers are told', () => {
  const cors = (response: TestResponse): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(response.headers).filter(([name]) => name.startsWith('access-control-')),
    );

  test('an allowed origin may read answers and problems', async () => {
    for (const path of ['/audio', '/nowhere']) {
      const response = await under.fetch({ path, headers: { Origin: 'http://app.lan' } });
      assert.equal(response.headers['access-control-allow-origin'], 'http://app.lan');
      assert.match(String(response.headers['access-control-expose-headers']), /ETag/);
      assert.equal(response.headers.vary, 'Origin');
    }
  });

  test('an allowed origin may read the stream', async () => {
    const response = await under.fetch({
      method: 'HEAD',
      path: '/events',
      headers: { Origin: 'http://app.lan' },
    });
    assert.equal(response.headers['access-control-allow-origin'], 'http://app.lan');
  });

  test('a foreign origin may not read', async () => {
    const response = await under.fetch({ path: '/audio', headers: { Origin: 'http://evil.example' } });
    assert.deepEqual(cors(response), {});
    assert.equal(response.headers.vary, 'Origin');
  });

  test('the preflight of an allowed origin', async () => {
    const headers = {
      Origin: 'http://app.lan',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'content-type',
    };
    const response = await under.fetch({ method: 'OPTIONS', path: '/audio/server/volume', headers });
    assert.equal(response.status, 204);
    assert.deepEqual(cors(response), {
      'access-control-allow-origin': 'http://app.lan',
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers': 'Content-Type, Last-Event-ID',
      'access-control-max-age': '600',
    });
    assert.equal(response.headers['content-length'], undefined);
  });

  test('private network access is granted when asked for, to allowed origins', async () => {
    const ask = (origin: string): Promise<TestResponse> =>
      under.fetch({
        method: 'OPTIONS',
        path: '/audio',
        headers: { Origin: origin, 'Access-Control-Request-Private-Network': 'true' },
      });
    const allowed = await ask('http://app.lan');
    assert.equal(allowed.headers['access-control-allow-private-network'], 'true');
    const foreign = await ask('http://evil.example');
    assert.equal(foreign.status, 403);
    assert.deepEqual(cors(foreign), {});
  });

  test('with * every origin may read, and the answer does not name it', async (context) => {
    const open = GatewayUnderTest.up({
      ...SETTINGS,
      api: { ...SETTINGS.api, cors: { origins: ['*'] } },
    });
    context.after(() => open.close());
    const response = await open.fetch({ path: '/audio', headers: { Origin: 'http://any.example' } });
    assert.equal(response.headers['access-control-allow-origin'], '*');
    const posted = await open.fetch({
      method: 'POST',
      path: '/power/reboot',
      headers: { Origin: 'http://any.example' },
    });
    assert.equal(posted.status, 202);
  });
});

describe('ambiguous requests', () => {
  const start = 'POST /power/reboot HTTP/1.1\r\n';
  const rows: [what: string, text: string][] = [
    ['two hosts', `${start}Host: 127.0.0.1\r\nHost: evil.example\r\n\r\n`],
    ['two equal hosts', `${start}Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n`],
    [
      'two origins',
      `${start}Host: 127.0.0.1\r\nOrigin: http://app.lan\r\nOrigin: http://evil.example\r\n\r\n`,
    ],
    ['two lengths', `${start}Host: 127.0.0.1\r\nContent-Length: 0\r\nContent-Length: 2\r\n\r\n`],
    [
      'a length and chunks',
      `${start}Host: 127.0.0.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ],
    ['another coding than chunked', `${start}Host: 127.0.0.1\r\nTransfer-Encoding: gzip\r\n\r\n`],
    [
      'another coding before chunked',
      `${start}Host: 127.0.0.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'chunked twice',
      `${start}Host: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'another coding and a length',
      `${start}Host: 127.0.0.1\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`,
    ],
    ['a header without a name in front', `${start}: z\r\nHost: 127.0.0.1\r\n\r\n`],
    ['a length that is no number', `${start}Host: 127.0.0.1\r\nContent-Length: x\r\n\r\n`],
    // Without any header at all uWebSockets.js waits for more, and closes after its own time-out.
    ['no host', `${start}Accept: x\r\n\r\n`],
  ];
  for (const [what, text] of rows) {
    test(`${what}: 400`, async () => {
      assert.equal(await statusOf(under.port, text), 400);
      assert.deepEqual(under.backends.asked, []);
    });
  }

  const unclear = `${start}Host: 127.0.0.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;

  test('what follows an ambiguous request has no effect, whether it came with it or later', async () => {
    const together = await new RawConnection(under.port)
      .write(`${unclear}${start}Host: 127.0.0.1\r\n\r\n`)
      .closed();
    assert.equal(together, '');
    const one = new RawConnection(under.port).write(unclear);
    await one.until((text) => text.includes('}'));
    const apart = await one.write(`${start}Host: 127.0.0.1\r\n\r\n`).closed();
    assert.match(apart, /^HTTP\/1\.1 400 /);
    assert.equal(apart.split('HTTP/1.1 ').length, 2);
    assert.deepEqual(under.backends.asked, []);
  });

  test('a GET is judged by its first host, since whatever stands behind it changes nothing', async () => {
    const [own, foreign] = ['Host: 127.0.0.1\r\n', 'Host: evil.example\r\n'];
    assert.equal(await statusOf(under.port, `GET /audio HTTP/1.1\r\n${own}${foreign}\r\n`), 200);
    assert.equal(await statusOf(under.port, `GET /audio HTTP/1.1\r\n${foreign}${own}\r\n`), 403);
  });

  test('an empty host is 403', async () => {
    assert.equal(await statusOf(under.port, `${start}Host:\r\n\r\n`), 403);
  });

  test('an absolute target is not taken for a path', async () => {
    const status = await statusOf(
      under.port,
      'POST http://127.0.0.1/power/reboot HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
    );
    assert.ok(status >= 400);
    assert.deepEqual(under.backends.asked, []);
  });

  test('a method in lower case is not POST', async () => {
    assert.equal(await statusOf(under.port, 'post /power/reboot HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'), 405);
    assert.deepEqual(under.backends.asked, []);
  });
});
