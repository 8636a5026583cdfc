// Heads of requests that are malformed, as the parser of uWebSockets.js takes them: the newer one answers
// each with an error. The older one, for older C libraries, answers none of these, and ends the connection
// after its own time. Neither passes one on.

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
/** Only the newer one has a binary for Node 24, and where it has one, it is taken for each Node. */
const isNewer = natives.hasNative(24, process.arch, natives.thisGlibc());

const START = 'POST /power/reboot HTTP/1.1\r\n';
const HEADS: readonly (readonly [what: string, head: string])[] = [
  ['without any header', `${START}\r\n`],
  ['with a lone line feed', `${START}Host: 127.0.0.1\nAccept: x\r\n\r\n`],
  ['with a blank before the colon', `${START}Host : 127.0.0.1\r\n\r\n`],
];

const under = GatewayUnderTest.up(SETTINGS).within({ after });

describe('a malformed head', { concurrency: true }, () => {
  for (const [what, head] of HEADS)
    test(`${what} is ${isNewer ? '400' : 'never answered'}, and its connection is closed`, async () => {
      const received = await new RawConnection(under.port).write(head).closed();
      assert.match(received, isNewer ? /^HTTP\/1\.1 400 / : /^$/);
      assert.deepEqual(under.backends.requests, []);
    });
});
