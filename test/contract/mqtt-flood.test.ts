// A broker sends commands without end to the built daemon with a real sound server: all others are still served, and memory stays
// bounded. The broker is scripted, because no real one does so.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandsOfAllKinds, startFloodingBroker } from '../broker/flooding-broker.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { AUDIO_ONLY, type Output, startAudio } from './audio-node.js';

const T = 'house/living';
const MESSAGES = 150_000;
const REQUESTS = 100;
/** Room for messages on their way and garbage that V8 has not collected yet; if each message were kept, they would need 500 MB. */
const GROWTH_MAX_MB = 160;

const skip = lacks({ programs: ['pulseaudio', 'pactl'] });

test('during a flood from the broker requests and other commands work, streams continue, and memory is bounded', {
  skip,
}, async (t) => {
  const broker = await startFloodingBroker(commandsOfAllKinds(T));
  t.after(() => broker.stop());
  const config = `${AUDIO_ONLY}mqtt: {enabled: true, url: "${broker.url}", topic: ${T}}\n`;
  const { daemon } = await startAudio(t, { config });
  await daemon.backend('mqtt', 'up');
  const stream = await daemon.events('?types=audio.output.updated');
  const before = daemon.memoryMb;
  let most = 0;
  broker.flood();
  await until('a tenth of the flood is sent', () => broker.sent > MESSAGES / 10);
  for (let count = 0; count < REQUESTS; count += 1) {
    assert.equal((await daemon.get('/audio')).status, 200);
    assert.equal((await daemon.post('/audio/outputs/kitchen/mute', { muted: count % 2 === 0 })).status, 202);
    most = Math.max(most, daemon.memoryMb);
  }
  await until(
    'the flood is sent',
    () => {
      most = Math.max(most, daemon.memoryMb);
      return broker.sent > MESSAGES;
    },
    60_000,
  );
  broker.calm();
  t.diagnostic(`${broker.sent} messages; ${before} MB, at most ${most} MB`);
  assert.ok(most - before < GROWTH_MAX_MB, `${before} MB have become ${most} MB`);
  assert.equal(stream.ended, false);
  await daemon.post('/audio/outputs/kitchen/volume', { volume: 0.33 });
  await stream.until(
    ({ events }) =>
      events.some(({ data }) => (JSON.parse(data) as Output[]).some?.(({ volume }) => volume === 0.33)),
    'a change after the flood',
  );
  const { backends } = await daemon.health();
  assert.deepEqual([backends['mqtt']?.restarts, backends['audio']?.restarts], [0, 0]);
});
