// The seats of streams (docs/events.md, "Query"), on the built daemon. Texts that try to break the framing: gateway/events/encode.test.ts.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, NO_BACKENDS } from './daemon.js';

describe('a stream without any backend', () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await Daemon.start({ config: NO_BACKENDS, api: 'sse: {maxClients: 3}' });
  });
  after(() => daemon.stop());

  test('beyond api.sse.maxClients streams are 503 with Retry-After, until one ends', async () => {
    const seated = await Promise.all(Array.from({ length: 3 }, () => daemon.events()));
    for (let round = 0; round < 2; round += 1) {
      const refused = await daemon.get('/events');
      assert.equal(refused.status, 503);
      assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/);
      assert.equal(refused.headers['content-type'], 'application/problem+json');
      assert.equal((await daemon.get('/server')).status, 200, 'only streams are full');
      const left = seated.shift();
      left?.close();
      await daemon.openStreams(2);
      const next = await daemon.events();
      assert.equal(next.status, 200);
      seated.push(next);
    }
    for (const stream of seated) stream.close();
    await daemon.openStreams(0);
  });

  test('a stream that is refused, requested by HEAD or badly requested does not count', async () => {
    for (const query of ['?keepalive=9', '?exclude=server.info']) {
      assert.equal((await daemon.get(`/events${query}`)).status, 400);
      assert.equal((await daemon.send('HEAD', `/events${query}`)).status, 400);
    }
    const head = await daemon.send('HEAD', '/events');
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
    assert.equal(head.headers['content-type'], 'text/event-stream');
    assert.equal(head.headers['cache-control'], 'no-cache');
    assert.equal(head.headers['x-accel-buffering'], 'no');
    await daemon.openStreams(0);
  });
});
