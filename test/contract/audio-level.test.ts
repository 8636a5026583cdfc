// Tests `audio.level` of the shipped build on real sound servers (docs/events.md, "Levels"): the level is
// correct, and the measurement wakes no output. While no stream requests levels, the daemon captures nothing.
// In actors/audio, levels.test.ts and meters.test.ts test outputs that sleep and servers that end.

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
/** A level may differ from the tone's peak by this much, because the sound server resamples the tone. */
const TOLERANCE = 0.02;

const isNear = (value: number | undefined, expected: number): boolean =>
  value !== undefined && Math.abs(value - expected) < TOLERANCE;

async function untilLevel(stream: EventConsumer, id: number, ...peaks: readonly number[]): Promise<void> {
  const isReached = ({ model }: EventConsumer): boolean => {
    const level = model.known.levels.get(id);
    return level?.length === peaks.length && peaks.every((expected, at) => isNear(level[at], expected));
  };
  await stream.until(isReached, `the level ${peaks.join(', ')} of output ${id}`);
}

/** The number of captures at the sound server: of inputs, and of the monitors of outputs. */
const countCaptures = async (sound: SoundServer): Promise<number> =>
  (await sound.pactl('list', 'short', 'source-outputs')).split('\n').length - 1;

const untilCaptureCount = (sound: SoundServer, count: number): Promise<boolean> =>
  until(`the sound server has ${count} captures`, async () => (await countCaptures(sound)) === count);

onEachSoundServer('the levels of outputs and inputs', (node) => {
  /** Opens a stream, and closes it when the test ends, even if the test fails. */
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

  test('an output that plays nothing has level 0, and the measurement does not wake it', async (t) => {
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
    // The daemon captures an output only while a client plays to it.
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
    // `living` played only silence, so its level was always 0, also while the tone played to `kitchen`.
    const levelsOfLiving = stream.events
      .slice(eventCountBefore)
      .filter(({ type }) => type === 'audio.level')
      .flatMap(({ data }) => (JSON.parse(data) as EventData['audio.level']).outputs)
      .filter(({ id }) => id === living.id);
    assert.ok(levelsOfLiving.every(({ peak }) => peak.every((value) => isNear(value, 0))));
    await untilCaptureCount(sound, 1);
    await silence.stop();
    await untilCaptureCount(sound, 0);
    // An event with levels has no id (docs/events.md, "Ids").
    const levelEvents = stream.events.filter(({ type }) => type === 'audio.level');
    assert.ok(levelEvents.every(({ lastEventId }) => lastEventId === ''));
  });

  test('an input gets a level when another program captures the input, and loses the level when the program ends', async (t) => {
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
    // A capture by the daemon would keep the input awake, so the daemon must end its capture, too.
    await untilCaptureCount(sound, capturesBefore);
  });

  test(`levels are measured only for streams that request them, and ${ROUNDS * STREAMS_PER_ROUND} such streams leave nothing behind`, async (t) => {
    const { id } = await node().output('living');
    await playTone(t, 'living');
    const queries = ['', '?backend=audio', '?exclude=power.action'];
    const streamsWithoutLevels = await Promise.all(queries.map((query) => openStream(t, query)));
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
    assert.ok(streamsWithoutLevels.every(({ events }) => events.every(({ type }) => type !== 'audio.level')));
  });
});
