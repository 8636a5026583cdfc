// Defects inside the gateway, on real connections: a reply that cannot be written, a stream that fails. The client gets an
// error or is cut off, the log names the defect, and the process continues.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../manual-clock.js';
import { until } from '../until.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';

/** uWebSockets.js throws when it gets this value. The types forbid it, so only a defect can lead to it. */
const UNWRITABLE = {} as never;

const DEFECTS: readonly (readonly [what: string, path: string, make: (under: GatewayUnderTest) => void])[] = [
  [
    'a response that cannot be written after a backend has answered',
    '/audio/cookie',
    ({ backends }) => {
      backends.answer = { ok: true, bytes: UNWRITABLE };
    },
  ],
  [
    'a stream that fails after its beginning',
    '/events?snapshot=1',
    ({ gateway }) =>
      gateway.listener.changes([{ kind: 'put', collection: 'backends', key: 'audio', json: '{' }]),
  ],
];
for (const [what, path, make] of DEFECTS) {
  test(`${what} ends its connection, and nothing else`, async (context) => {
    const under = GatewayUnderTest.up().within(context);
    make(under);
    const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    for (const _ of [1, 2]) await new RawConnection(under.port).write(head).closed();
    assert.deepEqual(under.logged, Array(2).fill('error a request failed inside the gateway'));
    assert.equal((await under.fetch({ path: '/health' })).status, 200);
    // The hub waits for such a stream as long as it may.
    await under.gateway.close(100);
  });
}

test('a body that does not arrive in time is refused, and the connection ends', async (context) => {
  const clock = new ManualClock();
  const under = GatewayUnderTest.up(SETTINGS, undefined, clock).within(context);
  const head = 'POST /audio/server/mute HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n';
  const connection = new RawConnection(under.port).write(`${head}{"mu`);
  await until('the body is waited for', () => clock.timers === 1);
  clock.advance(10_000);
  assert.match(await connection.closed(), /^HTTP\/1\.1 400 [\s\S]*did not arrive in time/);
  assert.deepEqual(under.backends.asked, []);
  assert.equal((await under.fetch({ path: '/health' })).status, 200);
});
