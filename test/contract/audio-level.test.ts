// `audio.level` of the shipped build on real sound servers (contract, section 5): the level is the true one, and nothing is measured,
// woken or left behind for nobody.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventConsumer } from '../consumer/consumer.js';
import { startPulseAudio } from '../sound/servers.js';
import { toneFile } from '../sound/tone.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { AUDIO_ONLY, type AudioNode, onEachSoundServer } from './audio-node.js';
import { Daemon } from './daemon.js';

const LISTENING = '?types=audio.level,backend.updated';
const VISITS = 100;
const VISITS_AT_ONCE = 10;
/** Of a sine, through the servers' resamplers. */
const TOLERANCE = 0.02;

const isNear = (value: number | undefined, wanted: number): boolean =>
  value !== undefined && Math.abs(value - wanted) < TOLERANCE;

async function shows(stream: EventConsumer, output: number, ...peak: readonly number[]): Promise<void> {
  await stream.until(
    ({ model }) => {
      const level = model.levels.get(output);
      return level?.length === peak.length && peak.every((wanted, channel) => isNear(level[channel], wanted));
    },
    `the level ${peak.join(', ')} of output ${output}`,
  );
}

/** What the server captures. */
const captures = async (node: AudioNode): Promise<number> =>
  (await node.sound.pactl('list', 'short', 'source-outputs')).split('\n').filter((line) => line !== '')
    .length;

const captured = (node: AudioNode, count: number): Promise<boolean> =>
  until(`${count} monitors are captured`, async () => (await captures(node)) === count);

