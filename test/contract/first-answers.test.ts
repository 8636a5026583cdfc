// A client that comes back with the service must find all: a `GET` waits for its backend's first verdict (docs/http-api.md, "Answers").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPulseAudio } from '../sound/servers.js';
import { lacks } from '../tools/requirements.js';
import { AUDIO_ONLY } from './audio-node.js';
import { Daemon } from './daemon.js';

const PATHS = ['/audio', '/audio/server', '/audio/outputs', '/audio/clients', '/players'];
const CONFIG = `${AUDIO_ONLY}players: {enabled: true}\n`;

test('the first answers hold what the backends have, and why one has nothing', {
  skip: lacks({ programs: ['pulseaudio'] }),
}, async (t) => {
  const sound = await startPulseAudio();
  t.after(() => sound.stop());
  const daemon = await Daemon.start({ env: sound.env, config: CONFIG }, t);
  const answers = await Promise.all(PATHS.map((path) => daemon.get(path)));
  const [audio, , , , players] = answers;
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 503]);
  assert.equal(JSON.parse(audio?.text ?? '').outputs.length > 0, true);
  assert.match(players?.text ?? '', /Backend players is connecting: /);
});
