// The 64 listeners of a node, on the built daemon and a real sound server: each receives every event, once
// and in order. Other consumers never read, and these delay nobody and cost little memory (docs/events.md,
// "Slow readers"). bench/fanout.ts has a thousand of each kind.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventConsumer } from '../consumer/consumer.js';
import { RawConnection } from '../gateway/raw-connection.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { type Output, startAudio } from './audio-node.js';
import { Mixer } from './stream-mixer.js';

const LISTENER_COUNT = 64;
const NON_READER_COUNT = 16;
/** Only changes of outputs, so that no other events are mixed with them. */
const OUTPUTS_ONLY = '?types=audio.output.updated';
/**
 * A record with these properties has about 120 kB, so that few events fill the 4 MB that the kernel takes
 * for each consumer.
 */
const BIG_PROPS = Object.fromEntries(Array.from({ length: 120 }, (_, at) => [`big.${at}`, 'x'.repeat(1000)]));
const BIG_CLIENTS = 16;
/**
 * The most memory that the daemon may take for the consumers that never read. For each of them, it keeps
 * only the portion that it had begun to send (64 to 256 kB). Queued events would need hundreds of MB.
 */
const GROWTH_MAX_MB = 64;

const idsOf = ({ events }: EventConsumer): readonly string[] =>
  events.filter(({ type }) => type === 'audio.output.updated').map(({ lastEventId }) => lastEventId);
const skip = skipReason({ programs: ['pulseaudio', 'pactl'] });

test(`${LISTENER_COUNT} listeners get each event once, and ${NON_READER_COUNT} that never read are closed and counted as slow`, {
  skip,
}, async (t) => {
  const { sound, daemon } = await startAudio(t);
  const mixer = await Mixer.connect(sound.socketPath);
  t.after(() => mixer.close());
  const [living = assert.fail('there is no output')] = await daemon.read<Output[]>('/audio/outputs');
  const listeners = await Promise.all(
    Array.from({ length: LISTENER_COUNT }, () => daemon.events(OUTPUTS_ONLY)),
  );
  const player = await sound.streams('big');
  const bigClient = (at: number) => ({ sink: 'kitchen', props: { 'media.name': `big ${at}`, ...BIG_PROPS } });
  const clients = await player.open(Array.from({ length: BIG_CLIENTS }, (_, at) => bigClient(at)));
  const memoryBeforeMb = daemon.memoryMb;
  for (let count = 0; count < NON_READER_COUNT; count += 1) {
    const nonReader = new RawConnection(daemon.port).pause();
    nonReader.write('GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    t.after(() => nonReader.destroy());
  }
  await daemon.untilStreamsOpen(LISTENER_COUNT + NON_READER_COUNT);
  let rounds = 0;
  let memoryMaxMb = 0;
  await until('every consumer that never reads is closed', async () => {
    rounds += 1;
    const volume = 0.2 + (rounds % 50) / 100;
    // The changes of the big clients make the consumers that never read fall behind. The listeners get only
    // changes of outputs.
    await Promise.all(clients.map(({ id }) => mixer.setStreamVolume(id, volume)));
    await mixer.setSinkVolume(living.id, volume);
    memoryMaxMb = Math.max(memoryMaxMb, daemon.memoryMb);
    return (await daemon.health()).streams.closed_slow === NON_READER_COUNT;
  });
  await mixer.setSinkVolume(living.id, 1);
  for (const listener of listeners)
    await listener.until(({ model }) => model.known.outputs.get(living.id)?.volume === 1, 'the last change');
  const [first = [], ...others] = listeners.map(idsOf);
  // The daemon may report changes that follow each other closely in one event, so there may be fewer events
  // than rounds.
  assert.ok(first.length > rounds / 2, `${first.length} of ${rounds} changes came as events of their own`);
  assert.equal(new Set(first).size, first.length, 'no event comes twice');
  for (const ids of others) assert.deepEqual(ids, first, 'every event, once and in order');
  t.diagnostic(`${rounds} rounds; ${memoryBeforeMb} MB, at most ${memoryMaxMb} MB`);
  assert.ok(
    memoryMaxMb - memoryBeforeMb < GROWTH_MAX_MB,
    `${memoryBeforeMb} MB have become ${memoryMaxMb} MB`,
  );
});
