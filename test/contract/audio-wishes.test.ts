// The settings for outputs in the configuration, on real sound servers: labels, outputs that pages hide, and the volume limit that no
// command exceeds.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { SOUND_SERVERS } from '../sound/servers.js';
import { AUDIO_ONLY, AudioNode, audioForAll } from './audio-node.js';

const CONFIG = `${AUDIO_ONLY}pulseaudio:
  volumeLimit: {living: 0.6}
  outputs: {living: {label: Living room}, kitchen: {hidden: true}}
`;

for (const { kind, skip, start: startSound } of SOUND_SERVERS)
  describe(`outputs that the configuration names, on ${kind}`, { skip }, () => {
    const audible = audioForAll({ startSound, config: CONFIG });
    let node: AudioNode;
    before(async () => {
      node = new AudioNode(audible, await audible.daemon.events('?snapshot=1'));
    });
    const volume = (path: string, body: object) => node.daemon.post(`/audio/${path}/volume`, body);

    test('have their label as their nick, are marked, and show their limit', async () => {
      const { outputs } = await node.audio();
      const told = outputs.map((output) => {
        const { name, nick, hidden, volume_limit } = output as typeof output & Record<string, unknown>;
        return { name, nick, hidden, volume_limit };
      });
      assert.deepEqual(told, [
        { name: 'living', nick: 'Living room', hidden: undefined, volume_limit: 0.6 },
        { name: 'kitchen', nick: undefined, hidden: true, volume_limit: undefined },
      ]);
    });

    test('refuse a volume above the limit by name, as the default and by id', async () => {
      await node.change('/audio/outputs/living/volume', { volume: 0.5 });
      const { id } = await node.output('living');
      for (const path of ['outputs/living', 'server', `outputs/${id}`]) {
        const { status, text } = await volume(path, { volume: 0.61 });
        const { detail } = JSON.parse(text) as { detail: string };
        assert.deepEqual(
          [status, detail],
          [400, "Field volume must be at most 0.6, the output's volume_limit"],
        );
      }
      await node.outputIs('living', { volume: 0.5 });
    });

    test('step up to the limit, and not further from above it', async () => {
      await node.change('/audio/outputs/living/volume', { delta: 0.3 });
      await node.outputIs('living', { volume: 0.6 });
      await node.sound.pactl('set-sink-volume', 'living', '90%');
      await node.outputIs('living', { volume: 0.9 });
      await node.change('/audio/server/volume', { delta: 0.05 });
      assert.equal((await node.output('living')).volume, 0.9);
      await node.change('/audio/server/volume', { delta: -0.05 });
      await node.outputIs('living', { volume: 0.6 });
    });

    test('have separate limits', async () => {
      await node.change('/audio/outputs/kitchen/volume', { volume: 1 });
      await node.outputIs('kitchen', { volume: 1 });
    });
  });
