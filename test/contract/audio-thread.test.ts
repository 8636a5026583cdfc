// The audio actor's thread ends or hangs in the shipped build: no other part is affected, and the actor comes back with the true
// state (docs/http-api.md, "Backends that are away").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SOUND_SERVERS } from '../sound/servers.js';
import type { StreamClient } from '../sound/streams.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { type Client, startAudio } from './audio-node.js';
import { SABOTEUR } from './daemon.js';

/** A ping each 30 s, 10 s for the answer (docs/development/parts.md, "The supervisor"), and room for a busy machine. */
const HUNG_DEADLINE_MS = 90_000;
/** The shown length of a text in bytes, as in text-cache.ts. */
const SHOWN_BYTES = 1024;
/** With two texts of 60 000 bytes each, the list of these streams has 16 MiB. */
const HUGE_STREAMS = 136;
/** Streams on each output, and the size in bytes of each of their 110 properties: a list of 18 MB. PipeWire creates a few sooner. */
const WIDE_STREAMS = { pulseaudio: [80, 1000], pipewire: [20, 4000] } as const;
/** The daemon's memory may grow by this much, in MB. */
const GROWTH_MAX_MB = 100;

const skip = lacks({ programs: ['pulseaudio', 'pactl'] });

for (const [what, signal] of [
  ['ends', 'SIGWINCH'],
  ['hangs', 'SIGUSR2'],
] as const) {
  test(`the audio thread ${what}`, { skip }, async (t) => {
    const { sound, daemon } = await startAudio(t, { nodeArguments: SABOTEUR });
    const stream = await daemon.events('?snapshot=1');
    await stream.until(({ model }) => model.outputs.size === 2);
    daemon.signal(signal);
    // This change comes while no part of the daemon is connected to the sound server.
    await sound.pactl('set-sink-volume', 'living', '13%');
    await stream.until(
      ({ events }) => events.some(({ data }) => /"restarting"/.test(data)),
      'a restart',
      HUNG_DEADLINE_MS,
    );
    assert.equal((await daemon.get('/server')).status, 200);
    await daemon.backend('audio', 'up');
    assert.equal((await daemon.health()).backends['audio']?.restarts, 1);
    await stream.until(({ model }) => [...model.outputs.values()].some(({ volume }) => volume === 0.13));
    assert.equal(stream.ended, false, 'the stream outlives the thread');
  });
}

test("streams with huge texts do not take all of the audio thread's memory", { skip }, async (t) => {
  const { sound, daemon } = await startAudio(t);
  // One character beyond Latin-1 makes V8 keep the whole text with two bytes per character.
  const huge = `🎵${'x'.repeat(60_000)}`;
  const client = await sound.streams('huge');
  const streams = await client.open(
    Array.from({ length: HUGE_STREAMS }, () => ({
      sink: 'living',
      props: { 'huge.one': huge, 'huge.two': huge },
    })),
  );
  const list = (corked: boolean) => async (): Promise<boolean> => {
    const clients = await daemon.read<Client[]>('/audio/clients');
    return clients.length === streams.length && clients.every((each) => each.corked === corked);
  };
  for (const corked of [false, true, false, true]) {
    await Promise.all(streams.map((stream) => stream.cork(corked)));
    await until(`all are ${corked ? 'corked' : 'playing'}`, list(corked));
  }
  const [first] = await daemon.read<Client[]>('/audio/clients');
  assert.equal(first?.props?.['huge.two'], huge.slice(0, SHOWN_BYTES - 2));
  assert.equal((await daemon.health()).backends['audio']?.restarts, 0);
});

for (const { kind, skip, start: startSound } of SOUND_SERVERS) {
  test(`a list of ${kind} that is larger than servers themselves accept ends the connection until it is smaller`, {
    skip,
  }, async (t) => {
    const { sound, daemon } = await startAudio(t, { startSound, nodeArguments: SABOTEUR });
    const before = daemon.memoryMb;
    const { id } = await sound.play({ name: 'Radio' });
    const [count, bytes] = WIDE_STREAMS[kind];
    const props = Object.fromEntries(
      Array.from({ length: 110 }, (_, at) => [`wide.${at}`, 'x'.repeat(bytes)]),
    );
    const wide: StreamClient[] = [];
    for (const sink of ['living', 'kitchen']) {
      const client = await sound.streams(`wide in the ${sink}`);
      wide.push(client);
      await client.open(Array.from({ length: count }, () => ({ sink, props })));
    }
    // A new thread reads the list at once; the old one would within a minute.
    daemon.signal('SIGWINCH');
    await until('the reason is in /health', async () => {
      const { state, detail } = (await daemon.health()).backends['audio'] ?? {};
      return state === 'connecting' && /a frame of \d{8} bytes/.test(detail ?? '');
    });
    assert.equal((await daemon.get('/audio/clients')).status, 503);
    const growth = daemon.memoryMb - before;
    assert.ok(growth < GROWTH_MAX_MB, `${growth} MB more`);
    for (const client of wide) await client.close();
    await daemon.backend('audio', 'up');
    const clients = await daemon.read<Client[]>('/audio/clients');
    assert.deepEqual(
      clients.map((client) => client.id),
      [id],
    );
    assert.equal((await daemon.health()).backends['audio']?.restarts, 1);
  });
}

test('while the audio thread hangs, everything else answers', { skip }, async (t) => {
  const { daemon } = await startAudio(t, { nodeArguments: SABOTEUR });
  daemon.signal('SIGUSR2');
  const mute = daemon.post('/audio/server/mute');
  for (let i = 0; i < 100; i += 1) {
    assert.equal((await daemon.get('/server')).status, 200);
    assert.equal((await daemon.get('/health')).status, 200);
  }
  assert.equal((await mute).status, 504);
});
