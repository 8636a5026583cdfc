// Tests `audio.level` of the shipped build on real sound servers (docs/events.md, "Levels"): the level is
// correct, and no output is woken for it. While nobody listens, nothing is measured or left behind. In
// actors/audio, levels.test.ts and meters.test.ts test outputs that sleep and servers that end.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { EventData } from '../../src/client/client.js';
import type { EventConsumer } from '../consumer/consumer.js';
import type { Playing, SoundServer } from '../sound/server.js';
import { toneFile } from '../sound/tone.js';
import { until } from '../until.js';
import { onEachSoundServer } from './audio-node.js';

const WITH_LEVELS = '?types=audio.level,backend.updated';
const ROUNDS = 4;
const STREAMS_PER_ROUND = 10;
/** The peaks of the left and the right channel of `playTone`. */
const TONE_PEAKS: readonly [left: number, right: number] = [0.5, 0.25];
/** A level may differ by this much, because the sine passes the resamplers of the sound server. */
const TOLERANCE = 0.02;

const isNear = (value: number | undefined, expected: number): boolean =>
  value !== undefined && Math.abs(value - expected) < TOLERANCE;

async function untilLevel(stream: EventConsumer, output: number, ...peak: readonly number[]): Promise<void> {
  const isReached = ({ model }: EventConsumer): boolean => {
    const level = model.known.levels.get(output);
    return level?.length === peak.length && peak.every((expected, at) => isNear(level[at], expected));
  };
  await stream.until(isReached, `the level ${peak.join(', ')} of output ${output}`);
}

/** How many streams capture an output's monitor or an input at the sound server. */
const countCaptures = async (sound: SoundServer): Promise<number> =>
  (await sound.pactl('list', 'short', 'source-outputs')).split('\n').length - 1;

const untilCaptureCount = (sound: SoundServer, count: number): Promise<boolean> =>
  until(`${count} streams capture at the sound server`, async () => (await countCaptures(sound)) === count);

