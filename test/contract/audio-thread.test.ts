// The audio actor's thread ends or hangs in the shipped build: no other part is affected, and the actor comes back with the true
// state (docs/http-api.md, "Backends that are away").

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../temporary-folder.js';
import { lacks } from '../tools/requirements.js';
import { startAudio } from './audio-node.js';
import { SABOTEUR } from './daemon.js';

/** A ping each 30 s, 10 s for the answer (docs/development/parts.md, "The supervisor"), and room for a busy machine. */
const HUNG_DEADLINE_MS = 90_000;

const skip = lacks({ programs: ['pulseaudio', 'pactl'] });

for (const [what, order] of [
  ['ends', 'exit audio'],
  ['hangs', 'hang audio'],
] as const) {
  test(`the audio thread ${what}`, { skip }, async (t) => {
    const SABOTAGE = join(temporaryFolder(t), 'order');
    writeFileSync(SABOTAGE, order);
    const { sound, daemon } = await startAudio(t, { nodeArguments: SABOTEUR, env: { SABOTAGE } });
    const stream = await daemon.events('?snapshot=1');
    await stream.until(({ model }) => model.outputs.size === 2);
    daemon.signal('SIGUSR2');
    if (what === 'hangs') {
      const mute = daemon.post('/audio/server/mute');
      for (const path of ['/server', '/health']) assert.equal((await daemon.get(path)).status, 200);
      assert.equal((await mute).status, 504);
    }
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
