// Tests that the gateway takes other settings while it serves (docs/configuration.md, "Reloading"). It
// forgets the records of children that begin anew, and open event streams lose these records, too.
// test/contract/reload.test.ts does the same with real children.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChildName } from '../../src/protocol/actor/backends.js';
import { EventConsumer } from '../consumer/consumer.js';
import { ManualClock } from '../manual-clock.js';
import { until } from '../until.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { put, sink } from './scripted-backends.js';

/** The addresses stay the same in all settings. */
const bind = ['127.0.0.1'];
/** The children whose threads have been stopped before the reload. */
const STOPPED: readonly ChildName[] = ['systemd'];
const NONE_STOPPED: readonly ChildName[] = [];
const SERVICE = { scope: 'user', running: true, enabled: true, exists: true };
const unit = (name: string) => put('systemd.services', `user/${name}`, { ...SERVICE, name });

test('a child that is started anew loses its old records, health and answers', async (t) => {
  const under = GatewayUnderTest.up().closeAtEndOf(t);
  const { listener } = under.gateway;
  listener.changes([unit('old.service'), unit('kept.service'), put('audio.outputs', '0', sink(0))]);
  const stream = await EventConsumer.open(`http://127.0.0.1:${under.port}/events?snapshot=1`);
  await stream.until(({ events }) => events.some(({ type }) => type === 'audio.output.updated'));
  const eventsBefore = stream.events.length;
  const outputs = await under.json('/audio/outputs');

  under.gateway.reconfigure({ ...SETTINGS, bind }, STOPPED);
  // The new child is not up yet. The answer waits for it, and must not have the old records.
  const answerOfNewChild = under.json('/services');
  listener.changes([unit('kept.service')]);
  listener.health('systemd', { state: 'up', since: 1, restarts: 0 });
  assert.deepEqual(await answerOfNewChild, [{ ...SERVICE, name: 'kept.service' }]);
  assert.deepEqual(await under.json('/audio/outputs'), outputs);
  await until('the stream has a snapshot without the old unit', () => {
    const updates = stream.events.slice(eventsBefore).filter(({ type }) => type === 'service.updated');
    return updates.length > 0 && updates.every(({ data }) => data.includes('kept.service'));
  });
  stream.close();
});

test('a disabled child is in no answer any more, and a request that waits for it ends', async (t) => {
  const under = new GatewayUnderTest().closeAtEndOf(t);
  // No backend is up in this test, so the answer to this request waits for the first report of systemd.
  const waiting = under.fetch({ path: '/services' });
  // The gateway has read the first request when it answers a later one.
  await under.fetch({ path: '/health' });

  const systemd = { ...SETTINGS.systemd, enabled: false };
  under.gateway.reconfigure({ ...SETTINGS, systemd, bind }, STOPPED);
  assert.equal((await waiting).status, 503);
  assert.equal((await under.fetch({ path: '/services/user/a.service/start', method: 'POST' })).status, 404);
  const { backends } = (await under.json('/health')) as { backends: object };
  assert.ok(!('systemd' in backends), 'the disabled backend is left out');
  assert.ok('audio' in backends, 'the others stay');
});

test('the answers of /openapi.json and /server have the time of the reload that has changed them', async (t) => {
  const clock = new ManualClock();
  const under = new GatewayUnderTest({ clock }).closeAtEndOf(t);
  const updatedAt = async (path: string) => (await under.fetch({ path })).headers['x-cache-updated-at'];
  const startedAt = new Date(clock.date()).toISOString();
  assert.equal(await updatedAt('/openapi.json'), startedAt);

  clock.advance(5000);
  const systemd = { ...SETTINGS.systemd, enabled: false };
  under.gateway.reconfigure({ ...SETTINGS, systemd, bind }, STOPPED);
  const reloadedAt = new Date(clock.date()).toISOString();
  assert.notEqual(reloadedAt, startedAt);
  clock.advance(5000);
  assert.equal(await updatedAt('/openapi.json'), reloadedAt);
  // The time is that of the reload, although nobody has requested this answer before.
  assert.equal(await updatedAt('/server'), reloadedAt);

  // A reload that does not change the document does not change its time.
  under.gateway.reconfigure({ ...SETTINGS, systemd, bind }, NONE_STOPPED);
  assert.equal(await updatedAt('/openapi.json'), reloadedAt);
});

test('a closed gateway ignores new settings', async () => {
  const under = GatewayUnderTest.up();
  await under.close();
  under.gateway.reconfigure({ ...SETTINGS, bind }, NONE_STOPPED);
  await assert.rejects(under.fetch({ path: '/server' }), /ECONNREFUSED/);
});
