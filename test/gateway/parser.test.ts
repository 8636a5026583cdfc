// Tests how the parser of uWebSockets.js treats malformed heads of requests, and which `Host` headers are
// refused. The newer parser answers each malformed head with an error. The parser for older C libraries
// answers none of them, and closes the connection after 9 to 12 s (docs/development/what-we-learnt.md,
// "uWebSockets.js"). Neither parser passes a malformed request on.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';

interface Natives {
  hasNative(node: number, arch: string, glibc: string | undefined): boolean;
  thisGlibc(): string | undefined;
}

// build/test/gateway/parser.test.js -> the project's root
const natives: Natives = await import(new URL('../../../packaging/natives.mjs', import.meta.url).href);
/**
 * Only the newer parser has a binary for Node.js 24. So the question is only whether the C library of this
 * machine can load the newer parser. If it can, every version of Node.js uses this parser.
 */
const isNewerParser = natives.hasNative(24, process.arch, natives.thisGlibc());

const REQUEST_LINE = 'POST /power/reboot HTTP/1.1\r\n';
const HEADS: readonly (readonly [what: string, head: string])[] = [
  ['without any header', `${REQUEST_LINE}\r\n`],
  ['with a lone line feed', `${REQUEST_LINE}Host: 127.0.0.1\nAccept: x\r\n\r\n`],
  ['with a blank before the colon', `${REQUEST_LINE}Host : 127.0.0.1\r\n\r\n`],
];

const under = GatewayUnderTest.up(SETTINGS).closeAtEndOf({ after });

describe('a malformed head', { concurrency: true }, () => {
  for (const [what, head] of HEADS)
    test(`a head ${what} is ${isNewerParser ? 'answered with 400' : 'never answered'}, and its connection is closed`, async () => {
      const received = await new RawConnection(under.port).write(head).untilClosed();
      assert.match(received, isNewerParser ? /^HTTP\/1\.1 400 / : /^$/);
      assert.deepEqual(under.backends.requests, []);
    });
});

const TYPE_FOR_TWO_HOSTS = isNewerParser ? undefined : 'urn:tonearm:problem:bad-request';
/** `type` is the type of the gateway's problem. It is undefined if the parser itself answers, with HTML. */
const HOSTS: readonly (readonly [what: string, lines: string, status: number, type: string | undefined])[] = [
  ['without `Host`', 'Accept: */*\r\n', 400, undefined],
  ['with two `Host`', 'Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n', 400, TYPE_FOR_TWO_HOSTS],
  ['with an empty `Host`', 'Host:\r\n', 403, 'urn:tonearm:problem:foreign-host'],
];

describe('the `Host` headers of a request', { concurrency: true }, () => {
  for (const [what, lines, status, type] of HOSTS)
    test(`a request ${what} is answered with ${status} and ${type ?? 'a line of HTML'}`, async () => {
      const request = `GET /server HTTP/1.1\r\n${lines}\r\n`;
      const connection = new RawConnection(under.port).write(request);
      // A problem ends with `}`, and HTML ends with `>`.
      const received = await connection.until((text) => /[}>]$/.test(text));
      connection.destroy();
      assert.match(received, new RegExp(`^HTTP/1\\.1 ${status} `));
      const [, body = ''] = received.split('\r\n\r\n');
      if (type === undefined) assert.match(body, /^<h1>/);
      else assert.equal(JSON.parse(body).type, type);
    });
});
