// Ambiguous requests over real HTTP: a refused one must have no effect. Attacks by pages of other sites are
// tried on every route by test/contract/access.test.ts.

import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection, statusOf } from './raw-connection.js';

const under = GatewayUnderTest.up({
  ...SETTINGS,
  api: { ...SETTINGS.api, hosts: ['radio.lan'], cors: { origins: ['http://app.lan'] } },
}).closeAtEndOf({ after });
beforeEach(() => {
  under.backends.requests.length = 0;
});

const answerCount = (received: string): number => received.split('HTTP/1.1 ').length - 1;

test('a request that is refused before its body arrives leaves the connection usable', async () => {
  const connection = new RawConnection(under.port);
  const head = `Host: 127.0.0.1\r\nOrigin: http://evil.example\r\nContent-Length: 16\r\n\r\n`;
  connection.write(`POST /audio/server/mute HTTP/1.1\r\n${head}{"mut`);
  await connection.until((text) => text.startsWith('HTTP/1.1 403 '));
  // The body of 16 bytes ends with the second `}`. The next request gets 404, because `/audio/kind` is no
  // route.
  connection.write('ed": true}}GET /audio/kind HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const received = await connection.until((text) => answerCount(text) === 2);
  assert.match(received, /HTTP\/1\.1 404 /);
  connection.destroy();
  assert.deepEqual(under.backends.requests, []);
});

describe('an ambiguous request', () => {
  const REBOOT_LINE = 'POST /power/reboot HTTP/1.1\r\n';
  const OWN_HOST = 'Host: 127.0.0.1\r\n';
  const CHUNKED = 'Transfer-Encoding: chunked\r\n';
  interface AmbiguousRequest {
    readonly what: string;
    readonly headers: string;
    readonly requestLine?: string;
    readonly body?: string;
    readonly status?: number;
  }
  const rows: readonly AmbiguousRequest[] = [
    { what: 'two hosts', headers: `${OWN_HOST}Host: evil.example\r\n` },
    { what: 'two equal hosts', headers: OWN_HOST + OWN_HOST },
    {
      what: 'two origins',
      headers: `${OWN_HOST}Origin: http://app.lan\r\nOrigin: http://evil.example\r\n`,
    },
    {
      what: 'two types',
      headers: `${OWN_HOST}Content-Type: application/json\r\nContent-Type: text/plain\r\n`,
    },
    { what: 'two lengths', headers: `${OWN_HOST}Content-Length: 0\r\nContent-Length: 2\r\n` },
    { what: 'a length and chunks', headers: `${OWN_HOST}Content-Length: 2\r\n${CHUNKED}` },
    { what: 'another coding than chunked', headers: `${OWN_HOST}Transfer-Encoding: gzip\r\n` },
    {
      what: 'another coding before chunked',
      headers: `${OWN_HOST}Transfer-Encoding: gzip, chunked\r\n`,
      body: '0\r\n\r\n',
    },
    { what: 'the coding chunked twice', headers: OWN_HOST + CHUNKED + CHUNKED, body: '0\r\n\r\n' },
    {
      what: 'another coding and a length',
      headers: `${OWN_HOST}Transfer-Encoding: gzip\r\nContent-Length: 2\r\n`,
      body: '{}',
    },
    { what: 'a first header that has no name', headers: `: z\r\n${OWN_HOST}` },
    { what: 'a length that is no number', headers: `${OWN_HOST}Content-Length: x\r\n` },
    // The header `Accept` is in the next row because uWebSockets.js does not answer a request without
    // headers: it waits for more bytes, and closes the connection after its own time-out.
    { what: 'no host', headers: 'Accept: x\r\n' },
    { what: 'an empty host', headers: 'Host:\r\n', status: 403 },
    // uWebSockets.js itself answers 505 where the target is no path.
    {
      what: 'an absolute target, which is no path,',
      requestLine: 'POST http://127.0.0.1/power/reboot HTTP/1.1\r\n',
      headers: OWN_HOST,
      status: 505,
    },
    {
      what: 'a method in lower case, which is not POST,',
      requestLine: 'post /power/reboot HTTP/1.1\r\n',
      headers: OWN_HOST,
      status: 405,
    },
  ];
  for (const { what, headers, requestLine = REBOOT_LINE, body = '', status = 400 } of rows)
    test(`a request with ${what} gets ${status}`, async () => {
      assert.equal(await statusOf(under.port, `${requestLine}${headers}\r\n${body}`), status);
      assert.deepEqual(under.backends.requests, []);
    });

  const ambiguous = `${REBOOT_LINE}${OWN_HOST}Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;

  test('a request after an ambiguous one has no effect, in the same packet or in a later one', async () => {
    // The gateway answers an ambiguous request only after the whole packet is parsed (`refuseAmbiguous` in
    // src/gateway/handler.ts). If the packet also has the next request, uWebSockets.js closes the connection
    // before this answer.
    const together = new RawConnection(under.port).write(`${ambiguous}${REBOOT_LINE}${OWN_HOST}\r\n`);
    assert.equal(await together.untilClosed(), '');

    const separate = new RawConnection(under.port).write(ambiguous);
    const hasWholeProblem = (text: string): boolean => text.includes('}');
    await separate.until(hasWholeProblem);
    const answers = await separate.write(`${REBOOT_LINE}${OWN_HOST}\r\n`).untilClosed();
    assert.match(answers, /^HTTP\/1\.1 400 /);
    assert.equal(answerCount(answers), 1);
    assert.deepEqual(under.backends.requests, []);
  });

  const FOREIGN_HOST = 'Host: evil.example\r\n';
  for (const method of ['GET', 'HEAD', 'OPTIONS'])
    for (const hosts of [OWN_HOST + FOREIGN_HOST, FOREIGN_HOST + OWN_HOST, OWN_HOST + OWN_HOST])
      test(`a ${method} with ${JSON.stringify(hosts)} gets 400`, async () =>
        assert.equal(await statusOf(under.port, `${method} /audio HTTP/1.1\r\n${hosts}\r\n`), 400));
});