onEachSoundServer('the level of an output', (node, kind) => {
  const tone = () => toneFile(node().sound.directory, [0.5, 0.25]);

  test('that plays nothing is 0, and it is not woken', async () => {
    const { sound, daemon } = node();
    const states = async () => (await sound.pactl('list', 'short', 'sinks')).match(/\S+$/gm);
    await until('the outputs rest', async () => !(await states())?.includes('RUNNING'));
    const resting = await states();
    const stream = await daemon.events(LISTENING);
    for (const name of ['living', 'kitchen']) await shows(stream, (await node().output(name)).id, 0, 0);
    // Twice, with a change between: whatever would wake them had its time.
    await sound.pactl('set-sink-mute', 'kitchen', 'toggle');
    await sound.pactl('set-sink-mute', 'kitchen', 'toggle');
    assert.equal(await captures(node()), 0);
    assert.deepEqual(await states(), resting);
    stream.close();
  });

  test('follows what plays to it, and leaves the other alone', async () => {
    const { sound, daemon } = node();
    const [living, kitchen] = [await node().output('living'), await node().output('kitchen')];
    const stream = await daemon.events(LISTENING);
    const playing = await sound.play({ sink: 'living', samples: tone() });
    await shows(stream, living.id, 0.5, 0.25);
    assert.deepEqual(stream.model.levels.get(kitchen.id), [0, 0]);
    await captured(node(), 1);
    await sound.pactl('set-sink-input-mute', `${playing.id}`, '1');
    await shows(stream, living.id, 0, 0);
    await sound.pactl('set-sink-input-mute', `${playing.id}`, '0');
    await shows(stream, living.id, 0.5, 0.25);
    await node().moves(playing.id, 'kitchen', () =>
      sound.pactl('move-sink-input', `${playing.id}`, 'kitchen'),
    );
    await shows(stream, kitchen.id, 0.5, 0.25);
    await shows(stream, living.id, 0, 0);
    await captured(node(), 1);
    const silence = await sound.play({ sink: 'living' });
    await captured(node(), 2);
    assert.deepEqual(stream.model.levels.get(living.id), [0, 0]);
    await playing.stop();
    await shows(stream, kitchen.id, 0, 0);
    await captured(node(), 1);
    await silence.stop();
    await captured(node(), 0);
    assert.ok(stream.events.every(({ type, lastEventId }) => type !== 'audio.level' || lastEventId === ''));
    stream.close();
  });

  test('that is put to sleep is 0, and true again when it is woken', async () => {
    const { sound, daemon } = node();
    const { id } = await node().output('living');
    const playing = await sound.play({ sink: 'living', samples: tone() });
    const stream = await daemon.events(LISTENING);
    await shows(stream, id, 0.5, 0.25);
    await sound.pactl('suspend-sink', 'living', '1');
    // PipeWire does not let sleep what somebody plays to.
    if (kind === 'pulseaudio') await shows(stream, id, 0, 0);
    await sound.pactl('suspend-sink', 'living', '0');
    await shows(stream, id, 0.5, 0.25);
    await playing.stop();
    stream.close();
  });

  test('of a client that is corked is 0, and nothing is captured', async () => {
    const { sound, daemon } = node();
    const client = await sound.streams('corking');
    const [quiet] = await client.open([{ sink: 'living', corked: false }]);
    assert.ok(quiet);
    const stream = await daemon.events(LISTENING);
    await captured(node(), 1);
    await quiet.cork(true);
    await captured(node(), 0);
    await shows(stream, (await node().output('living')).id, 0, 0);
    await quiet.cork(false);
    await captured(node(), 1);
    await client.close();
    await captured(node(), 0);
    stream.close();
  });

  test('of an output that comes and goes is told while it is there', async () => {
    const { sound, daemon } = node();
    const stream = await daemon.events(LISTENING);
    await sound.addSink('garden');
    const { id } = await until('it is published', () =>
      node()
        .output('garden')
        .catch(() => undefined),
    );
    await shows(stream, id, 0, 0);
    const playing = await sound.play({ sink: 'garden', samples: tone() });
    await shows(stream, id, 0.5, 0.25);
    await sound.removeSink('garden');
    await stream.until(({ model }) => !model.levels.has(id), 'its end');
    await playing.stop();
    await captured(node(), 0);
    stream.close();
  });

  test(`is measured for those who ask for it only, and ${VISITS} visits leave nothing behind`, async () => {
    const { sound, daemon } = node();
    const { id } = await node().output('living');
    const playing = await sound.play({ sink: 'living', samples: tone() });
    const others = await Promise.all(
      ['', '?backend=audio', '?exclude=power.action'].map((query) => daemon.events(query)),
    );
    await node().settles('the client is published', ({ clients }) => clients.length === 1);
    assert.equal(await captures(node()), 0);
    for (let visits = 0; visits < VISITS; visits += VISITS_AT_ONCE) {
      const streams = await Promise.all(
        Array.from({ length: VISITS_AT_ONCE }, () => daemon.events(LISTENING)),
      );
      // Some leave before they have been told anything.
      if (visits % 20 === 0) await Promise.all(streams.map((stream) => shows(stream, id, 0.5, 0.25)));
      for (const stream of streams) stream.close();
    }
    await captured(node(), 0);
    assert.ok(others.every(({ events }) => events.every(({ type }) => type !== 'audio.level')));
    for (const other of others) other.close();
    await playing.stop();
  });

  test('is told again when the sound server is back', async () => {
    const { sound, daemon } = node();
    const stream = await daemon.events(LISTENING);
    const playing = await sound.play({ sink: 'living', samples: tone() });
    await shows(stream, (await node().output('living')).id, 0.5, 0.25);
    await sound.kill('SIGKILL');
    await stream.until(({ model }) => model.levels.size === 0, 'that nothing is known');
    await playing.stop().catch(() => undefined);
    await sound.restart();
    await daemon.backend('audio', 'up');
    await sound.play({ sink: 'kitchen', samples: tone() });
    const { id } = await until('it is published', () =>
      node()
        .output('kitchen')
        .catch(() => undefined),
    );
    await shows(stream, id, 0.5, 0.25);
    stream.close();
    await captured(node(), 0);
  });
});

test('the next audio thread is told that somebody listens', {
  skip: lacks({ programs: ['pulseaudio', 'pactl', 'pacat'] }),
}, async () => {
  const sound = await startPulseAudio();
  const preload = new URL('./saboteur.js', import.meta.url);
  const daemon = await Daemon.start({
    env: sound.env,
    config: AUDIO_ONLY,
    nodeArguments: [`--import=${preload.href}`],
  });
  try {
    await daemon.backend('audio', 'up');
    const outputs = await daemon.read<readonly { id: number; name: string }[]>('/audio/outputs');
    const id = outputs.find(({ name }) => name === 'living')?.id ?? -1;
    await sound.play({ sink: 'living', samples: toneFile(sound.directory, [0.5, 0.25]) });
    const stream = await daemon.events(LISTENING);
    await shows(stream, id, 0.5, 0.25);
    daemon.signal('SIGWINCH');
    await stream.until(({ events }) => events.some(({ data }) => /"restarting"/.test(data)), 'a restart');
    const before = stream.events.length;
    await stream.until(
      ({ events }) => events.slice(before).some(({ data }) => data.includes('"peak":[0.5,0.25]')),
      'the level from another thread',
    );
    stream.close();
    await until(
      'nothing is captured',
      async () => (await sound.pactl('list', 'short', 'source-outputs')) === '',
    );
  } finally {
    await daemon.stop();
    await sound.stop();
  }
});
