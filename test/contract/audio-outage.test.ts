// The sound server dies, freezes or restarts: the daemon stays up, reports it, and comes back by itself with the true state
// (docs/http-api.md, "Backends that are away"). One that appears later: actors/audio/backend.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onEachSoundServer } from './audio-node.js';
import type { Daemon } from './daemon.js';

async function isAway(daemon: Daemon): Promise<void> {
  for (const path of ['/audio', '/audio/server', '/audio/outputs', '/audio/clients']) {
    const answer = await daemon.get(path);
    assert.equal(answer.status, 503, path);
    assert.match(String(answer.headers['retry-after']), /^\d+$/);
  }
  assert.equal((await daemon.post('/audio/server/mute')).status, 503);
  assert.equal((await daemon.get('/server')).status, 200);
  assert.equal((await daemon.get('/health')).status, 200);
}

onEachSoundServer('outages', (node) => {
  test('a sound server that is killed: removals, 503, and its state after its return', async () => {
    await node().sound.play({ name: 'a song' });
    await node().settles('the stream', ({ clients }) => clients.length === 1);
    await node().streamTellsTheTruth();
    const seen = node().mark();
    await node().sound.kill('SIGKILL');
    await node().daemon.backend('audio', 'connecting');
    await isAway(node().daemon);
    await node().stream.until(({ model }) => model.held.outputs.size === 0 && model.held.clients.size === 0);
    const removed = seen().map(({ type }) => type);
    assert.equal(removed.filter((type) => type === 'audio.removed').length, 1);
    assert.equal(removed.filter((type) => type === 'audio.output.removed').length, 1);
    await node().sound.restart();
    await node().daemon.backend('audio', 'up');
    await node().settles('outputs', ({ outputs }) => outputs.length === 2);
    await node().streamTellsTheTruth();
  });

  test('a sound server that hangs: 504 within the deadline, then 503; back when it continues', async () => {
    node().sound.freeze();
    const answer = await node().daemon.post('/audio/outputs/living/volume', { volume: 0.9 });
    assert.equal(answer.status, 504);
    await node().daemon.backend('audio', 'connecting');
    await isAway(node().daemon);
    node().sound.thaw();
    await node().daemon.backend('audio', 'up');
    await node().settles('outputs', ({ outputs }) => outputs.length === 2);
    await node().streamTellsTheTruth();
  });
});
