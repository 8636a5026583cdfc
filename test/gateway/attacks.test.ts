// Requests that could be read in two ways, over real HTTP: what is refused is refused before any effect. What pages of other sites may
// do is tried on the built daemon (test/contract/trust.test.ts).

import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection, statusOf } from './raw-connection.js';

const under = GatewayUnderTest.up({
  ...SETTINGS,
  api: { ...SETTINGS.api, hosts: ['radio.lan'], cors: { origins: ['http://app.lan'] } },
});
after(() => under.close());
beforeEach(() => {
  under.backends.asked.length = 0;
});

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
