// The settings for outputs in the configuration, on a real sound server: labels, outputs that pages hide, and the volume limit that no
// command exceeds. Steps and balances at the limit: actors/audio/commands.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lacks } from '../tools/requirements.js';
import { AUDIO_ONLY, type Output, startAudio } from './audio-node.js';

const CONFIG = `${AUDIO_ONLY}pulseaudio:
  volumeLimit: {living: 0.6}
  outputs: {living: {label: Living room}, kitchen: {hidden: true}}
`;

test('outputs that the configuration names have their label, are marked, and refuse a volume above their limit', {
  skip: lacks({ programs: ['pulseaudio', 'pactl'] }),
}, async (t) => {
  const { daemon } = await startAudio(t, { config: CONFIG });
  type Told = Output & { readonly nick?: string; readonly hidden?: true; readonly volume_limit?: number };
  const outputs = await daemon.read<readonly Told[]>('/audio/outputs');
  assert.deepEqual(
    outputs.map(({ name, nick, hidden, volume_limit }) => [name, nick, hidden, volume_limit]),
    [
      ['living', 'Living room', undefined, 0.6],
      ['kitchen', undefined, true, undefined],
    ],
  );
  const volume = (path: string, body: object) => daemon.post(`/audio/${path}/volume`, body);
  assert.equal((await volume('outputs/living', { volume: 0.5 })).status, 202);
  for (const path of ['outputs/living', 'server', `outputs/${outputs[0]?.id}`]) {
    const { status, text } = await volume(path, { volume: 0.61 });
    assert.equal(status, 400);
    assert.match(text, /"Field volume must be at most 0.6, the output's volume_limit"/);
  }
  assert.equal((await volume('outputs/living', { delta: 0.3 })).status, 202);
  assert.equal((await volume('outputs/kitchen', { volume: 1 })).status, 202);
  const volumes = await daemon.read<readonly Output[]>('/audio/outputs');
  const levels = volumes.map((output) => output.volume);
  assert.deepEqual(levels, [0.6, 1]);
});