onEachSoundServer('the level of an output', (node) => {
  /** Opens a stream that is closed when the test ends, however it ends. */
  async function openStream(t: TestContext, query = WITH_LEVELS): Promise<EventConsumer> {
    const stream = await node().daemon.events(query);
    t.after(() => stream.close());
    return stream;
  }

  async function playTone(t: TestContext, sink: string): Promise<Playing> {
    const { sound } = node();
    const playing = await sound.play({ sink, samples: toneFile(sound.directory, TONE_PEAKS) });
    t.after(() => playing.stop().catch(() => undefined));
    return playing;
  }

  test('an output that plays nothing has level 0, and is not woken', async (t) => {
    const { sound } = node();
    const readStates = async () => (await sound.pactl('list', 'short', 'sinks')).match(/\S+$/gm);
    await until('the outputs sleep', async () => !(await readStates())?.includes('RUNNING'));
    const statesBefore = await readStates();
    const stream = await openStream(t);
    for (const name of ['living', 'kitchen']) await untilLevel(stream, (await node().output(name)).id, 0, 0);
    assert.equal(await countCaptures(node().sound), 0);
    // One change is allowed: PipeWire suspends an idle output after some seconds.
    const statesAfter = await readStates();
    const isUnchangedOrSuspended = (stateBefore: string, at: number): boolean =>
      statesAfter?.[at] === stateBefore || statesAfter?.[at] === 'SUSPENDED';
    assert.ok(statesBefore?.every(isUnchangedOrSuspended), `${statesBefore} has become ${statesAfter}`);
  });

  test('the level of an output shows what plays to it, and not what plays to another output', async (t) => {
    const { sound } = node();
    const living = await node().output('living');
    const kitchen = await node().output('kitchen');
    const stream = await openStream(t);
    const playing = await playTone(t, 'living');
    await untilLevel(stream, living.id, ...TONE_PEAKS);
    assert.deepEqual(stream.model.known.levels.get(kitchen.id), [0, 0]);
    // An output is captured only while a stream plays to it.
    await untilCaptureCount(sound, 1);

    await sound.pactl('set-sink-input-mute', `${playing.id}`, '1');
    await untilLevel(stream, living.id, 0, 0);
    await sound.pactl('set-sink-input-mute', `${playing.id}`, '0');
    await untilLevel(stream, living.id, ...TONE_PEAKS);

    const move = () => sound.pactl('move-sink-input', `${playing.id}`, 'kitchen');
    await node().untilMoved(playing.id, 'kitchen', move);
    await untilLevel(stream, kitchen.id, ...TONE_PEAKS);
    await untilLevel(stream, living.id, 0, 0);
    await untilCaptureCount(sound, 1);

    const eventCountBefore = stream.events.length;
    const silence = await sound.play({ sink: 'living' });
    await untilCaptureCount(sound, 2);
    await playing.stop();
    await untilLevel(stream, kitchen.id, 0, 0);
    await untilLevel(stream, living.id, 0, 0);
    // `living` played only the silent stream, so its level was 0, also while the tone played to the kitchen.
    const levelsOfLiving = stream.events
      .slice(eventCountBefore)
      .filter(({ type }) => type === 'audio.level')
      .flatMap(({ data }) => (JSON.parse(data) as EventData['audio.level']).outputs)
      .filter(({ id }) => id === living.id);
    assert.ok(levelsOfLiving.every(({ peak }) => peak.every((value) => isNear(value, 0))));
    await untilCaptureCount(sound, 1);
    await silence.stop();
    await untilCaptureCount(sound, 0);
    // A level has no id (docs/events.md, "Ids").
    const levels = stream.events.filter(({ type }) => type === 'audio.level');
    assert.ok(levels.every(({ lastEventId }) => lastEventId === ''));
  });

  test('the level of an input is measured only while another program captures the input', async (t) => {
    const { sound, daemon } = node();
    // The input has the sound that `living` plays.
    await sound.addInput('turntable', 'living');
    t.after(() => sound.removeInput('turntable').catch(() => undefined));
    const id = await until('the input is published', async () => {
      const inputs = await daemon.read<readonly { id: number; name: string }[]>('/audio/inputs');
      return inputs.find(({ name }) => name === 'turntable')?.id;
    });
    const stream = await openStream(t);
    await playTone(t, 'living');
    await untilLevel(stream, (await node().output('living')).id, ...TONE_PEAKS);
    assert.deepEqual([...stream.model.known.inputLevels], []);
    const capturesBefore = await countCaptures(sound);
    const program = await sound.capture('turntable');
    t.after(() => program.stop());
    await stream.until(({ model }) => {
      const [left, right] = model.known.inputLevels.get(id) ?? [];
      return isNear(left, TONE_PEAKS[0]) && isNear(right, TONE_PEAKS[1]);
    }, 'the level of the input');
    await program.stop();
    await stream.until(({ model }) => !model.known.inputLevels.has(id), 'the input has no level');
    // If the daemon still captured the input, the input could not sleep.
    await untilCaptureCount(sound, capturesBefore);
  });

  test(`levels are measured only for streams that request them, and ${ROUNDS * STREAMS_PER_ROUND} such streams leave nothing behind`, async (t) => {
    const { id } = await node().output('living');
    await playTone(t, 'living');
    const withoutLevels = ['', '?backend=audio', '?exclude=power.action'];
    const others = await Promise.all(withoutLevels.map((query) => openStream(t, query)));
    await node().untilAudio('the client is published', ({ clients }) => clients.length > 0);
    assert.equal(await countCaptures(node().sound), 0);
    for (let round = 0; round < ROUNDS; round += 1) {
      const streams = await Promise.all(Array.from({ length: STREAMS_PER_ROUND }, () => openStream(t)));
      // In every second round, the streams are closed at once, and may have received nothing.
      const areClosedAtOnce = round % 2 === 1;
      if (!areClosedAtOnce) await Promise.all(streams.map((stream) => untilLevel(stream, id, ...TONE_PEAKS)));
      for (const stream of streams) stream.close();
    }
    await untilCaptureCount(node().sound, 0);
    assert.ok(others.every(({ events }) => events.every(({ type }) => type !== 'audio.level')));
  });
});
