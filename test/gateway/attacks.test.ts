// Ambiguous requests over real HTTP: a refused one must have no effect. Attacks by pages of other sites are
// tried on every route by test/contract/access.test.ts.

import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection, statusOf } from './raw-connection.js';

const under = GatewayUnderTest.up({
  ...SETTINGS,
  api: { ...SETTINGS.api, hosts: ['radio.lan'], cors: { origins: ['http://app.lan'] } },
}).within({ after });
beforeEach(() => {
  under.backends.requests.length = 0;
});

test('a request that is refused before its body arrives leaves the connection usable', async () => {
  const connection = new RawConnection(under.port);
  const head = `Host: 127.0.0.1\r\nOrigin: http://evil.example\r\nContent-Length: 16\r\n\r\n`;
  connection.write(`POST /audio/server/mute HTTP/1.1\r\n${head}{"mut`);
  await connection.until((text) => text.startsWith('HTTP/1.1 403 '));
  connection.write('ed": true}}GET /audio/kind HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const all = await connection.until((text) => text.split('HTTP/1.1 ').length === 3);
  assert.match(all, /HTTP\/1\.1 404 /);
  connection.destroy();
  assert.deepEqual(under.backends.requests, []);
});

describe('an ambiguous request', () => {
  const start = 'POST /power/reboot HTTP/1.1\r\n';
  const own = 'Host: 127.0.0.1\r\n';
  const chunked = 'Transfer-Encoding: chunked\r\n';
  const rows: [what: string, headers: string, body?: string, status?: number, line?: string][] = [
    ['two hosts', `${own}Host: evil.example\r\n`],
    ['two equal hosts', own + own],
    ['two origins', `${own}Origin: http://app.lan\r\nOrigin: http://evil.example\r\n`],
    ['two types', `${own}Content-Type: application/json\r\nContent-Type: text/plain\r\n`],
    ['two lengths', `${own}Content-Length: 0\r\nContent-Length: 2\r\n`],
    ['a length and chunks', `${own}Content-Length: 2\r\n${chunked}`],
    ['another coding than chunked', `${own}Transfer-Encoding: gzip\r\n`],
    ['another coding before chunked', `${own}Transfer-Encoding: gzip, chunked\r\n`, '0\r\n\r\n'],
    ['chunked twice', own + chunked + chunked, '0\r\n\r\n'],
    ['another coding and a length', `${own}Transfer-Encoding: gzip\r\nContent-Length: 2\r\n`, '{}'],
    ['a header without a name in front', `: z\r\n${own}`],
    ['a length that is no number', `${own}Content-Length: x\r\n`],
    // Without any header uWebSockets.js waits for more, and closes after its own time-out.
    ['no host', 'Accept: x\r\n'],
    ['an empty host', 'Host:\r\n', '', 403],
    ['an absolute target, which is no path', own, '', 505, 'POST http://127.0.0.1/power/reboot HTTP/1.1\r\n'],
    ['a method in lower case, which is not POST', own, '', 405, 'post /power/reboot HTTP/1.1\r\n'],
  ];
  for (const [what, headers, body = '', status = 400, line = start] of rows)
    test(`${what}: ${status}`, async () => {
      assert.equal(await statusOf(under.port, `${line}${headers}\r\n${body}`), status);
      assert.deepEqual(under.backends.requests, []);
    });

  const unclear = `${start}${own}Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;

  test('a request after an ambiguous one has no effect, whether both arrive together or not', async () => {
    const together = new RawConnection(under.port).write(`${unclear}${start}${own}\r\n`);
    assert.equal(await together.closed(), '');
    const one = new RawConnection(under.port).write(unclear);
    await one.until((text) => text.includes('}'));
    const apart = await one.write(`${start}${own}\r\n`).closed();
    assert.match(apart, /^HTTP\/1\.1 400 /);
    assert.equal(apart.split('HTTP/1.1 ').length, 2);
    assert.deepEqual(under.backends.requests, []);
  });

  const foreign = 'Host: evil.example\r\n';
  for (const method of ['GET', 'HEAD', 'OPTIONS'])
    for (const hosts of [own + foreign, foreign + own, own + own])
      test(`a ${method} with ${JSON.stringify(hosts)}: 400`, async () =>
        assert.equal(await statusOf(under.port, `${method} /audio HTTP/1.1\r\n${hosts}\r\n`), 400));
});
